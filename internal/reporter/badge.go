package reporter

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"unicode/utf8"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

//go:embed badge.svg.tmpl
var badge string

// Badge writes the outcome of the run as an SVG image for the page of a project.
func Badge(r *reports.Report, w io.Writer) error {
	t, err := template.New("badge").Parse(badge)
	if err != nil {
		return fmt.Errorf("badge: %w", err)
	}
	// Texts are stretched to their lengths, since the font is unknown: Verdana's letters are about 6.4 pixels wide.
	text := slogan(r)
	length := 32 * utf8.RuneCountInString(text) / 5
	const left, around = 74, 14
	return t.Execute(w, struct {
		Text, Color         string
		Length, Width, Edge int
	}{text, badgeColor(r), length, left + length + around, left + length + around - 3})
}

// slogan is what a badge has room for.
func slogan(r *reports.Report) string {
	passed := fmt.Sprintf("%d passed", r.Counts[requirement.Passed])
	switch r.Outcome {
	case reports.Conformant:
		if len(r.Results) == 0 {
			return "good under load"
		}
		return passed
	case reports.Partial:
		return passed + ", in part"
	case reports.NonConformant:
		if failed := failedCount(r); failed > 0 {
			return fmt.Sprintf("%d of %d failed", failed, len(r.Results))
		}
		return "failed under load"
	case reports.Interrupted:
		return "interrupted"
	case reports.Unjudged:
	}
	return "not judged"
}

// failedCount returns how many results count against the judged side.
func failedCount(r *reports.Report) int {
	n := 0
	for _, result := range r.Results {
		if r.Failing(result) {
			n++
		}
	}
	return n
}

// badgeColor returns the color of an outcome. White text has a contrast of at least 4.5 on each of them.
func badgeColor(r *reports.Report) string {
	switch r.Outcome {
	case reports.Conformant, reports.Partial:
		return "#1a7f37"
	case reports.NonConformant:
		return "#cf222e"
	case reports.Unjudged, reports.Interrupted:
	}
	return "#8a6100"
}
