package explanation

import (
	"slices"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

func TestCover(t *testing.T) {
	at := func(document string, line int) requirement.Place {
		return requirement.Place{Document: document, First: line, Last: line + 1}
	}
	documents := []requirement.Document{
		{ID: "first", Headings: []requirement.Heading{{Line: 1, Title: "Other"}, {Line: 50, Title: "Silent"}}},
		{ID: "second", Headings: []requirement.Heading{{Line: 90, Title: "Heading"}, {Line: 200, Title: "Later"}}},
		{ID: "server"},
	}
	got := cover(documents, []requirement.Sentence{
		{At: []requirement.Place{at("first", 49), at("second", 200)}, Requirements: []requirement.ID{"checked"}},
		{At: []requirement.Place{at("second", 89)}, None: "so."},
		{At: []requirement.Place{at("second", 90)}, Requirements: []requirement.ID{"untested"}},
		{At: []requirement.Place{at("second", 199)}, Requirements: []requirement.ID{"untested", "checked"}},
		{At: []requirement.Place{at("second", 91)}, Requirements: []requirement.ID{"of another filter"}},
	}, []requirement.Requirement{{ID: "checked"}, {ID: "untested", Untested: "so."}})
	want := []Coverage{
		{Document: "first", Section: "Other", Checked: 1},
		{Document: "first", Section: "Silent"},
		{Document: "second", None: 1},
		{Document: "second", Section: "Heading", Checked: 1, Unchecked: 1},
		{Document: "second", Section: "Later", Checked: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if n := want[3].Sentences(); n != 2 {
		t.Errorf("%d sentences, want 2", n)
	}
}
