package requirement

import (
	"slices"
	"testing"
)

func TestCover(t *testing.T) {
	at := func(document string, line int, section string) Source { return Source{document, line, section} }
	got := Cover([]Requirement{
		{Binds: Server, Source: []Source{at("server", 0, "")}},
		{Binds: Server, Source: []Source{at("crds-1.25", 200, "Later"), at("versions-1.22", 7, "Other")}},
		{Binds: Author, Source: []Source{at("crds-1.25", 100, "Heading")}},
		{Binds: Author, Source: []Source{at("crds-1.25", 101, "Heading"), at("crds-1.25", 102, "Heading")}, Untested: "so."},
		{Binds: Server, Source: []Source{at("crds-1.25", 103, "Heading")}, Untested: "so.", Obsolete: true},
		{Binds: Webhook, Source: []Source{at("crds-1.25", 99, "Heading")}},
	})
	want := []Coverage{
		{Document: "versions-1.22", Section: "Other", Checked: 1},
		{Document: "crds-1.25", Section: "Heading", Checked: 1, Linted: 1, Untested: 1, Obsolete: 1},
		{Document: "crds-1.25", Section: "Later", Checked: 1},
		{Document: "server", Checked: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if n := want[1].Statements(); n != 4 {
		t.Errorf("%d statements, want 4", n)
	}
	if none := Cover(nil); len(none) != 0 {
		t.Errorf("nothing covers %+v", none)
	}
}

// TestEveryStatementIsCovered holds the coverage to the catalogue: each heading has what names it.
func TestEveryStatementIsCovered(t *testing.T) {
	for _, c := range Cover(All()) {
		n := 0
		for _, r := range All() {
			if slices.ContainsFunc(r.Source, func(s Source) bool { return s.Document == c.Document && s.Section == c.Section }) {
				n++
			}
		}
		if n == 0 || n != c.Statements() {
			t.Errorf("%s %s has %d statements in its coverage, %d in the catalogue", c.Document, c.Section, c.Statements(), n)
		}
	}
}
