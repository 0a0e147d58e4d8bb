package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// Text is the explanation for a terminal.
func (e Explanation) Text() string {
	r := e.Requirement
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, value)
		}
	}
	fmt.Fprintf(&b, "%s\n\n%s\n\n", r.ID, r.Statement)
	line("level", string(r.Level))
	line("binds", string(r.Binds))
	line("holds for", Holds(r))
	for _, source := range r.Source {
		text := source.String()
		if i := slices.IndexFunc(requirement.Documents(), func(d requirement.Document) bool { return d.ID == source.Document }); i >= 0 {
			text += " (" + requirement.Documents()[i].Title + ")"
		}
		line("source", text)
	}
	line("why", r.Why)
	line("note", r.Note)
	if r.Command != "" {
		line("checked by", "crdconform "+r.Command)
	}
	if r.Obsolete {
		line("obsolete", r.Untested)
	} else {
		line("untested", r.Untested)
	}
	for _, rule := range e.Rules {
		line("rule", rule.Name+": "+rule.Summary)
	}
	for _, spec := range e.Specs {
		line("spec", spec.Name)
		line("", spec.Summary)
	}
	var faults []string
	for _, f := range e.Faults {
		faults = append(faults, f.Name)
	}
	if len(e.Faults) > 0 {
		line("a failure", e.Faults[0].Summary)
	}
	line("faults", strings.Join(faults, ", "))
	line("remedy", e.Remedy)
	line("run it", e.Run)
	return b.String()
}

// List has a line for each requirement, and counts them.
func List(all []requirement.Requirement) string {
	var t visible.Table
	for _, r := range all {
		t.Add(r.ID, r.Level, r.Binds, mark(r)+r.Statement)
	}
	return t.Text() + tallied(all) + "\n"
}

func mark(r requirement.Requirement) string {
	switch {
	case r.Obsolete:
		return "(obsolete) "
	case r.Untested != "":
		return "(untested) "
	case r.Command != "":
		return "(checked by " + r.Command + ") "
	}
	return ""
}

// tallied counts the requirements by what checks them: specs, lint, other commands in the order of the catalogue, or nothing.
func tallied(all []requirement.Requirement) string {
	order := []string{"a spec", "lint"}
	counts := map[string]int{}
	var untested, obsolete int
	for _, r := range all {
		by := "a spec"
		switch {
		case r.Obsolete:
			obsolete++
			continue
		case r.Untested != "":
			untested++
			continue
		case r.Command != "":
			by = r.Command
		case r.Binds == requirement.Author:
			by = "lint"
		}
		if !slices.Contains(order, by) {
			order = append(order, by)
		}
		counts[by]++
	}
	var parts []string
	checked := "checked by "
	for _, by := range order {
		if counts[by] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", counts[by], checked, by))
			checked = "by "
		}
	}
	if untested > 0 {
		parts = append(parts, fmt.Sprintf("%d untested with a reason", untested))
	}
	if obsolete > 0 {
		parts = append(parts, fmt.Sprintf("%d obsolete", obsolete))
	}
	what := "requirements: "
	if len(all) == 1 {
		what = "requirement: "
	}
	return fmt.Sprintf("%d %s%s", len(all), what, strings.Join(parts, ", "))
}

// ListMarkdown is docs/requirements.md, if it has all requirements.
func ListMarkdown(all []requirement.Requirement) string {
	var b strings.Builder
	b.WriteString("# Requirements\n\nWritten by `crdconform list --output markdown` from requirement/catalogue.yaml; a test keeps it up to date.\n\n")
	b.WriteString(tallied(all) + ".\n\n## Documents\n\n| ID | document |\n| --- | --- |\n")
	for _, d := range requirement.Documents() {
		fmt.Fprintf(&b, "| %s | %s |\n", d.ID, d.Title)
	}
	b.WriteString("\n## Coverage\n\n" + CoverageMarkdown(all))
	b.WriteString("\n## Failed or Tolerated\n\n" + severityMarkdown(all))
	area := ""
	for _, r := range all {
		if r.ID.Area() != area {
			area = r.ID.Area()
			fmt.Fprintf(&b, "\n## %s\n\n| ID | level | binds | statement | source |\n| --- | --- | --- | --- | --- |\n", area)
		}
		statement := cell(r.Statement)
		if mark(r) != "" {
			statement += strings.TrimSpace(fmt.Sprintf("<br>*%s* %s", strings.TrimSpace(mark(r)), cell(r.Untested)))
		}
		if r.Note != "" {
			statement += "<br>*Note:* " + cell(r.Note)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.ID, r.Level, r.Binds, statement, cell(strings.Join(visible.Strings(r.Source), "; ")))
	}
	return b.String()
}

// severityMarkdown lists the requirements and the parts of requirements that are Tolerated, and what fails of the former.
func severityMarkdown(all []requirement.Requirement) string {
	var b strings.Builder
	b.WriteString("What violates a requirement is Failed, but for these:\n\n| requirement | part | severity | because |\n| --- | --- | --- | --- |\n")
	for _, r := range all {
		if r.Severity == requirement.Tolerated {
			fmt.Fprintf(&b, "| `%s` | | %s | %s |\n", r.ID, r.Severity, cell(r.Because))
		}
		for _, part := range r.Parts {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, part.Name, part.Severity, cell(part.Because))
		}
	}
	return b.String()
}

// cell keeps text from ending a cell or being taken for markup.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace(s)
}

// CoverageText has the counts for every document and its headings, and the sentences without a requirement.
func CoverageText(wanted []requirement.Requirement) string {
	var b strings.Builder
	covered := Covered(wanted)
	table := visible.Table{Head: []string{"document, heading", "sentences", "checked", "untested or obsolete", "no requirement"}}
	row := func(name string, c Coverage) { table.Add(name, c.Sentences(), c.Checked, c.Unchecked, c.None) }
	document := ""
	for _, c := range covered.Headings {
		if c.Document != document {
			document = c.Document
			row(document, covered.Of(document))
		}
		row("  "+section(c), c)
	}
	b.WriteString(table.Text() + "\nA sentence that comes several times counts each time.\n")
	if len(covered.Without) > 0 {
		b.WriteString("\nSentences without a requirement:\n")
		var table visible.Table
		for _, s := range covered.Without {
			table.Add("  "+s.At[0].String(), s.Words+" ...", s.None)
		}
		b.WriteString(table.Text())
	}
	return b.String() + "\n" + tallied(wanted) + "\n"
}

// section names a heading.
func section(c Coverage) string { return cmp.Or(c.Section, "(before the first heading)") }

// CoverageMarkdown has the counts in tables: of documents, and of their headings.
func CoverageMarkdown(wanted []requirement.Requirement) string {
	var b strings.Builder
	covered := Covered(wanted)
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
