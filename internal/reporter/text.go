package reporter

import (
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// firstLine returns the first line that has something in it.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(visible.Text(s)), "\n")
	return strings.TrimSpace(line)
}

// flat returns text in one line. Lines that stand beside each other are separated; one that is indented, or follows one that
// ends in a colon, belongs to the line before.
func flat(s string) string {
	var text, last string
	for line := range strings.Lines(visible.Text(s)) {
		words := strings.Join(strings.Fields(line), " ")
		switch {
		case words == "":
			continue
		case text == "":
		case strings.HasSuffix(last, ":") || indented(line) || indented(last):
			text += " "
		default:
			text += "; "
		}
		text, last = text+words, strings.TrimRight(line, " \t\n")
	}
	return text
}

func indented(line string) bool { return strings.TrimLeft(line, " \t") != line }

// brief returns what a line of a list has room for: the first line, with the next one where the first only leads to it.
func brief(s string) string {
	var text []string
	for line := range strings.Lines(visible.Text(s)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text = append(text, line)
		if !strings.HasSuffix(line, ":") {
			break
		}
	}
	return visible.Cut(strings.Join(text, " "), 300)
}

// Brief is the reason of the verdict in a line of 300 characters or less.
func Brief(r reports.Result) string { return brief(r.Reason) }
