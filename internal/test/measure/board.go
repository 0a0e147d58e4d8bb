package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/site"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// row is an operator with what was found.
type row struct {
	subject

	report    *reports.Report
	processor string // seconds of processor time that the check took, the webhook and the API server included
}

const boardHead = `# Scoreboard

What crdconform found in the conversions of public operators. They are those of the modules, served as their managers serve them. Each
failure was compared with the source by hand; what nobody compared yet says so. A finding is

- true: a bug of the conversion
- arguable: it breaks the documents' words, but in a case that few meet
- meant: the project's code, tests or documents say that it is so
- false: a mistake of crdconform

| operator | version | licence | verdict | causes | true, arguable, meant, false | places lost | processor time | report |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

// writeBoard writes the page of all operators, as Markdown and as a page of the site.
func writeBoard(folder string, rows []row) error {
	var table, findings strings.Builder
	for _, r := range rows {
		table.WriteString(r.line())
		findings.WriteString(r.findings())
	}
	text := []byte(boardHead + table.String() + findings.String())
	page, err := site.Page("Scoreboard", "../", text)
	return errors.Join(err,
		os.WriteFile(filepath.Join(folder, "README.md"), text, 0o644),  //nolint:gosec // it is to be read
		os.WriteFile(filepath.Join(folder, "index.html"), page, 0o644)) //nolint:gosec // it is to be read
}

// line is the row of the table.
func (r row) line() string {
	causes := reporter.Causes(r.report)
	counts, lost := map[string]int{}, 0
	for _, c := range causes {
		counts[r.judgement(c).Verdict]++
		if len(c.Lacking) > 0 {
			lost++
		}
	}
	verdicts := fmt.Sprintf("%d, %d, %d, %d", counts["true"], counts["arguable"], counts["meant"], counts["false"])
	if open := counts[notChecked]; open > 0 {
		verdicts += fmt.Sprintf("; %s: %d", notChecked, open)
	}
	outcome := fmt.Sprintf("%s: %d passed, %d failed, %d tolerated", r.report.Outcome, r.report.Counts[requirement.Passed], r.report.Counts[requirement.Failed], r.report.Counts[requirement.Tolerated])
	return fmt.Sprintf("| [%s](https://pkg.go.dev/%s@%s) | %[3]s | %s | %s | %d | %s | %d | %s s | [report](%[1]s/report.html) |\n",
		r.Name, r.Module, r.Version, r.Licence, outcome, len(causes), verdicts, lost, r.processor)
}

// findings lists the causes, each with what a person says about it.
func (r row) findings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s, checked on %s with `make scoreboard OPERATORS=%[1]s`.\n\n", r.Name, filepath.Base(r.CRDs), r.report.Started.Format("2006-01-02"))
	causes := reporter.Causes(r.report)
	for _, c := range causes {
		about := r.judgement(c)
		fmt.Fprintf(&b, "- %s: %s (%s). %s", about.Verdict, visible.Markdown(c.What), visible.Markdown(strings.Join(c.Requirements, ", ")), visible.Markdown(c.Example))
		if about.How != "" {
			fmt.Fprintf(&b, "\n  - %s", visible.Markdown(about.How))
		}
		b.WriteString("\n")
	}
	for _, k := range r.Checked {
		if k.Cause != anyOther && !slices.ContainsFunc(causes, k.isAbout) {
			fmt.Fprintf(&b, "- not found: %s, which was compared with the source\n", visible.Markdown(k.Cause))
		}
	}
	return b.String()
}

const notChecked = "not checked"

// judgement is what a person says about a cause: about its field, one around it, or its requirement. The closest counts.
func (r row) judgement(c reporter.Cause) checkedCause {
	best := checkedCause{Verdict: notChecked}
	for _, k := range r.Checked {
		if k.isAbout(c) && len(k.Cause) > len(best.Cause) || k.Cause == anyOther && best.Cause == "" {
			best = k
		}
	}
	return best
}

// anyOther stands for all causes that nothing else is said about.
const anyOther = "any other"

// isAbout reports whether the text of a cause begins with what was compared, up to the end of a word.
func (k checkedCause) isAbout(c reporter.Cause) bool {
	rest, is := strings.CutPrefix(c.What, k.Cause)
	next, _ := utf8.DecodeRuneInString(rest)
	return is && (rest == "" || strings.HasSuffix(k.Cause, ".") || !unicode.IsLetter(next) && !unicode.IsDigit(next))
}
