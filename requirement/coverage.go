package requirement

import "slices"

// Coverage is what became of the statements under one heading of a document.
type Coverage struct {
	Document string `json:"document"` // its ID
	Section  string `json:"section"`  // the heading; empty for the document "server", which has none

	Checked  int `json:"checked"`  // by a spec
	Linted   int `json:"linted"`   // by a rule of lint: those that bind authors
	Untested int `json:"untested"` // with a reason
	Obsolete int `json:"obsolete"` // with what holds today

	As string `json:"as,omitempty"` // ID of the document that states the same under this heading and counts it; nothing is counted here then
}

// Statements is how many there are.
func (c *Coverage) Statements() int { return c.Checked + c.Linted + c.Untested + c.Obsolete }

// Cover returns, for every heading of the documents, what became of the statements under it, in the order of the documents and
// their headings. What several headings state counts under each of them, and once under each. A heading that states nothing
// counts nothing.
func Cover(documents []Document, requirements []Requirement) []Coverage {
	var coverage []Coverage
	for _, document := range documents {
		headings := document.Headings
		if len(headings) == 0 {
			headings = []Heading{{}}
		}
		for _, heading := range headings {
			c := Coverage{Document: document.ID, Section: heading.Title, As: heading.As}
			for _, r := range requirements {
				if slices.ContainsFunc(r.Source, func(s Source) bool { return s.Document == document.ID && s.Section == heading.Title }) {
					c.add(r)
				}
			}
			coverage = append(coverage, c)
		}
	}
	return coverage
}

// add counts a requirement.
func (c *Coverage) add(r Requirement) {
	switch {
	case r.Obsolete:
		c.Obsolete++
	case r.Untested != "":
		c.Untested++
	case r.Binds == Author:
		c.Linted++
	default:
		c.Checked++
	}
}
