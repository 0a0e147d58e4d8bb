package engine

import (
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/reports"
)

// TestSpent has a report say what a check spent time on, which is no more than it took, and that of a run that judges an API server nothing.
func TestSpent(t *testing.T) {
	t.Parallel()
	d := Description{Config: config.Config{CRDs: []string{crontabs}, Filter: []string{"webhook.conversion.round-trip"}}, Handler: faulty(t, "swaps-host-and-port")}
	report := checked(t, d)
	for _, what := range []string{"starting", "chapter.webhook", "stopping", "webhook", "generating", "shrinking"} {
		if seconds := report.Spent[what]; seconds <= 0 || seconds > report.Seconds {
			t.Errorf("%s took %g s of %g", what, seconds, report.Seconds)
		}
	}
	parts := report.Spent["starting"] + report.Spent["chapter.webhook"] + report.Spent["stopping"]
	if _, asked := report.Spent["apiServer"]; asked || parts > report.Seconds {
		t.Errorf("%v in %g s", report.Spent, report.Seconds)
	}
	d.JudgesServer = true
	s := &session{Plan: d.plan(), report: &reports.Report{}}
	s.spendStopping()
	if s.report.Spent != nil {
		t.Errorf("an API server is judged, and it says %v", s.report.Spent)
	}
}
