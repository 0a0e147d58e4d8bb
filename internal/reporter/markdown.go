package reporter

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// detailed is how many bytes of a summary there may be before problems get one line each. Pages of jobs hold a
// megabyte, and all of it is in report.html.
const detailed = 400_000

// mostMarkdown is how many bytes of a summary there may be before problems are only counted. GitHub shows nothing of one that has
// more than a mebibyte.
const mostMarkdown = 850_000

// Markdown writes a summary for the page of a CI job: the outcome, the chapters in a table, what failed, and the load.
func Markdown(r *reports.Report, w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# crdconform: %s\n\n", escapeMarkdown(Headline(r)))
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "- note: %s\n", escapeMarkdown(note))
	}
	markdownFacts(&b, Facts(r))
	if text := unsaid(r); text != "" {
		fmt.Fprintf(&b, "\n%s\n", fence(text))
	}
	if r.Changes != nil {
		markdownChanges(r.Changes, &b)
	}
	markdownChapters(r, &b)
	markdownUpgrades(r, &b)
	markdownDisruptions(r, &b)
	markdownCauses(r, &b)
	markdownProblems(r, &b)
	markdownLoad(r, &b)
	b.WriteString("\n## Run\n\n")
	markdownFacts(&b, runFacts(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownFacts lists facts, with the first few of their details.
func markdownFacts(b *strings.Builder, facts []Fact) {
	const most = 12
	for _, fact := range facts {
		fmt.Fprintf(b, "- %s: %s\n", fact.Name, escapeMarkdown(fact.Value))
		for _, line := range fact.More[:min(most, len(fact.More))] {
			fmt.Fprintf(b, "  - %s\n", escapeMarkdown(line))
		}
		if more := len(fact.More) - most; more > 0 {
			fmt.Fprintf(b, "  - and %d more, all of them in report.html\n", more)
		}
	}
}

func markdownChapters(r *reports.Report, b *strings.Builder) {
	if len(r.Results) == 0 {
		return
	}
	verdicts := Verdicts(r)
	b.WriteString("\n| chapter |")
	for _, v := range verdicts {
		fmt.Fprintf(b, " %s |", v)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(verdicts)) + "\n")
	for _, chapter := range Chapters(r) {
		fmt.Fprintf(b, "| %s |", escapeMarkdown(chapter.Name))
		for _, v := range verdicts {
			fmt.Fprintf(b, " %d |", chapter.Count(v))
		}
		b.WriteString("\n")
	}
}

// Verdicts returns the verdicts that occur, Passed always, from good to bad.
func Verdicts(r *reports.Report) []requirement.Verdict {
	order := []requirement.Verdict{
		requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing,
		requirement.Failed, requirement.Errored, requirement.Unknown,
	}
	return slices.DeleteFunc(order, func(v requirement.Verdict) bool { return v != requirement.Passed && r.Counts[v] == 0 })
}

func markdownCauses(r *reports.Report, b *strings.Builder) {
	const most = 50
	causes := Causes(r)
	if len(causes) == 0 {
		return
	}
	b.WriteString("\n| cause | where | example |\n| --- | --- | --- |\n")
	for _, c := range causes[:min(len(causes), most)] {
		fmt.Fprintf(b, "| %s | %s | %s |\n", escapeMarkdown(c.What), escapeMarkdown(c.Extent()), escapeMarkdown(c.Example))
	}
	if n := len(causes) - most; n > 0 {
		fmt.Fprintf(b, "\n%s, all of them in report.html\n", more(n))
	}
}

// markdownProblems has a section for each verdict, with one for each subject in it if there are several.
func markdownProblems(r *reports.Report, b *strings.Builder) {
	several := len(Subjects(r)) > 1
	for _, v := range []requirement.Verdict{
		requirement.Failed, requirement.Errored, requirement.Unknown, requirement.KnownFailing, requirement.Tolerated,
		requirement.NotApplicable,
	} {
		results := r.With(v)
		if len(results) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n## %s\n", v)
		for i, result := range results {
			if several && (i == 0 || results[i-1].Subject != result.Subject) {
				fmt.Fprintf(b, "\n### %s\n", escapeMarkdown(subjectName(result.Subject)))
			}
			if b.Len() > mostMarkdown {
				fmt.Fprintf(b, "\n- %s, all of them in report.html\n", more(len(results)-i))
				break
			}
			fmt.Fprintf(b, "\n- **%s** (%s): %s\n", escapeMarkdown(string(result.ID)), escapeMarkdown(string(result.Level)), escapeMarkdown(result.Statement))
			switch {
			case v != requirement.Unknown && v != requirement.NotApplicable && b.Len() < detailed:
				markdownParts(b, result)
			case result.Immaterial && v == requirement.NotApplicable:
				fmt.Fprintf(b, "  Reason (does not affect the verdict): %s\n", escapeMarkdown(brief(result.Reason)))
			case result.Reason != "":
				fmt.Fprintf(b, "  Reason: %s\n", escapeMarkdown(brief(result.Reason)))
			}
		}
	}
}

// markdownParts writes everything about a problem, inside a list item.
func markdownParts(b *strings.Builder, result reports.Result) {
	result.Reason = visible.Cut(result.Reason, 2000) // what comes after it is to be seen too
	for _, part := range resultParts(result) {
		fmt.Fprintf(b, "\n  %s:", title(part.Name))
		for _, file := range part.Files {
			b.WriteString(" " + markdownLink(file))
		}
		switch {
		case part.Text == "":
			b.WriteString("\n")
		case part.Code:
			fmt.Fprintf(b, "\n\n%s\n", indent(fence(part.Text), "  "))
		default:
			fmt.Fprintf(b, " %s\n", escapeMarkdown(part.Text))
		}
	}
}

// markdownLink returns a link to a file in the folder, or just the name of a file outside of it.
func markdownLink(f reports.File) string {
	to := link(f)
	if to == "" {
		return escapeMarkdown(f.Path)
	}
	return fmt.Sprintf("[%s](%s)", escapeMarkdown(path.Base(f.Path)), strings.NewReplacer("&", "%26", "$", "%24", "~", "%7E").Replace(to))
}

// escapeMarkdown escapes text in a line, so that it is not taken for markup.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(
		"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "~", "\\~", "$", "\\$", "&", "&amp;", "<", "&lt;", "|", "\\|", "[", "\\[", "\n", " ",
	).Replace(visible.Text(s))
}

// fence puts text into a code block whose fence does not occur in it. Pages of jobs hold a megabyte, so it is cut.
func fence(s string) string {
	s = visible.Cut(visible.Text(s), 4000)
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + "\n" + s + "\n" + marks
}

func indent(s, by string) string { return by + strings.ReplaceAll(s, "\n", "\n"+by) }
