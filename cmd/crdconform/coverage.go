package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/crdconform/crdconform/requirement"
)

// allOf adds up what became of the statements of a document. One under several headings counts under each.
func allOf(document string, coverage []requirement.Coverage) *requirement.Coverage {
	sum := &requirement.Coverage{Document: document}
	for _, c := range coverage {
		if c.Document == document {
			sum.Checked += c.Checked
			sum.Linted += c.Linted
			sum.Untested += c.Untested
			sum.Obsolete += c.Obsolete
		}
	}
	return sum
}

// covered tells for every heading of the documents what became of the statements; for those with a statement, when only some of all
// requirements are wanted.
func covered(wanted []requirement.Requirement) []requirement.Coverage {
	coverage := requirement.Cover(requirement.Documents(), wanted)
	if len(wanted) == len(requirement.All()) {
		return coverage
	}
	return slices.DeleteFunc(coverage, func(c requirement.Coverage) bool { return c.Statements() == 0 })
}

// heading names a heading, and the document that states the same under it.
func heading(c requirement.Coverage) string {
	if c.As != "" {
		return c.Section + " (as in " + c.As + ")"
	}
	return c.Section
}

// coverageText prints for every document and its headings what became of the statements.
func coverageText(all []requirement.Requirement) string {
	var b strings.Builder
	coverage := covered(all)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, c *requirement.Coverage) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\n", name, c.Statements(), c.Checked, c.Linted, c.Untested, c.Obsolete)
	}
	fmt.Fprintln(table, "document, heading\tstatements\tby a spec\tby lint\tuntested\tobsolete")
	document := ""
	for _, c := range coverage {
		if c.Document != document {
			document = c.Document
			row(document, allOf(document, coverage))
		}
		if c.Section != "" {
			row("  "+heading(c), &c)
		}
	}
	_ = table.Flush() // what it writes to takes everything
	return b.String() + "\nWhat is stated under several headings counts under each.\n" + tallied(all) + "\n"
}

// coverageMarkdown is the same in a table.
func coverageMarkdown(all []requirement.Requirement) string {
	var b strings.Builder
	b.WriteString("What is stated under several headings counts under each.\n\n| document | heading | statements | by a spec | by lint | untested | obsolete |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range covered(all) {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d |\n", c.Document, cell(cmp.Or(heading(c), "(none)")), c.Statements(), c.Checked, c.Linted, c.Untested, c.Obsolete)
	}
	return b.String()
}
