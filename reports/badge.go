package reports

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"unicode/utf8"

	"github.com/crdconform/crdconform/requirement"
)

//go:embed badge.svg.tmpl
var badge string

// Badge writes what the run came to as an SVG image for the page of a project.
func (r *Report) Badge(w io.Writer) error {
	t, err := template.New("badge").Parse(badge)
	if err != nil {
		return fmt.Errorf("badge: %w", err)
	}
	// Texts are stretched to their lengths, since nobody knows the font: Verdana's letters take about 6.4 pixels each.
	text := r.slogan()
	length := 32 * utf8.RuneCountInString(text) / 5
	const left, around = 74, 14
	return t.Execute(w, struct {
		Text, Color         string
		Length, Width, Edge int
	}{text, r.color(), length, left + length + around, left + length + around - 3})
}

// slogan is what a badge has room for.
func (r *Report) slogan() string {
	passed := fmt.Sprintf("%d passed", r.Counts[requirement.Passed])
	switch r.Outcome {
	case Conformant:
		if len(r.Results) == 0 {
			return "good under load"
		}
		return passed
	case Partial:
		return passed + ", in part"
	case NonConformant:
		if failed := r.failed(); failed > 0 {
			return fmt.Sprintf("%d of %d failed", failed, len(r.Results))
		}
		return "failed under load"
	case Interrupted:
		return "interrupted"
	case Unjudged:
	}
	return "not judged"
}

// failed is how many results count against whom they judge.
func (r *Report) failed() int {
	n := 0
	for _, result := range r.Results {
		if r.Failing(result) {
			n++
		}
	}
	return n
}

// color tells outcomes apart. White text has a contrast of 4.5 or more on each of them.
func (r *Report) color() string {
	switch r.Outcome {
	case Conformant, Partial:
		return "#1a7f37"
	case NonConformant:
		return "#cf222e"
	case Unjudged, Interrupted:
	}
	return "#8a6100"
}
