package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/requirement"
)

// coverageText prints the counts for every document and its headings, and the sentences without a requirement.
func coverageText(wanted []requirement.Requirement) string {
	var b strings.Builder
	covered := explanation.Covered(wanted)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, c explanation.Coverage) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", name, c.Sentences(), c.Checked, c.Unchecked, c.None)
	}
	fmt.Fprintln(table, "document, heading\tsentences\tchecked\tuntested or obsolete\tno requirement")
	document := ""
	for _, c := range covered.Headings {
		if c.Document != document {
			document = c.Document
			row(document, covered.Of(document))
		}
		row("  "+section(c), c)
	}
	_ = table.Flush() // what it writes to takes everything
	b.WriteString("\nA sentence that comes several times counts each time.\n")
	if len(covered.Without) > 0 {
		b.WriteString("\nSentences without a requirement:\n")
		for _, s := range covered.Without {
			fmt.Fprintf(table, "  %s\t%s ...\t%s\n", s.At[0], s.Words, s.None)
		}
		_ = table.Flush()
	}
	return b.String() + "\n" + tallied(wanted) + "\n"
}

// section names a heading.
func section(c explanation.Coverage) string { return cmp.Or(c.Section, "(before the first heading)") }

// coverageMarkdown has the counts in tables: of documents, and of their headings.
func coverageMarkdown(wanted []requirement.Requirement) string {
	var b strings.Builder
	covered := explanation.Covered(wanted)
	b.WriteString("Which requirements each sentence of the documents has, or why it has none, is in [sentences.md](sentences.md). " +
		"A sentence that comes several times counts each time.\n\n")
	const columns = "sentences | checked | untested or obsolete | no requirement |\n"
	b.WriteString("| document | " + columns + "| --- | --- | --- | --- | --- |\n")
	for _, d := range requirement.Documents() {
		if c := covered.Of(d.ID); c.Sentences() > 0 {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", d.ID, c.Sentences(), c.Checked, c.Unchecked, c.None)
		}
	}
	b.WriteString("\n| document | heading | " + columns + "| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range covered.Headings {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d |\n", c.Document, cell(section(c)), c.Sentences(), c.Checked, c.Unchecked, c.None)
	}
	return b.String()
}
