package reporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// markdownLoad has the stages in a table, the objectives in another one, and some of the findings.
func markdownLoad(r *reports.Report, b *strings.Builder) {
	if r.Load == nil {
		return
	}
	l := r.Load
	b.WriteString("\n## Load\n\n")
	markdownFacts(b, loadFacts(l))
	markdownStages(l, b)
	markdownObjectives(l, b)
	if l.Server != nil {
		fmt.Fprintf(b, "\nThrough an API server, %s:\n\n%s\n", escapeMarkdown(l.Server.Version), fence(strings.TrimRight(serverText(l.Server), "\n")))
		for _, over := range overBudget(l) {
			fmt.Fprintf(b, "\n- %s\n", escapeMarkdown(over))
		}
	}
	if l.Comparison != nil {
		fmt.Fprintf(b, "\nCompared with %s:\n\n%s\n", escapeMarkdown(l.Comparison.Baseline), fence(strings.TrimRight(comparisonText(l.Comparison), "\n")))
	}
	if texts := firstFindings(l, 3); len(texts) > 0 {
		fmt.Fprintf(b, "\n%s\n", fence(strings.Join(texts, "\n")))
	}
}

func markdownStages(l *loadgen.Load, b *strings.Builder) {
	const most = 50
	groups := groupsOf(l)
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| stage, times in ms | %s | failed | outcome |\n| --- |%s --- |\n", strings.Join(columns(), " | "), strings.Repeat(" ---: |", len(columns())+1))
	for _, g := range groups[:min(len(groups), most)] {
		_, label := worstOf(l, g)
		name := escapeMarkdown(g.Name)
		if g.Repeated() {
			name += ", " + g.Counted()
		}
		fmt.Fprintf(b, "| %s |", name)
		for i, f := range g.Figures() {
			text := f.String()
			if columns()[i] == "p99" && f.Range() != "" {
				text += " (" + f.Range() + ")"
			}
			fmt.Fprintf(b, " %s |", text)
		}
		fmt.Fprintf(b, " %d | %s |\n", g.Failed(), label)
	}
	if n := len(groups) - most; n > 0 {
		fmt.Fprintf(b, "\n%s, all of them in report.html\n", more(n))
	}
}

// markdownObjectives has the objectives that are not met first, for which there is room in any case.
func markdownObjectives(l *loadgen.Load, b *strings.Builder) {
	const most = 50
	targets := targetsOf(l)
	if len(targets) == 0 {
		return
	}
	slices.SortStableFunc(targets, func(a, b target) int {
		return cmp.Compare(slices.Index(outcomes(), a.Outcome), slices.Index(outcomes(), b.Outcome))
	})
	b.WriteString("\n| objective | measured | limit | margin | outcome |\n| --- | ---: | ---: | ---: | --- |\n")
	for _, t := range targets[:min(len(targets), most)] {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", escapeMarkdown(objectiveSubject(l, t.Objective)), escapeMarkdown(quantity(t.Objective, t.Measured)),
			escapeMarkdown(strings.TrimPrefix(objectiveBound(t.Objective), "limit ")), objectiveMargin(t.Objective), t.Label)
	}
	if n := len(targets) - most; n > 0 {
		fmt.Fprintf(b, "\n%s, all of them in report.html\n", more(n))
	}
}
