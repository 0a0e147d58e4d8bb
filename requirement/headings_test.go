package requirement

import "testing"

// TestEveryStatementIsUnderItsHeading holds the catalogue to the headings of the documents: each place that an entry names is below the
// heading that it names and above the next, so nothing is left out of the coverage.
func TestEveryStatementIsUnderItsHeading(t *testing.T) {
	for _, r := range All() {
		for _, source := range r.Source {
			if under := headingOf(source.Document, source.Line); under.Title != source.Section {
				t.Errorf("%s: %s is under the heading %q", r.ID, source, under.Title)
			}
		}
	}
}

// headingOf returns the heading that a line of a document is under, and none above the first.
func headingOf(document string, line int) Heading {
	under := Heading{}
	for _, d := range Documents() {
		for _, h := range d.Headings {
			if d.ID == document && h.Line <= line {
				under = h
			}
		}
	}
	return under
}

// TestHeadings has the headings of a document be in their order, each once.
func TestHeadings(t *testing.T) {
	n := 0
	for _, d := range Documents() {
		line, seen := 0, map[string]bool{}
		for _, h := range d.Headings {
			n++
			if h.Line <= line || h.Title == "" || seen[h.Title] {
				t.Errorf("%s:%d %q is out of order or there twice", d.ID, h.Line, h.Title)
			}
			line, seen[h.Title] = h.Line, true
		}
	}
	// What was counted in the documents, so that no heading gets lost.
	if n != 95 {
		t.Errorf("the documents have %d headings, want 95", n)
	}
}
