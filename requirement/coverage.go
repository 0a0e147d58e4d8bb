package requirement

import (
	"cmp"
	"slices"
)

// Coverage is what became of the statements under one heading of a document.
type Coverage struct {
	Document string `json:"document"` // its ID
	Section  string `json:"section"`  // the heading; empty for the document "server", which has none

	Checked  int `json:"checked"`  // by a spec
	Linted   int `json:"linted"`   // by a rule of lint: those that bind authors
	Untested int `json:"untested"` // with a reason
	Obsolete int `json:"obsolete"` // with what holds today
}

// Statements is how many there are.
func (c *Coverage) Statements() int { return c.Checked + c.Linted + c.Untested + c.Obsolete }

// Cover tells for every heading that requirements come from what became of them. The documents are in their order, and the
// headings in that of the document. What several headings state counts under each of them, and once under each.
func Cover(requirements []Requirement) []Coverage {
	type heading struct{ document, section string }
	found := map[heading]*Coverage{}
	first := map[heading]int{} // line
	for _, r := range requirements {
		seen := map[heading]bool{}
		for _, source := range r.Source {
			h := heading{source.Document, source.Section}
			if line, known := first[h]; !known || source.Line < line {
				first[h] = source.Line
			}
			if found[h] == nil {
				found[h] = &Coverage{Document: h.document, Section: h.section}
			}
			if !seen[h] {
				found[h].add(r)
			}
			seen[h] = true
		}
	}
	documents := Documents()
	order := func(h heading) int {
		return slices.IndexFunc(documents, func(d Document) bool { return d.ID == h.document })
	}
	all := make([]heading, 0, len(found))
	for h := range found {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b heading) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(first[a], first[b]), cmp.Compare(a.section, b.section))
	})
	coverage := make([]Coverage, 0, len(all))
	for _, h := range all {
		coverage = append(coverage, *found[h])
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
