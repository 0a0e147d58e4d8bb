package reporter

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

//go:embed upgrade.html
var upgradePage string

const (
	// mostLegFindings is how many findings of an upgrade a page has, and openLegFindings how many of them are open.
	mostLegFindings = 200
	openLegFindings = 5

	// mostLegColumns is how many definitions a table in Markdown has.
	mostLegColumns = 8
)

// legFinding is a finding as the page has it.
type legFinding struct {
	reports.LegFinding

	Object, More string
	Open         bool
}

// legFindings are the findings that a page has, those that fail the upgrade first.
func legFindings(leg reports.Leg) []legFinding {
	var all []legFinding
	for i, f := range sortedFindings(leg)[:min(len(leg.Findings), mostLegFindings)] {
		shown := legFinding{LegFinding: f, Object: explanation.Object(f), Open: i < openLegFindings}
		if n := f.Count - 1; n > 0 {
			shown.More = visible.More(n)
		}
		all = append(all, shown)
	}
	return all
}

// sortedFindings are the findings, those that fail the upgrade first, and by step.
func sortedFindings(leg reports.Leg) []reports.LegFinding {
	return slices.SortedStableFunc(slices.Values(leg.Findings), func(a, b reports.LegFinding) int { return explanation.Worse(b.Verdict, a.Verdict) })
}

// unlistedOf says that there are more findings than a page has.
func unlistedOf(leg reports.Leg) string {
	if n := len(leg.Findings) - mostLegFindings; n > 0 {
		return visible.More(n) + ", which are in report.json"
	}
	return ""
}

// markdownUpgrades has a section for each upgrade: a table of steps and definitions, the findings, and the way back.
func markdownUpgrades(r *reports.Report, b *strings.Builder) {
	const most = 30
	for _, leg := range r.Upgrade {
		fmt.Fprintf(b, "\n## Upgrade from %s to %s\n\n", visible.Markdown(leg.From), visible.Markdown(leg.To))
		for _, text := range leg.Return {
			fmt.Fprintf(b, "- %s\n", visible.Markdown(text))
		}
		kinds := leg.Kinds[:min(len(leg.Kinds), mostLegColumns)]
		b.WriteString("\n" + legTable(leg, kinds).Markdown())
		if n := len(leg.Kinds) - len(kinds); n > 0 {
			fmt.Fprintf(b, "\n%s\n", definitionsLeft(n))
		}
		for i, f := range sortedFindings(leg) {
			if i == most || b.Len() > detailed {
				fmt.Fprintf(b, "\n%s, all of them in report.html\n", visible.More(len(leg.Findings)-i))
				break
			}
			fmt.Fprintf(b, "\n%s `%s` in the step *%s*:\n\n%s\n", f.Verdict, f.Requirement, visible.Markdown(f.Step), fence(LegFindingText(f)))
		}
	}
}

// legTable has the steps of an upgrade in rows, and some of its definitions in columns.
func legTable(leg reports.Leg, kinds []reports.LegKind) *visible.Table {
	t := &visible.Table{Head: []string{"step"}}
	for _, k := range kinds {
		t.Head = append(t.Head, k.Kind)
	}
	for _, s := range leg.Steps {
		row := []any{s.Name}
		for _, k := range kinds {
			row = append(row, cellText(cellOf(s, k.Definition)))
		}
		t.Add(row...)
	}
	return t
}

// definitionsLeft says how many definitions a table has no room for.
func definitionsLeft(n int) string {
	return fmt.Sprintf("and %s more, in report.html", visible.Count(n, "definition", ""))
}

// upgradeText says what was upgraded.
func upgradeText(r *reports.Report) string {
	var texts []string
	for _, fact := range upgradeFacts(r) {
		texts = append(texts, fact.Value)
	}
	return strings.Join(texts, "; ")
}

// upgradeFacts say what was upgraded.
func upgradeFacts(r *reports.Report) []Fact {
	var facts []Fact
	for _, leg := range r.Upgrade {
		objects := 0
		for _, k := range leg.Kinds {
			objects += k.Objects
		}
		facts = append(facts, Fact{Name: "upgrade", Value: fmt.Sprintf("from %s to %s, with %s of %s", leg.From, leg.To, visible.Count(objects, "object", ""), visible.Count(len(leg.Kinds), "definition", ""))})
	}
	return facts
}
