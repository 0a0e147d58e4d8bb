package reports

import (
	"strings"
	"testing"
)

func TestStagesAreJudgedApart(t *testing.T) {
	const busy = "the generator was too busy"
	good := Stage{Name: "good", Repeat: 1, Requests: 100, Judged: 100}
	failing := Stage{Name: "failing", Repeat: 1, Requests: 100, Failed: 3, Errors: map[string]uint64{"timeout": 3}}
	void := Stage{Name: "void", Repeat: 1, Requests: 100, VoidReason: busy}
	lost := Stage{Name: "lost", Repeat: 1, Requests: 100, Failed: 3, Errors: map[string]uint64{"transport": 2, "timeout": 1}, VoidReason: busy}
	wrong := Stage{Name: "wrong", Repeat: 1, Requests: 100, Failed: 3, Errors: map[string]uint64{"timeout": 1, "contract": 2}, VoidReason: busy}
	again := void
	again.Repeat = 2
	missed := func(s Stage) Objective {
		return Objective{Stage: s.Name, Repeat: s.Repeat, Name: "p99", Limit: 50, Measured: 60, Unit: "ms"}
	}
	allowed := func(s Stage, met bool) Objective {
		return Objective{Stage: s.Name, Name: "errors", Limit: 0.05, Measured: 0.03, Unit: "share", Met: met}
	}
	of := func(stages ...Stage) *Load { return &Load{Profile: "own", Stages: stages} }
	unnamed := failing
	unnamed.Name = ""
	for name, test := range map[string]struct {
		load     *Load
		want     Outcome
		headline string
		stages   string // what became of each
	}{
		"good":                      {of(good, good), Conformant, "Conforms: all of 200 responses under load are good", "good good"},
		"one fails":                 {of(good, failing), NonConformant, "Does not conform: 3 of 200 requests under load failed", "good failed"},
		"one is void":               {of(good, void), Unjudged, "Could not judge the load: void: " + busy, "good void"},
		"only one is void":          {of(void), Unjudged, "Could not judge the load: " + busy, "void"},
		"two are void":              {of(good, void, lost), Unjudged, "Could not judge the load: void: " + busy + " (and 1 other stage)", "good void void"},
		"a repeat is void":          {of(void, again), Unjudged, "Could not judge the load: void: " + busy + " (and 1 other stage)", "void void"},
		"void, and another fails":   {of(void, failing), NonConformant, "Does not conform: 3 of 200 requests under load failed", "void failed"},
		"void, but wrong":           {of(good, wrong), NonConformant, "Does not conform: 3 of 200 requests under load failed", "good failed"},
		"void, and another missed":  {with(of(void, good), missed(good)), NonConformant, "Does not meet its objectives under load: good: p99 60 ms (limit 50 ms)", "void missed"},
		"missed where it is void":   {with(of(void, good), missed(void)), Unjudged, "Could not judge the load: void: " + busy, "void good"},
		"missed in a repeat":        {with(of(good), missed(good)), NonConformant, "Does not meet its objectives under load: p99 60 ms (limit 50 ms)", "missed"},
		"about all":                 {with(of(good, failing), Objective{Name: "errors", Limit: 0.1, Measured: 0.03, Unit: "share", Met: true}), Conformant, "Conforms: 3 of 200 responses under load failed, which the objectives allow, and every objective is met", "good good"},
		"allowed":                   {with(of(good, failing), allowed(failing, true)), Conformant, "Conforms: 3 of 200 responses under load failed, which the objectives allow, and every objective is met", "good good"},
		"allowed elsewhere":         {with(of(good, failing), allowed(good, true)), NonConformant, "Does not conform: 3 of 200 requests under load failed", "good failed"},
		"more than allowed":         {with(of(good, failing), allowed(failing, false)), NonConformant, "Does not meet its objectives under load: failing: errors 3 % (limit 5 %)", "good missed"},
		"wrong where it is allowed": {with(of(wrong), allowed(wrong, false)), Unjudged, "Could not judge the load: " + busy, "void"},
		"four missed": {
			with(of(good, failing), missed(good), allowed(failing, false), Objective{Stage: "good", Name: "p50", Unit: "ms", Measured: 1}, Objective{Stage: "good", Name: "max", Unit: "ms", Measured: 1}),
			NonConformant, "Does not meet its objectives under load: good: p99 60 ms (limit 50 ms), failing: errors 3 % (limit 5 %), good: p50 1 ms (limit 0 ms), and 1 more", "missed missed",
		},
		"sampled":    {of(Stage{Requests: 100, Judged: 10, JudgeEvery: 10}), Conformant, "Conforms: all judged responses under load are good: 10 of 100, since one in 10 was asked for", "good"},
		"nothing":    {of(), Unjudged, "Could not judge: there was nothing to judge", ""},
		"stopped":    {of(Stage{Requests: 100, Partial: true}), Conformant, "Conforms: all of 100 responses under load are good", "stopped"},
		"no name":    {with(of(unnamed), missed(unnamed)), NonConformant, "Does not conform: 3 of 100 requests under load failed; p99 60 ms (limit 50 ms)", "failed"},
		"found":      {&Load{Stages: []Stage{good}, Search: &Search{Met: 40, Missed: 42, Goal: "p99 <= 50ms", Probes: []Probe{{Rate: 40, Met: true}, {Rate: 42}}}}, Conformant, "Conforms: highest rate that met p99 <= 50ms: 40/s; 42/s missed it, and all of 100 responses under load are good", "good"},
		"not found":  {&Load{Search: &Search{Missed: 20, Goal: "p99 <= 50ms", Probes: []Probe{{Rate: 20}}}}, NonConformant, "Does not meet its objectives under load: no rate that was tried met p99 <= 50ms; 20/s missed it", ""},
		"not judged": {&Load{Search: &Search{Missed: 20, Goal: "p99 <= 50ms", Probes: []Probe{{Rate: 20, Void: true}}}}, Unjudged, "Could not judge the load: no rate that was tried met p99 <= 50ms; at 20/s the generator could not tell", ""},
		"not tried":  {&Load{Search: &Search{Goal: "p99 <= 50ms", Partial: true}}, Unjudged, "Could not judge the load: no rate was tried; stopped before its end", ""},
	} {
		r := &Report{Load: test.load}
		r.Conclude()
		if r.Outcome != test.want || r.Headline() != test.headline {
			t.Errorf("%s: %s, %q\nwant %s, %q", name, r.Outcome, r.Headline(), test.want, test.headline)
		}
		var stages []string
		for _, s := range test.load.Stages {
			stages = append(stages, test.load.outcome(s))
		}
		if got := strings.Join(stages, " "); got != test.stages {
			t.Errorf("%s: the stages are %q, want %q", name, got, test.stages)
		}
	}
}
