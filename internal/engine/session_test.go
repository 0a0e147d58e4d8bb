package engine

import (
	"testing"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// TestScripts holds that --hold is advised where there is a script that cannot connect without it.
func TestScripts(t *testing.T) {
	script := []reports.File{{Path: "exchanges/webhook.response.uid/reproduce.sh"}}
	for name, test := range map[string]struct {
		report reports.Report
		want   bool
	}{
		"nothing wrong":       {reports.Report{Results: []reports.Result{{}}, Load: &loadgen.Load{Stages: []loadgen.Stage{{}}}}, false},
		"a failure":           {reports.Report{Results: []reports.Result{{}, {Files: script}}}, true},
		"a failure of a load": {reports.Report{Load: &loadgen.Load{Stages: []loadgen.Stage{{}, {Findings: []loadgen.Finding{{}}}}}}, true},
	} {
		if got := hasScripts(&test.report); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
