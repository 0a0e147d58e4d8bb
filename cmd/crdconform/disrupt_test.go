package main

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestDisruptionProblems has what fails be followed by why it matters and how to repeat it, and nothing else.
func TestDisruptionProblems(t *testing.T) {
	t.Parallel()
	const id, again = requirement.DisruptionRestartGraceful, "crdconform disrupt --scenario=restart.graceful --seed=1"
	for _, c := range []struct {
		verdict  requirement.Verdict
		strict   bool
		why, how bool
	}{
		{verdict: requirement.Passed},
		{verdict: requirement.NotApplicable, strict: true},
		{verdict: requirement.Tolerated},
		{verdict: requirement.Tolerated, strict: true, why: true, how: true},
		{verdict: requirement.Failed, why: true, how: true},
		{verdict: requirement.Errored, how: true},
	} {
		p, out := shown(streams{})
		p.strict = c.strict
		(&disruptions{p}).Disrupted(reports.Result{Requirement: requirement.Requirement{ID: id}, Verdict: c.verdict, Reason: "it was so", Rerun: again}, nil)
		if got := strings.Contains(out.String(), "\n    why it matters: "+why(t, id)+"\n"); got != c.why {
			t.Errorf("%s, strict %t: why it matters: %t\n%s", c.verdict, c.strict, got, out)
		}
		if got := strings.HasSuffix(out.String(), "\n    again: "+again+"\n"); got != c.how {
			t.Errorf("%s, strict %t: how to repeat it: %t\n%s", c.verdict, c.strict, got, out)
		}
	}
}
