package requirement

import "slices"

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

// Cover returns, for every heading of the documents, what became of the sentences under it, in the order of the documents and
// their headings. A sentence that comes several times counts each time. One whose requirements are all missing among the given ones
// does not count. Documents without headings have no sentences.
func Cover(documents []Document, sentences []Sentence, requirements []Requirement) []Coverage {
	known := map[ID]Requirement{}
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
			headings = slices.Insert(slices.Clone(headings), 0, Heading{Line: 1})
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
func (c *Coverage) add(s Sentence, known map[ID]Requirement) {
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
