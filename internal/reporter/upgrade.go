package reporter

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// StepVerdict is the worst verdict of a step.
func StepVerdict(step reports.LegStep) requirement.Verdict {
	worst := requirement.NotApplicable
	for _, c := range step.Cells {
		worst = worse(worst, c.Verdict)
	}
	return worst
}

// worse returns the worse of two verdicts.
func worse(a, b requirement.Verdict) requirement.Verdict {
	return slices.MaxFunc([]requirement.Verdict{a, b}, explanation.Worse)
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
	case untried != "" && explanation.Worse(StepVerdict(step), requirement.Passed) <= 0:
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
	switch by, explained := strings.CutPrefix(c.Reason, explanation.ExplainedBy); {
	case c.Verdict == requirement.NotApplicable && explained:
		return "see " + by
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
	kinds := slices.Clone(leg.Kinds)
	worst := func(k reports.LegKind) requirement.Verdict {
		verdict := requirement.Unknown
		for _, s := range leg.Steps {
			verdict = worse(verdict, cellOf(s, k.Definition).Verdict)
		}
		return verdict
	}
	slices.SortStableFunc(kinds, func(a, b reports.LegKind) int { return explanation.Worse(worst(b), worst(a)) })
	for shown := len(kinds); ; shown-- {
		lines := strings.Split(strings.TrimSuffix(legTable(leg, kinds[:shown]).Text(), "\n"), "\n")
		if shown > 1 && slices.ContainsFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) > columns }) {
			continue
		}
		if left := len(kinds) - shown; left > 0 {
			lines = append(lines, definitionsLeft(left))
		}
		return lines
	}
}

// LegFindingText says in lines what a finding is: the definition, and the rest as explanation.Finding does.
func LegFindingText(f reports.LegFinding) string {
	switch {
	case f.Definition == "":
		return explanation.Finding(f)
	case f.Name == "":
		return f.Definition + ": " + explanation.Finding(f)
	}
	return f.Definition + " " + explanation.Finding(f)
}
