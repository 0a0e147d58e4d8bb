package reporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
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
		fmt.Fprintf(b, "\nThrough an API server, %s:\n\n%s\n", visible.Markdown(l.Server.Version), fence(strings.TrimRight(serverText(l.Server), "\n")))
		for _, over := range overBudget(l) {
			fmt.Fprintf(b, "\n- %s\n", visible.Markdown(over))
		}
	}
	if l.Comparison != nil {
		fmt.Fprintf(b, "\nCompared with %s:\n\n%s\n", visible.Markdown(l.Comparison.Baseline), fence(strings.TrimRight(comparisonText(l.Comparison), "\n")))
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
	t := visible.Table{Head: append(append([]string{"stage, times in ms"}, columns()...), "failed", "outcome"), Numbers: len(columns()) + 1}
	for _, g := range groups[:min(len(groups), most)] {
		_, label := worstOf(l, g)
		row := []any{g.Name}
		if g.Repeated() {
			row[0] = g.Name + ", " + g.Counted()
		}
		for i, f := range g.Figures() {
			text := f.String()
			if columns()[i] == "p99" && f.Range() != "" {
				text += " (" + f.Range() + ")"
			}
			row = append(row, text)
		}
		t.Add(append(row, g.Failed(), label)...)
	}
	b.WriteString("\n" + t.Markdown() + onPage(len(groups)-most))
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
	t := visible.Table{Head: []string{"objective", "measured", "limit", "margin", "outcome"}, Numbers: 3}
	for _, one := range targets[:min(len(targets), most)] {
		t.Add(objectiveSubject(l, one.Objective), quantity(one.Objective, one.Measured),
			strings.TrimPrefix(objectiveBound(one.Objective), "limit "), objectiveMargin(one.Objective), one.Label)
	}
	b.WriteString("\n" + t.Markdown() + onPage(len(targets)-most))
}
