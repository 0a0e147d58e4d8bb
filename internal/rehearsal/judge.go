package rehearsal

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// verdict returns the verdict that the evidence leads to.
func (j *judged) verdict() requirement.Verdict {
	switch {
	case j == nil:
		return requirement.Unknown
	case len(j.failed) > 0:
		return j.worst
	case j.errored != nil:
		return requirement.Errored
	case j.open != "":
		return requirement.Unknown
	case j.blocked != "", j.explained != "":
		return requirement.NotApplicable
	case j.tried > 0:
		return requirement.Passed
	case j.skipped.why != "":
		return requirement.NotApplicable
	}
	return requirement.Unknown
}

// results are the verdicts on all requirements. What was not judged is Unknown, for the reason that is given.
func (r *record) results(unjudged string) []reports.Result {
	var all []reports.Result
	for _, id := range IDs() {
		if !r.selects(id) {
			continue
		}
		for _, k := range r.about(id) {
			all = append(all, r.result(id, k, unjudged))
		}
	}
	return all
}

func (r *record) result(id requirement.ID, k *kind, unjudged string) reports.Result {
	j := r.judged[at{id, k}]
	result := explanation.Result(id, r.subjectOf(k))
	result.Verdict, result.Location, result.Spec = j.verdict(), "internal/rehearsal", result.Statement
	if j != nil && j.step != "" {
		result.Spec = "rehearses the upgrade: " + j.step
	}
	switch result.Verdict {
	case requirement.Unknown:
		result.Reason = unjudged
		if j != nil && j.open != "" {
			result.Reason = j.open
		}
	case requirement.Errored:
		result.Reason = j.errored.Error()
	case requirement.NotApplicable:
		switch {
		case j.blocked != "":
			result.Reason = j.blocked
		case j.explained != "":
			result.Reason = j.why + ": see " + j.explained
		default:
			result.Reason, result.Immaterial = j.skipped.why, j.skipped.immaterial
		}
	case requirement.Failed, requirement.Tolerated:
		causes := r.findingsOf(id, k)
		result.Reason, result.Findings = reason(causes), fields(causes)
	default:
	}
	return result
}

// subjectOf is what a result is about: the definition, behind the releases if there are several upgrades.
func (r *record) subjectOf(k *kind) string {
	name := ""
	if k != nil {
		name = k.name
	}
	return strings.TrimPrefix(strings.TrimSuffix(r.subject+": "+name, ": "), ": ")
}

// mostCauses is how many causes the reason of a verdict names.
const mostCauses = 10

// reason says what was found.
func reason(causes []*cause) string {
	var b strings.Builder
	for i, c := range causes {
		if i == mostCauses {
			b.WriteString("\n" + visible.More(len(causes)-i) + " causes, in report.json")
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(explanation.Finding(c.LegFinding))
	}
	return b.String()
}

// fields are the findings about fields.
func fields(causes []*cause) []reports.FieldFinding {
	var all []reports.FieldFinding
	for _, c := range causes {
		if c.effect == "" {
			continue
		}
		all = append(all, reports.FieldFinding{
			Field: c.place, Effect: c.effect, From: c.Version, To: c.Version, Lacking: c.lacking, Message: kube.Key(c.Namespace, c.Name) + ": " + c.Message,
		})
	}
	return all
}

// findings are all causes, the worst first.
func (r *record) findings() []reports.LegFinding {
	all := make([]reports.LegFinding, 0, len(r.causes))
	for _, c := range r.causes {
		all = append(all, c.LegFinding)
	}
	slices.SortStableFunc(all, func(a, b reports.LegFinding) int { return explanation.Worse(b.Verdict, a.Verdict) })
	return all
}

// begin begins a step.
func (r *record) begin(name, title string) {
	r.step, r.stepping = reports.LegStep{Name: name, Title: title}, map[at]*judged{}
	r.stepped = append(r.stepped, r.stepping)
}

// end ends the step, which has taken some time.
func (r *record) end(took time.Duration) {
	r.step.Seconds = took.Seconds()
	r.steps = append(r.steps, r.step)
}

// allSteps are the steps, without what was taken back since.
func (r *record) allSteps() []reports.LegStep {
	for i := range r.steps {
		r.steps[i].Cells = r.cells(r.stepped[i])
	}
	return r.steps
}

// cells are what came of a step for each definition.
func (r *record) cells(step map[at]*judged) []reports.LegCell {
	cells := make([]reports.LegCell, 0, len(r.kinds))
	for _, k := range r.kinds {
		cell := reports.LegCell{Definition: k.name, Verdict: requirement.NotApplicable}
		failed, found := map[string]struct{}{}, 0
		explained := ""
		for _, id := range IDs() {
			for _, about := range []*kind{k, nil} {
				j := step[at{id, about}]
				if j == nil {
					continue
				}
				if v := j.verdict(); explanation.Worse(v, cell.Verdict) > 0 {
					cell.Verdict = v
				}
				if looksAtObjects(id) {
					cell.Objects = max(cell.Objects, j.tried)
				}
				cell.Reason = cmp.Or(cell.Reason, j.open, j.blocked, j.skipped.why)
				explained = cmp.Or(explained, j.explained)
				found = max(found, j.found)
				for object := range j.failed {
					failed[object] = struct{}{}
				}
			}
		}
		cell.Found = max(len(failed), found)
		switch {
		case explained != "" && explanation.Worse(cell.Verdict, requirement.Passed) <= 0: // not all that was found is reported here
			cell.Verdict, cell.Reason = requirement.NotApplicable, explanation.ExplainedBy+explained
		case cell.Verdict != requirement.NotApplicable:
			cell.Reason = ""
		}
		cells = append(cells, cell)
	}
	return cells
}

// looksAtObjects reports whether objects are looked at for a requirement, rather than definitions or programs.
func looksAtObjects(id requirement.ID) bool {
	return !slices.Contains([]requirement.ID{
		requirement.UpgradeDefinitionsApply, requirement.UpgradeDefinitionsServerSideApply, requirement.UpgradeDefinitionsReplace, requirement.UpgradeWebhookStarts,
	}, id)
}
