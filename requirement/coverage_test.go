package requirement

import (
	"slices"
	"testing"
)

func TestCover(t *testing.T) {
	at := func(document string, line int, section string) Source { return Source{document, line, section} }
	documents := []Document{
		{ID: "first", Headings: []Heading{{Line: 1, Title: "Other"}, {Line: 50, Title: "Silent"}, {Line: 60, Title: "Heading", As: "second"}}},
		{ID: "second", Headings: []Heading{{Line: 90, Title: "Heading"}, {Line: 200, Title: "Later"}}},
		{ID: "server"},
	}
	got := Cover(documents, []Requirement{
		{Binds: Server, Source: []Source{at("server", 0, "")}},
		{Binds: Server, Source: []Source{at("second", 200, "Later"), at("first", 7, "Other")}},
		{Binds: Author, Source: []Source{at("second", 100, "Heading")}},
		{Binds: Author, Source: []Source{at("second", 101, "Heading"), at("second", 102, "Heading")}, Untested: "so."},
		{Binds: Server, Source: []Source{at("second", 103, "Heading")}, Untested: "so.", Obsolete: true},
		{Binds: Webhook, Source: []Source{at("second", 99, "Heading")}},
	})
	want := []Coverage{
		{Document: "first", Section: "Other", Checked: 1},
		{Document: "first", Section: "Silent"},
		{Document: "first", Section: "Heading", As: "second"},
		{Document: "second", Section: "Heading", Checked: 1, Linted: 1, Untested: 1, Obsolete: 1},
		{Document: "second", Section: "Later", Checked: 1},
		{Document: "server", Checked: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if n := want[3].Statements(); n != 4 {
		t.Errorf("%d statements, want 4", n)
	}
}

// TestEveryStatementIsUnderItsHeading holds the catalogue to the headings of the documents: each place that an entry names is below the
// heading that it names and above the next, so nothing is left out of the coverage.
func TestEveryStatementIsUnderItsHeading(t *testing.T) {
	headings := map[string][]Heading{}
	for _, d := range Documents() {
		headings[d.ID] = d.Headings
	}
	for _, r := range All() {
		for _, source := range r.Source {
			under := Heading{}
			for _, h := range headings[source.Document] {
				if h.Line <= source.Line {
					under = h
				}
			}
			if under.Title != source.Section {
				t.Errorf("%s: %s is under the heading %q", r.ID, source, under.Title)
			}
		}
	}
}

// TestHeadings has the headings of a document be in their order, each once; and one that another document stands for be there with
// statements, and without any here.
func TestHeadings(t *testing.T) {
	coverage := Cover(Documents(), All())
	find := func(document, section string) (Coverage, bool) {
		for _, c := range coverage {
			if c.Document == document && c.Section == section {
				return c, true
			}
		}
		return Coverage{}, false
	}
	n := 0
	for _, d := range Documents() {
		line, seen := 0, map[string]bool{}
		for _, h := range d.Headings {
			n++
			if h.Line <= line || h.Title == "" || seen[h.Title] {
				t.Errorf("%s:%d %q is out of order or there twice", d.ID, h.Line, h.Title)
			}
			line, seen[h.Title] = h.Line, true
			if h.As == "" {
				continue
			}
			if here, _ := find(d.ID, h.Title); here.Statements() > 0 {
				t.Errorf("%s %s has %d statements and leads to %s", d.ID, h.Title, here.Statements(), h.As)
			}
			if there, found := find(h.As, h.Title); !found || there.Statements() == 0 {
				t.Errorf("%s %s leads to %s, which states nothing under it", d.ID, h.Title, h.As)
			}
		}
	}
	// What was counted in the documents, so that no heading gets lost.
	if n != 95 {
		t.Errorf("the documents have %d headings, want 95", n)
	}
}
