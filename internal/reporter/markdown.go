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
	fmt.Fprintf(&b, "# crdconform: %s\n\n", visible.Markdown(Headline(r)))
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "- note: %s\n", visible.Markdown(note))
	}
	facts := Facts(r)
	for i, fact := range facts {
		if passes(r) && len(fact.More) > 1 { // the lines are for what was not judged; the first of these has the coverage
			facts[i].More = fact.More[:1]
		}
	}
	markdownFacts(&b, facts)
	if text := unsaid(r); text != "" {
		fmt.Fprintf(&b, "\n%s\n", fence(text))
	}
	if passes(r) {
		markdownPass(r, &b)
		_, err := io.WriteString(w, b.String())
		return err
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

// passes reports whether there is nothing to say of a run but that it conforms, and what it did not judge.
func passes(r *reports.Report) bool {
	conforms := r.Outcome == reports.Conformant || r.Outcome == reports.Partial
	plain := r.Changes == nil && len(r.Upgrade) == 0 && len(r.Disruptions) == 0 && (r.Load == nil || r.Load.Server == nil && len(groupsOf(r.Load)) == 1)
	return conforms && len(r.Results) > 0 && plain
}

// mostPassLines is how many lines there are of a run that passes.
const mostPassLines = 15

// markdownPass says the rest of a run that passes: the chapters in a line, and what was not judged in a line for each reason.
func markdownPass(r *reports.Report, b *strings.Builder) {
	var chapters, run []string
	for _, chapter := range Chapters(r) {
		chapters = append(chapters, fmt.Sprintf("%s %d of %d", chapter.Name, chapter.Count(requirement.Passed), len(chapter.Results)))
	}
	for _, fact := range runFacts(r) {
		run = append(run, fact.Name+" "+fact.Value)
	}
	facts := []Fact{{Name: "run", Value: strings.Join(run, ", ")}, {Name: "passed", Value: visible.Cut(strings.Join(chapters, ", "), 2000)}}
	if l := r.Load; l != nil {
		group, times := groupsOf(l)[0], []string{}
		for i, figure := range group.Figures() {
			unit := ""
			if strings.HasPrefix(columns()[i], "p") || columns()[i] == "max" {
				unit = " ms"
			}
			times = append(times, fmt.Sprintf("%s %s%s", columns()[i], figure, unit))
		}
		s := group.Runs[0]
		facts = append(facts, Fact{Name: "load", Value: fmt.Sprintf("%s, %s; %s; %s", StageWhen(s), StageWhat(s), loadSent(l), strings.Join(times, ", "))})
	}
	markdownFacts(b, facts)
	groups := unpassedResults(r, whatever)
	room := max(1, mostPassLines-strings.Count(b.String(), "\n"))
	if len(groups) > room {
		room-- // for what says that there are more
	}
	for _, n := range groups[:min(len(groups), room)] {
		fmt.Fprintf(b, "- %s: %s: %s\n", n.verdict, visible.Markdown(n.which()), visible.Markdown(n.reason))
	}
	if n := len(groups) - room; n > 0 {
		fmt.Fprintf(b, "- %s, all of them in report.html\n", visible.More(n))
	}
}

// markdownFacts lists facts, with the first few of their details.
func markdownFacts(b *strings.Builder, facts []Fact) {
	const most = 12
	for _, fact := range facts {
		fmt.Fprintf(b, "- %s: %s\n", fact.Name, visible.Markdown(fact.Value))
		for _, line := range visible.Few(fact.More, most, ", all of them in report.html") {
			fmt.Fprintf(b, "  - %s\n", visible.Markdown(line))
		}
	}
}

func markdownChapters(r *reports.Report, b *strings.Builder) {
	if len(r.Results) == 0 {
		return
	}
	t := visible.Table{Head: []string{"chapter"}, Numbers: len(Verdicts(r))}
	for _, v := range Verdicts(r) {
		t.Head = append(t.Head, v.String())
	}
	for _, chapter := range Chapters(r) {
		row := []any{chapter.Name}
		for _, v := range Verdicts(r) {
			row = append(row, chapter.Count(v))
		}
		t.Add(row...)
	}
	b.WriteString("\n" + t.Markdown())
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
	t := visible.Table{Head: []string{"cause", "where", "example"}}
	for _, c := range causes[:min(len(causes), most)] {
		t.Add(c.What, c.Extent(), c.Example)
	}
	b.WriteString("\n" + t.Markdown() + onPage(len(causes)-most))
}

// onPage says of how many more rows of a table the page has all; nothing if there are no more.
func onPage(n int) string {
	if n <= 0 {
		return ""
	}
	return "\n" + visible.More(n) + ", all of them in report.html\n"
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
				fmt.Fprintf(b, "\n### %s\n", visible.Markdown(subjectName(result.Subject)))
			}
			if b.Len() > mostMarkdown {
				fmt.Fprintf(b, "\n- %s, all of them in report.html\n", visible.More(len(results)-i))
				break
			}
			fmt.Fprintf(b, "\n- **%s** (%s): %s\n", visible.Markdown(string(result.ID)), visible.Markdown(string(result.Level)), visible.Markdown(result.Statement))
			switch {
			case v != requirement.Unknown && v != requirement.NotApplicable && b.Len() < detailed:
				markdownParts(b, result)
			case result.Immaterial && v == requirement.NotApplicable:
				fmt.Fprintf(b, "  Reason (does not affect the verdict): %s\n", visible.Markdown(brief(result.Reason)))
			case result.Reason != "":
				fmt.Fprintf(b, "  Reason: %s\n", visible.Markdown(brief(result.Reason)))
			}
		}
	}
	for i, result := range slices.DeleteFunc(r.With(requirement.Passed), func(r reports.Result) bool { return !flakyPass(r) }) {
		if i == 0 {
			b.WriteString("\n## Flaky\n\n")
		}
		fmt.Fprintf(b, "- **%s**: %s\n", visible.Markdown(joined(string(result.ID), ", ", result.Subject)), visible.Markdown(brief(result.Reason)))
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
			fmt.Fprintf(b, " %s\n", visible.Markdown(part.Text))
		}
	}
}

// markdownLink returns a link to a file in the folder, or just the name of a file outside of it.
func markdownLink(f reports.File) string {
	to := link(f)
	if to == "" {
		return visible.Markdown(f.Path)
	}
	return fmt.Sprintf("[%s](%s)", visible.Markdown(path.Base(f.Path)), strings.NewReplacer("&", "%26", "$", "%24", "~", "%7E").Replace(to))
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
