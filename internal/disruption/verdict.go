package disruption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/requirement"
)

// Judgement is the verdict on a scenario with the figures that it follows from.
type Judgement struct {
	Verdict requirement.Verdict
	Reason  string // why it is not Passed
	record.Report
}

// Named returns the scenario of a requirement.
func Named(id requirement.ID) (Scenario, bool) {
	all := Scenarios()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.ID == id })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}

// Judge judges the history of a scenario. The error says why nobody can.
func Judge(h *record.History) (Judgement, error) {
	s, known := Named(requirement.ID(h.Header.Scenario))
	if !known {
		return Judgement{}, fmt.Errorf("unknown scenario %q; judge it with the version of crdconform that wrote it", h.Header.Scenario)
	}
	report, err := record.Judge(h)
	if err != nil {
		return Judgement{}, err
	}
	v := Judgement{Verdict: requirement.Passed, Report: report}
	// What was seen beside the operations holds on any machine.
	reasons := Violations(h)
	if len(reasons) == 0 && len(report.Void) > 0 {
		v.Verdict, v.Reason = requirement.Errored, "void: "+strings.Join(report.Void, "; ")
		return v, nil
	}
	var undecided []string
	for _, f := range report.Anomalies {
		switch {
		case f.Kind == record.FoundUndecided:
			undecided = append(undecided, text(f))
		case s.Forbids(f.Kind):
			reasons = append(reasons, text(f))
		}
	}
	if len(report.Void) == 0 {
		reasons = append(reasons, s.Answered(report.Facts)...)
	}
	switch {
	case len(reasons) > 0:
		v.Verdict, v.Reason = requirement.Failed, strings.Join(reasons, "\n")
	case len(undecided) > 0:
		v.Verdict, v.Reason = requirement.Errored, strings.Join(undecided, "\n")
	}
	return v, nil
}

// Answered are requests that the webhook itself answered with a failure. A webhook that is away, or cannot be reached, answers nothing, so
// nothing that is done to it excuses that, but too little memory.
func (s Scenario) Answered(f record.Facts) []string {
	n, example := 0, ""
	for _, failure := range f.Failures {
		count := failure.Count()
		if s.short {
			count = failure.After
		}
		if failure.Error == record.Answer && count > 0 {
			n += count
			example = failure.String()
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the webhook answered %d requests with a failure\n    %s", n, example)}
}

// Violations are what was noted while the scenario was run.
func Violations(h *record.History) []string {
	var all []string
	for _, m := range h.Marks {
		if strings.HasPrefix(m.Name, violation) {
			all = append(all, m.Text)
		}
	}
	return all
}

// Forbids reports whether an anomaly violates the requirement of the scenario. What fails while nobody can convert is reported only.
func (s Scenario) Forbids(k record.AnomalyKind) bool {
	switch k {
	case record.FoundFailed:
		return s.harmless
	case record.FoundUndecided, record.FoundUnstable:
		return false
	default:
		return true
	}
}

// text is an anomaly with what it is about.
func text(f record.Anomaly) string {
	lines := []string{f.Text}
	for _, e := range f.Examples {
		lines = append(lines, "    "+e)
	}
	return strings.Join(lines, "\n")
}
