package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/crdconform/crdconform/requirement"
)

// coverage is what became of the sentences of the documents.
type coverage struct {
	Headings []requirement.Coverage `json:"headings"`          // those with sentences, if only some requirements are wanted
	Without  []requirement.Sentence `json:"without,omitempty"` // sentences without a requirement, with the reason; if all requirements are wanted
}

// covered tells what became of the sentences that name one of the requirements; of all sentences, if all requirements are wanted.
func covered(wanted []requirement.Requirement) coverage {
	sentences := requirement.Sentences()
	reasoned := func(s requirement.Sentence) bool { return s.None != "" }
	if len(wanted) == len(requirement.All()) {
		return coverage{
			Headings: requirement.Cover(requirement.Documents(), sentences, wanted),
			Without:  slices.DeleteFunc(slices.Clone(sentences), func(s requirement.Sentence) bool { return !reasoned(s) }),
		}
	}
	headings := requirement.Cover(requirement.Documents(), slices.DeleteFunc(sentences, reasoned), wanted)
	return coverage{Headings: slices.DeleteFunc(headings, func(c requirement.Coverage) bool { return c.Sentences() == 0 })}
}

// of adds up what became of the sentences of a document.
func (c coverage) of(document string) requirement.Coverage {
	sum := requirement.Coverage{Document: document}
	for _, heading := range c.Headings {
		if heading.Document == document {
			sum.Checked += heading.Checked
			sum.Unchecked += heading.Unchecked
			sum.None += heading.None
		}
	}
	return sum
}

// coverageText prints for every document and its headings what became of the sentences, and those without a requirement.
func coverageText(wanted []requirement.Requirement) string {
	var b strings.Builder
	covered := covered(wanted)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, c requirement.Coverage) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", name, c.Sentences(), c.Checked, c.Unchecked, c.None)
	}
	fmt.Fprintln(table, "document, heading\tsentences\tchecked\tuntested or obsolete\tno requirement")
	document := ""
	for _, c := range covered.Headings {
		if c.Document != document {
			document = c.Document
			row(document, covered.of(document))
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
func section(c requirement.Coverage) string { return cmp.Or(c.Section, "(before the first heading)") }

// coverageMarkdown has the counts in tables: of documents, and of their headings.
func coverageMarkdown(wanted []requirement.Requirement) string {
	var b strings.Builder
	covered := covered(wanted)
	b.WriteString("Which requirements each sentence of the documents has, or why it has none, is in [sentences.md](sentences.md). " +
		"A sentence that comes several times counts each time.\n\n")
	const columns = "sentences | checked | untested or obsolete | no requirement |\n"
	b.WriteString("| document | " + columns + "| --- | --- | --- | --- | --- |\n")
	for _, d := range requirement.Documents() {
		if c := covered.of(d.ID); c.Sentences() > 0 {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", d.ID, c.Sentences(), c.Checked, c.Unchecked, c.None)
		}
	}
	b.WriteString("\n| document | heading | " + columns + "| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range covered.Headings {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d |\n", c.Document, cell(section(c)), c.Sentences(), c.Checked, c.Unchecked, c.None)
	}
	return b.String()
}
