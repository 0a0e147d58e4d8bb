package reporter

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestMergeLoads merges load tests of the same profile and of different ones, three at once.
func TestMergeLoads(t *testing.T) {
	sent := func(profile, name string, rate float64) *reports.Report {
		r := judgedAs(requirement.Passed)
		r.Load = &loadgen.Load{Profile: profile, Stages: []loadgen.Stage{{
			Name: name, Repeat: 1, Requests: 10, Judged: 10, Phases: []loadgen.Phase{{Seconds: 1, Rate: rate, To: rate}},
			Findings: []loadgen.Finding{{Files: []loadgen.File{{Path: "load/1-request.json", Data: []byte(profile)}}}},
		}}}
		r.Load.Objectives = []loadgen.Objective{{Stage: name, Repeat: 1, Name: "p99", Limit: 5, Measured: 6, Unit: "ms", Met: profile != "ramp"}}
		return r
	}
	merge := func(all ...*reports.Report) (*loadgen.Load, error) {
		merged, err := Merge([]string{"one", "two", "three"}[:len(all)], all)
		if err != nil {
			return nil, err
		}
		return merged.Load, nil
	}
	titles := func(l *loadgen.Load) (all []string) {
		for _, s := range l.Stages {
			for _, o := range l.Objectives {
				if isAbout(o, s) {
					all = append(all, stageTitle(l, s)+": "+objectiveOutcome(l, o))
				}
			}
		}
		return all
	}
	same := sent("constant", "", 100)
	for name, test := range map[string]struct {
		reports []*reports.Report
		profile string
		want    []string
	}{
		"repeats":    {[]*reports.Report{same, sent("constant", "", 100)}, "constant", []string{"constant: met", "constant, repeat 2: met"}},
		"profiles":   {[]*reports.Report{same, sent("ramp", "", 10)}, "constant + ramp", []string{"constant: met", "ramp: missed"}},
		"three":      {[]*reports.Report{same, sent("ramp", "", 10), sent("ramp", "", 10)}, "constant + ramp", []string{"constant: met", "ramp: missed", "ramp, repeat 2: missed"}},
		"one of two": {[]*reports.Report{judgedAs(requirement.Passed), sent("ramp", "", 10)}, "ramp", []string{"ramp: missed"}},
	} {
		got, err := merge(test.reports...)
		if err != nil || got.Profile != test.profile || !slices.Equal(titles(got), test.want) {
			t.Errorf("%s: got %+v, %v; want %q", name, got, err, test.want)
			continue
		}
		if last := got.Stages[len(got.Stages)-1].Findings[0].Files[0].Path; !strings.HasPrefix(last, "load/run-") || last == got.Stages[0].Findings[0].Files[0].Path && len(got.Stages) > 1 {
			t.Errorf("%s: the last file is %s", name, last)
		}
	}
	if same.Load.Stages[0].Name != "" || len(same.Load.Stages) != 1 || same.Load.Stages[0].Findings[0].Files[0].Path != "load/1-request.json" {
		t.Errorf("what was merged has changed: %+v", same.Load)
	}
	compared := sent("constant", "", 100)
	compared.Load.Comparison = &loadgen.Comparison{}
	for want, other := range map[string]*reports.Report{
		`both have a stage "constant", but 100 requests a second for 1 s, `: sent("constant", "", 200),
		`use "crdconform report --baseline" on the merged report`:           compared,
	} {
		if _, err := merge(same, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestMergeLoadControls has the controls of two load tests as repeats of one.
func TestMergeLoadControls(t *testing.T) {
	controlled := func(cost float64) *loadgen.Load {
		return &loadgen.Load{Profile: "batch", Control: []loadgen.Stage{{Repeat: 1}, {Repeat: 2}}, Cost: &loadgen.Cost{Object: cost}}
	}
	got, err := MergedLoad(controlled(2), controlled(1))
	if err != nil || len(got.Control) != 4 || got.Control[3].Repeat != 4 || got.Cost.Object != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	other := controlled(1)
	other.ControlWork = 7
	if _, err := MergedLoad(controlled(2), other); err == nil || !strings.Contains(err.Error(), "their controls did different work") {
		t.Errorf("controls that differ: got %v", err)
	}
	other = controlled(1)
	other.Profile = "own"
	if got, err := MergedLoad(controlled(2), other); err != nil || got.Cost != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}
