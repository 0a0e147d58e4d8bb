package reporter

import (
	"slices"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// fewBetween is how many fields have one cause, if nothing but the two versions that they are converted between distinguishes them from others.
const fewBetween = 3

// confined is what many fields have in common that are wrong between two versions alone.
type confined struct {
	way   [2]string // versions, the first by name first
	words string
}

// holds reports whether a finding about a requirement is part of it: what conversions lose or change, what is wrong with their results, and what
// differs by the way at one of the versions, as it may have come by the other.
func (c confined) holds(id requirement.ID, f reports.FieldFinding) bool {
	if f.Field == "" || f.When != "" || f.MadeUp {
		return false
	}
	return (isBetween(f) || f.Effect == "invalid") && c.way == wayOf(f) || id == requirement.WebhookConversionPath && slices.Contains(c.way[:], f.To)
}

// wayOf returns the versions between which something happens.
func wayOf(f reports.FieldFinding) [2]string { return [2]string{min(f.From, f.To), max(f.From, f.To)} }

// between returns, for definitions of which many fields are lost or changed between two versions, and none between these and a third, what to say
// of it: no version lacks the fields, or they would be lost on other ways, too.
func between(r *reports.Report) map[string]confined {
	all := map[string]confined{}
	if r.Webhook == nil {
		return all
	}
	for _, k := range r.Webhook.Kinds {
		if len(k.Lossy) > 0 {
			continue // what is declared is not found, on other ways
		}
		fields, ways := map[string]bool{}, map[[2]string]bool{}
		for _, result := range r.Results {
			if result.Subject != k.Definition || !Problem(r, result) {
				continue
			}
			for _, f := range result.Findings {
				if isBetween(f) {
					fields[f.Field] = true
				}
				if f.When = ""; isBetween(f) { // its way counts whatever the circumstances
					ways[wayOf(f)] = true
				}
			}
		}
		for way := range ways {
			if len(fields) >= fewBetween && len(ways) == 1 && comesBack(k, way[0], way[1]) {
				all[k.Definition] = confined{way, "between " + way[0] + " and " + way[1] + ", and on no other way"}
			}
		}
	}
	return all
}

// isBetween reports whether a finding is about what conversions lose or change.
func isBetween(f reports.FieldFinding) bool {
	return f.Field != "" && (f.Effect == "lost" || f.Effect == "changed") && f.When == "" && !f.Annotation && !f.MadeUp
}

// comesBack reports whether objects of two versions were converted to a third and back, and those of that to both.
func comesBack(k reports.Kind, a, b string) bool {
	tried := func(from, to string) bool {
		return slices.ContainsFunc(k.Coverage, func(c reports.Coverage) bool { return c.From == from && c.To == to && c.Objects > 0 })
	}
	return slices.ContainsFunc(k.Coverage, func(c reports.Coverage) bool {
		third := c.To
		return third != a && third != b && tried(a, third) && tried(b, third) && tried(third, a) && tried(third, b)
	})
}
