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
	// mostLegFindings is how many findings of a requirement a page has, and openLegFindings how many of them are open.
	mostLegFindings = 50
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

// upgradeFindings are what rehearsals found of a requirement, as the page has it in place of the reason.
type upgradeFindings struct {
	Listed   []legFinding
	Unlisted string // says that there are more
}

// findingsOf returns what rehearsals found of the requirement of a result.
func findingsOf(r *reports.Report, result reports.Result) upgradeFindings {
	var all upgradeFindings
	n := 0
	for _, leg := range r.Upgrade {
		for _, f := range leg.Findings {
			if f.Requirement != result.ID || legSubject(r, leg, f.Definition) != result.Subject {
				continue
			}
			if n++; n > mostLegFindings {
				all.Unlisted = visible.More(n-mostLegFindings) + ", which are in report.json"
				continue
			}
			shown := legFinding{LegFinding: f, Object: explanation.Object(f), Open: n <= openLegFindings}
			if others := f.Count - 1; others > 0 {
				shown.More = visible.More(others)
			}
			all.Listed = append(all.Listed, shown)
		}
	}
	return all
}

// legSubject is the subject of the results of an upgrade: the definition, behind the releases if there are several upgrades.
func legSubject(r *reports.Report, leg reports.Leg, definition string) string {
	if len(r.Upgrade) == 1 {
		return definition
	}
	return joined(leg.From+" to "+leg.To, ": ", definition)
}

// foundIn returns the results that have what a step of an upgrade found of a definition.
func foundIn(r *reports.Report, leg reports.Leg, step, definition string) []reports.Result {
	return slices.DeleteFunc(slices.Clone(r.Results), func(result reports.Result) bool {
		return !slices.ContainsFunc(leg.Findings, func(f reports.LegFinding) bool {
			return f.Step == step && f.Definition == definition && f.Requirement == result.ID && legSubject(r, leg, definition) == result.Subject
		})
	})
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
		for i, f := range leg.Findings {
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
