package main

import (
	"cmp"
	"fmt"
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

// coverageText prints for every document and its headings what became of the statements.
func coverageText(all []requirement.Requirement) string {
	var b strings.Builder
	coverage := requirement.Cover(all)
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
			row("  "+c.Section, &c)
		}
	}
	_ = table.Flush() // what it writes to takes everything
	return b.String() + "\nWhat is stated under several headings counts under each.\n" + tallied(all) + "\n"
}

// coverageMarkdown is the same in a table.
func coverageMarkdown(all []requirement.Requirement) string {
	var b strings.Builder
	b.WriteString("What is stated under several headings counts under each.\n\n| document | heading | statements | by a spec | by lint | untested | obsolete |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range requirement.Cover(all) {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d |\n", c.Document, cell(cmp.Or(c.Section, "(none)")), c.Statements(), c.Checked, c.Linted, c.Untested, c.Obsolete)
	}
	return b.String()
}
