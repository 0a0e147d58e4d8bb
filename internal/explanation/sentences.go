package explanation

import (
	"slices"

	"github.com/crdconform/crdconform/requirement"
)

// Coverage is what became of the sentences under one heading of a document.
type Coverage struct {
	Document string `json:"document"` // its ID
	Section  string `json:"section"`  // the heading; empty for what is above the first

	Checked   int `json:"checked"`   // with a requirement that a spec or a rule of lint checks
	Unchecked int `json:"unchecked"` // with requirements, all of them untested or obsolete, for the reasons that they give
	None      int `json:"none"`      // without a requirement, for the reason that the sentence gives
}

// Sentences is how many there are.
func (c *Coverage) Sentences() int { return c.Checked + c.Unchecked + c.None }

// Documents is the coverage of the documents.
type Documents struct {
	Headings []Coverage             `json:"headings"`          // those with sentences, if only some requirements are wanted
	Without  []requirement.Sentence `json:"without,omitempty"` // sentences without a requirement, with the reason; if all requirements are wanted
}

// Covered counts the sentences that name one of the requirements; all sentences, if all requirements are wanted.
func Covered(wanted []requirement.Requirement) Documents {
	sentences := requirement.Sentences()
	reasoned := func(s requirement.Sentence) bool { return s.None != "" }
	if len(wanted) == len(requirement.All()) {
		return Documents{
			Headings: cover(requirement.Documents(), sentences, wanted),
			Without:  slices.DeleteFunc(slices.Clone(sentences), func(s requirement.Sentence) bool { return !reasoned(s) }),
		}
	}
	headings := cover(requirement.Documents(), slices.DeleteFunc(sentences, reasoned), wanted)
	return Documents{Headings: slices.DeleteFunc(headings, func(c Coverage) bool { return c.Sentences() == 0 })}
}

// Of adds up the sentences of a document.
func (t Documents) Of(document string) Coverage {
	sum := Coverage{Document: document}
	for _, heading := range t.Headings {
		if heading.Document == document {
			sum.Checked += heading.Checked
			sum.Unchecked += heading.Unchecked
			sum.None += heading.None
		}
	}
	return sum
}

// cover returns, for every heading of the documents, what became of the sentences under it, in the order of the documents and
// their headings. A sentence that comes several times counts each time. One whose requirements are all missing among the given ones
// does not count. Documents without headings have no sentences.
func cover(documents []requirement.Document, sentences []requirement.Sentence, requirements []requirement.Requirement) []Coverage {
	known := map[requirement.ID]requirement.Requirement{}
	for _, r := range requirements {
		known[r.ID] = r
	}
	var coverage []Coverage
	for _, document := range documents {
		if len(document.Headings) == 0 {
			continue
		}
		headings := document.Headings
		if headings[0].Line > 1 {
			headings = slices.Insert(slices.Clone(headings), 0, requirement.Heading{Line: 1})
		}
		for i, heading := range headings {
			c := Coverage{Document: document.ID, Section: heading.Title}
			for _, s := range sentences {
				for _, place := range s.At {
					if place.Document == document.ID && heading.Line <= place.First && (i+1 == len(headings) || place.First < headings[i+1].Line) {
						c.add(s, known)
					}
				}
			}
			if heading.Title != "" || c.Sentences() > 0 {
				coverage = append(coverage, c)
			}
		}
	}
	return coverage
}

// add counts a sentence.
func (c *Coverage) add(s requirement.Sentence, known map[requirement.ID]requirement.Requirement) {
	if s.None != "" {
		c.None++
		return
	}
	named, checked := false, false
	for _, id := range s.Requirements {
		if r, found := known[id]; found {
			named, checked = true, checked || r.Untested == ""
		}
	}
	switch {
	case checked:
		c.Checked++
	case named:
		c.Unchecked++
	}
}
