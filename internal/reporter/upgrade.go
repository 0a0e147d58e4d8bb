package reporter

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// worseThan orders verdicts of steps from what says least to what is worst.
func worseThan(a, b requirement.Verdict) bool {
	order := []requirement.Verdict{requirement.Unknown, requirement.NotApplicable, requirement.Passed, requirement.Tolerated, requirement.Errored, requirement.Failed}
	return slices.Index(order, a) > slices.Index(order, b)
}

// StepVerdict is the worst verdict of a step.
func StepVerdict(step reports.LegStep) requirement.Verdict {
	worst := requirement.NotApplicable
	for _, c := range step.Cells {
		if worseThan(c.Verdict, worst) {
			worst = c.Verdict
		}
	}
	return worst
}

// StepSummary says in a few words what came of a step.
func StepSummary(step reports.LegStep) string {
	objects, found, judged := 0, 0, 0
	why, untried := "", ""
	for _, c := range step.Cells {
		objects, found = objects+c.Objects, found+c.Found
		if c.Verdict != requirement.NotApplicable {
			judged++
		} else if why == "" {
			why = c.Reason
		}
		if c.Verdict == requirement.NotApplicable && c.Objects > 0 && untried == "" { // it was tried, so that others passed is not all there is to say
			untried = c.Reason
		}
	}
	switch {
	case untried != "" && !worseThan(StepVerdict(step), requirement.Passed):
		return joined(requirement.NotApplicable.String(), ": ", untried)
	case judged == 0:
		return joined("not judged", ": ", why)
	case objects == 0:
		return StepVerdict(step).String()
	case found > 0:
		return fmt.Sprintf("%s: %s of %s", StepVerdict(step), visible.Count(found, "finding", ""), visible.Count(objects, "object", ""))
	}
	return fmt.Sprintf("%s: %s", StepVerdict(step), visible.Count(objects, "object", ""))
}

// cellText is what a table has of a step for a definition.
func cellText(c reports.LegCell) string {
	switch {
	case c.Verdict == requirement.NotApplicable:
		return "-"
	case c.Objects == 0:
		return c.Verdict.String()
	case c.Found > 0:
		return fmt.Sprintf("%s %d of %d", c.Verdict, c.Found, max(c.Objects, c.Found))
	}
	return fmt.Sprintf("%s %d", c.Verdict, c.Objects)
}

// cellOf returns the cell of a definition in a step.
func cellOf(step reports.LegStep, definition string) reports.LegCell {
	for _, c := range step.Cells {
		if c.Definition == definition {
			return c
		}
	}
	return reports.LegCell{Definition: definition, Verdict: requirement.NotApplicable}
}

// LegTable is a table of the steps of an upgrade and its definitions, in lines of so many columns. Definitions for which there is no room
// are left out, those first with which nothing is wrong.
func LegTable(leg reports.Leg, columns int) []string {
	const gap = 2
	kinds := slices.Clone(leg.Kinds)
	worst := func(k reports.LegKind) requirement.Verdict {
		verdict := requirement.Unknown
		for _, s := range leg.Steps {
			if v := cellOf(s, k.Definition).Verdict; worseThan(v, verdict) {
				verdict = v
			}
		}
		return verdict
	}
	slices.SortStableFunc(kinds, func(a, b reports.LegKind) int {
		switch {
		case worseThan(worst(a), worst(b)):
			return -1
		case worseThan(worst(b), worst(a)):
			return 1
		}
		return 0
	})
	first := 4
	for _, s := range leg.Steps {
		first = max(first, utf8.RuneCountInString(s.Name))
	}
	rows := []string{fmt.Sprintf("%-*s", first, "step")}
	for _, s := range leg.Steps {
		rows = append(rows, fmt.Sprintf("%-*s", first, s.Name))
	}
	used, shown := first, 0
	for _, k := range kinds {
		cells, width := []string{k.Kind}, utf8.RuneCountInString(k.Kind)
		for _, s := range leg.Steps {
			text := cellText(cellOf(s, k.Definition))
			cells, width = append(cells, text), max(width, utf8.RuneCountInString(text))
		}
		if used+gap+width > columns && shown > 0 {
			break
		}
		for i, cell := range cells {
			rows[i] += strings.Repeat(" ", gap) + fmt.Sprintf("%-*s", width, cell)
		}
		used, shown = used+gap+width, shown+1
	}
	for i := range rows {
		rows[i] = visible.Text(strings.TrimRight(rows[i], " "))
	}
	if left := len(kinds) - shown; left > 0 {
		rows = append(rows, fmt.Sprintf("and %s more, in report.html", visible.Count(left, "definition", "")))
	}
	return rows
}

// LegFindingText says in lines what a finding is: the object, what happened to it, to how many others, and the commands that show it.
func LegFindingText(f reports.LegFinding) string {
	var b strings.Builder
	if f.Definition != "" {
		b.WriteString(f.Definition)
	}
	if f.Name != "" {
		fmt.Fprintf(&b, " %s", strings.TrimPrefix(f.Namespace+"/"+f.Name, "/"))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(f.Message)
	if more := f.Count - 1; more > 0 {
		const most = 5
		fmt.Fprintf(&b, "\nand %d more: %s", more, strings.Join(f.Others[:min(len(f.Others), most)], ", "))
		if more > most {
			b.WriteString(", ...")
		}
	}
	for _, command := range f.Commands {
		fmt.Fprintf(&b, "\n    %s", strings.ReplaceAll(command, "\n", "\n    "))
	}
	return b.String()
}
