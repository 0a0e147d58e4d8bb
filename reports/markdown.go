package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// Markdown writes a summary for a job's page: the outcome, the chapters in a table, what failed, and the load.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# crdconform: %s\n\n", escapeMarkdown(r.Headline()))
	for _, fact := range r.Facts() {
		fmt.Fprintf(&b, "- %s: %s\n", fact.Name, escapeMarkdown(fact.Value))
	}
	if text := r.unsaid(); text != "" {
		fmt.Fprintf(&b, "\n%s\n", fence(text))
	}
	if len(r.Results) > 0 {
		verdicts := r.Verdicts()
		b.WriteString("\n| chapter |")
		for _, v := range verdicts {
			fmt.Fprintf(&b, " %s |", v)
		}
		b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(verdicts)) + "\n")
		for _, chapter := range r.Chapters() {
			fmt.Fprintf(&b, "| %s |", escapeMarkdown(chapter.Name))
			for _, v := range verdicts {
				fmt.Fprintf(&b, " %d |", chapter.Count(v))
			}
			b.WriteString("\n")
		}
	}
	r.markdownProblems(&b)
	r.markdownLoad(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// Verdicts returns the verdicts that occur, Passed always, from good to bad.
func (r *Report) Verdicts() []requirement.Verdict {
	order := []requirement.Verdict{
		requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing,
		requirement.Failed, requirement.Errored, requirement.Unknown,
	}
	return slices.DeleteFunc(order, func(v requirement.Verdict) bool { return v != requirement.Passed && r.Counts[v] == 0 })
}

func (r *Report) markdownProblems(b *strings.Builder) {
	for _, v := range []requirement.Verdict{
		requirement.Failed, requirement.Errored, requirement.Unknown, requirement.KnownFailing, requirement.Tolerated,
		requirement.NotApplicable,
	} {
		results := r.With(v)
		if len(results) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n## %s\n", v)
		for _, result := range results {
			fmt.Fprintf(b, "\n- **%s** (%s): %s\n", escapeMarkdown(string(result.ID)), escapeMarkdown(string(result.Level)), escapeMarkdown(result.Statement))
			switch {
			case r.Failing(result) || v == requirement.Errored || v == requirement.KnownFailing:
				// What comes after the reason is to be seen too.
				result.Reason = cut(result.Reason, 2000)
				fmt.Fprintf(b, "\n%s\n", indent(fence(details(result)), "  "))
			case result.Reason != "":
				fmt.Fprintf(b, "  Reason: %s\n", escapeMarkdown(brief(result.Reason)))
			}
		}
	}
}

func (r *Report) markdownLoad(b *strings.Builder) {
	if r.Load == nil {
		return
	}
	l := r.Load
	fmt.Fprintf(b, "\n## Load\n\n%s\n\n", escapeMarkdown(l.Headline()))
	b.WriteString("| time in ms | p50 | p90 | p95 | p99 | p99.9 | max |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, row := range l.Rows() {
		fmt.Fprintf(b, "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", row.Name, row.P50, row.P90, row.P95, row.P99, row.P999, row.Max)
	}
	if len(l.FirstFindings) > 0 {
		fmt.Fprintf(b, "\n%s\n", fence(strings.Join(l.FirstFindings, "\n")))
	}
}

// escapeMarkdown keeps text in a line from being taken for markup.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(
		"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "~", "\\~", "$", "\\$", "&", "&amp;", "<", "&lt;", "|", "\\|", "[", "\\[", "\n", " ",
	).Replace(Visible(s))
}

// fence puts text into a code block whose fence does not occur in it. Pages of jobs hold a megabyte, so it is cut.
func fence(s string) string {
	s = cut(Visible(s), 4000)
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + "\n" + s + "\n" + marks
}

func indent(s, by string) string { return by + strings.ReplaceAll(s, "\n", "\n"+by) }
