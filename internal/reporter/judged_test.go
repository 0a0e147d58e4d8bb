package reporter

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

func TestStagesAreJudgedApart(t *testing.T) {
	const busy = "the generator was too busy"
	good := loadgen.Stage{Name: "good", Repeat: 1, Requests: 100, Judged: 100}
	failing := loadgen.Stage{Name: "failing", Repeat: 1, Requests: 100, Failed: 3, Errors: map[string]uint64{"timeout": 3}}
	void := loadgen.Stage{Name: "void", Repeat: 1, Requests: 100, VoidReason: busy}
	lost := loadgen.Stage{Name: "lost", Repeat: 1, Requests: 100, Failed: 3, Errors: map[string]uint64{"transport": 2, "timeout": 1}, VoidReason: busy}
	wrong := loadgen.Stage{Name: "wrong", Repeat: 1, Requests: 100, Failed: 3, Errors: map[string]uint64{"timeout": 1, "contract": 1, "content": 1}, VoidReason: busy}
	again := void
	again.Repeat = 2
	missed := func(s loadgen.Stage) loadgen.Objective {
		return loadgen.Objective{Stage: s.Name, Repeat: s.Repeat, Name: "p99", Limit: 50, Measured: 60, Unit: "ms"}
	}
	allowed := func(s loadgen.Stage, met bool) loadgen.Objective {
		return loadgen.Objective{Stage: s.Name, Name: "errors", Limit: 0.05, Measured: 0.03, Unit: "share", Met: met}
	}
	of := func(stages ...loadgen.Stage) *loadgen.Load { return &loadgen.Load{Profile: "own", Stages: stages} }
	unnamed := failing
	unnamed.Name = ""
	for name, test := range map[string]struct {
		load     *loadgen.Load
		want     reports.Outcome
		headline string
		stages   string // what became of each
	}{
		"good":                      {of(good, good), reports.Conformant, "Conforms: all 200 responses under load are correct", "good good"},
		"one fails":                 {of(good, failing), reports.NonConformant, "Does not conform: 3 of 200 requests under load failed", "good failed"},
		"one is void":               {of(good, void), reports.Unjudged, "Could not judge the load: void: " + busy, "good void"},
		"only one is void":          {of(void), reports.Unjudged, "Could not judge the load: " + busy, "void"},
		"two are void":              {of(good, void, lost), reports.Unjudged, "Could not judge the load (3 of 300 requests failed): void: " + busy + " (and 1 other stage)", "good void void"},
		"a repeat is void":          {of(void, again), reports.Unjudged, "Could not judge the load: void: " + busy + " (and 1 other stage)", "void void"},
		"void, and another fails":   {of(void, failing), reports.NonConformant, "Does not conform: 3 of 200 requests under load failed", "void failed"},
		"void, but wrong":           {of(good, wrong), reports.NonConformant, "Does not conform: 3 of 200 requests under load failed", "good failed"},
		"void, and another missed":  {with(of(void, good), missed(good)), reports.NonConformant, "Does not meet its objectives under load: good: p99 60 ms (limit 50 ms)", "void missed"},
		"missed where it is void":   {with(of(void, good), missed(void)), reports.Unjudged, "Could not judge the load: void: " + busy, "void good"},
		"missed in a repeat":        {with(of(good), missed(good)), reports.NonConformant, "Does not meet its objectives under load: p99 60 ms (limit 50 ms)", "missed"},
		"about all":                 {with(of(good, failing), loadgen.Objective{Name: "errors", Limit: 0.1, Measured: 0.03, Unit: "share", Met: true}), reports.Conformant, "Conforms: 3 of 200 responses under load failed, which the objectives allow, and every objective is met", "good good"},
		"allowed":                   {with(of(good, failing), allowed(failing, true)), reports.Conformant, "Conforms: 3 of 200 responses under load failed, which the objectives allow, and every objective is met", "good good"},
		"allowed elsewhere":         {with(of(good, failing), allowed(good, true)), reports.NonConformant, "Does not conform: 3 of 200 requests under load failed", "good failed"},
		"more than allowed":         {with(of(good, failing), allowed(failing, false)), reports.NonConformant, "Does not meet its objectives under load: failing: errors 3 % (limit 5 %)", "good missed"},
		"wrong where it is allowed": {with(of(wrong), allowed(wrong, false)), reports.Unjudged, "Could not judge the load (3 of 100 requests failed): " + busy, "void"},
		"four missed": {
			with(of(good, failing), missed(good), allowed(failing, false), loadgen.Objective{Stage: "good", Name: "p50", Unit: "ms", Measured: 1}, loadgen.Objective{Stage: "good", Name: "max", Unit: "ms", Measured: 1}),
			reports.NonConformant, "Does not meet its objectives under load: good: p99 60 ms (limit 50 ms), failing: errors 3 % (limit 5 %), good: p50 1 ms (limit 0 ms), and 1 more", "missed missed",
		},
		"nothing": {of(), reports.Unjudged, "Could not judge: there was nothing to judge", ""},
		"stopped": {of(loadgen.Stage{Requests: 100, Partial: true}), reports.Conformant, "Conforms: all 100 responses under load are correct", "stopped"},
		"no name": {with(of(unnamed), missed(unnamed)), reports.NonConformant, "Does not conform: 3 of 100 requests under load failed; p99 60 ms (limit 50 ms)", "failed"},
		"found":   {&loadgen.Load{Stages: []loadgen.Stage{good}, Search: &loadgen.Search{Met: 40, Missed: 42, Goal: "p99 <= 50ms", Probes: []loadgen.Probe{{Rate: 40, Met: true}, {Rate: 42}, {Rate: 40, Met: true}}}}, reports.Conformant, "Conforms: highest rate that met p99 <= 50ms: 40/s; 42/s missed it, and all 100 responses under load are correct", "good"},
		"not confirmed, beside another profile": {
			&loadgen.Load{Stages: []loadgen.Stage{good}, Search: &loadgen.Search{Met: 40, Missed: 42, Goal: "p99 <= 50ms", Probes: []loadgen.Probe{{Rate: 40, Met: true}, {Rate: 42}, {Rate: 40, Void: true}}}},
			reports.Unjudged, "Could not judge the load: highest rate that met p99 <= 50ms: 40/s; 42/s missed it; that is not confirmed", "good",
		},
		"not found":  {&loadgen.Load{Search: &loadgen.Search{Missed: 20, Goal: "p99 <= 50ms", Probes: []loadgen.Probe{{Rate: 20}}}}, reports.NonConformant, "Does not meet its objectives under load: no rate met p99 <= 50ms; 20/s missed it", ""},
		"not judged": {&loadgen.Load{Search: &loadgen.Search{Missed: 20, Goal: "p99 <= 50ms", Probes: []loadgen.Probe{{Rate: 20, Void: true}}}}, reports.Unjudged, "Could not judge the load: no rate met p99 <= 50ms; at 20/s the generator was too busy to measure", ""},
		"not tried":  {&loadgen.Load{Search: &loadgen.Search{Goal: "p99 <= 50ms", Partial: true}}, reports.Unjudged, "Could not judge the load: no rate was tried; stopped before its end", ""},
	} {
		r := &reports.Report{Load: test.load}
		Conclude(r)
		if r.Outcome != test.want || Headline(r) != test.headline {
			t.Errorf("%s: %s, %q\nwant %s, %q", name, r.Outcome, Headline(r), test.want, test.headline)
		}
		var stages []string
		for _, s := range test.load.Stages {
			stages = append(stages, stageOutcome(test.load, s))
		}
		if got := strings.Join(stages, " "); got != test.stages {
			t.Errorf("%s: the stages are %q, want %q", name, got, test.stages)
		}
	}
}

// TestIncompleteHeadline has the headline say that a run failed and could not judge everything.
func TestIncompleteHeadline(t *testing.T) {
	r := &reports.Report{Error: "the run timeout of 1m0s was over\nand more", Results: []reports.Result{{Verdict: requirement.Failed}, {Verdict: requirement.Unknown}}}
	Conclude(r)
	if want := "Does not conform: 1 of 2 requirements failed. Incomplete: the run timeout of 1m0s was over"; r.Outcome != reports.NonConformant || Headline(r) != want {
		t.Errorf("%s, %q; want %q", r.Outcome, Headline(r), want)
	}
}

// outpaced is a load test of one stage that the webhook could not follow.
func outpaced(change func(*loadgen.Stage)) *reports.Report {
	s := loadgen.Stage{
		Name: "constant", Repeat: 1, Rate: 1000, Duration: 60, Seconds: 90, Phases: []loadgen.Phase{{Seconds: 60, Rate: 1000, To: 1000}}, Batch: 1, ReviewVersion: "v1", HTTP: "HTTP/1.1",
		Requests: 60_000, Objects: 2700, Judged: 60_000, Failed: 57_300, Errors: map[string]uint64{"overdue": 57_300}, RequestsPerSecond: 30,
		Behind: "57300 of 60000 requests were never sent",
	}
	change(&s)
	r := &reports.Report{Load: &loadgen.Load{Profile: "constant", Stages: []loadgen.Stage{s}}}
	return r
}

// TestBehind expects no form of the report to show a load that the webhook could not follow as good.
func TestBehind(t *testing.T) {
	relist := func(s *loadgen.Stage) {
		*s = loadgen.Stage{
			Name: "relist", Repeat: 1, Clients: 10, Most: 20_000, Duration: 120, Seconds: 120.5, Batch: 1, Requests: 12_000, Objects: 12_000, Judged: 12_000,
			Partial: true, Behind: "12000 of 20000 requests were sent in the 2m0s that they had",
		}
	}
	allowed := func(limit float64) []loadgen.Objective {
		return []loadgen.Objective{{Stage: "constant", Repeat: 1, Name: "errors", Unit: "share", Limit: limit, Measured: 0.955, Met: limit > 0.955}}
	}
	for name, test := range map[string]struct {
		change     func(*loadgen.Stage)
		objectives []loadgen.Objective
		outcome    reports.Outcome
		headline   string
		junit      string // what the case of the stage is
	}{
		"overloaded": {func(*loadgen.Stage) {}, nil, reports.NonConformant, "Does not conform: 57300 of 60,000 requests under load failed; 57300 of 60000 requests were never sent", "<failure"},
		"with an objective": {
			func(*loadgen.Stage) {}, allowed(0), reports.NonConformant,
			"Does not meet its objectives under load: errors 95.5 % (limit 0 %); 57300 of 60000 requests were never sent", "<failure",
		},
		"allowed": {
			func(*loadgen.Stage) {}, allowed(0.96), reports.Conformant,
			"Conforms: 57300 of 60,000 responses under load failed, which the objectives allow, and every objective is met", "",
		},
		"clients without time": {relist, nil, reports.Unjudged, "Could not judge all of the load: 12000 of 20000 requests were sent in the 2m0s that they had; send fewer requests, or allow more time", "<error"},
	} {
		r := outpaced(test.change)
		r.Load.Stages[0].Response, r.Load.Stages[0].Service, r.Load.Stages[0].Lag = newTimes(t, sampleHistogram(100)), newTimes(t, sampleHistogram(100)), newTimes(t, sampleHistogram(1))
		r.Load.Objectives = test.objectives
		Conclude(r)
		if r.Outcome != test.outcome || Headline(r) != test.headline {
			t.Errorf("%s: %s: %s", name, r.Outcome, Headline(r))
		}
		said := r.Load.Stages[0].Behind
		var junit, html, markdown strings.Builder
		for _, err := range []error{JUnit(r, &junit), HTML(r, &html), Markdown(r, &markdown)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, wrong := range []string{"<failure", "<error"} {
			if got := strings.Contains(junit.String(), wrong); got != (wrong == test.junit) {
				t.Errorf("%s: %s in junit.xml is %t:\n%s", name, wrong, got, junit.String())
			}
		}
		for form, text := range map[string]string{"html": html.String(), "markdown": markdown.String(), "terminal": strings.Join(LoadLines(r.Load, Columns), "\n"), "junit": junit.String()} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), said) {
				t.Errorf("%s: %s does not say so:\n%s", name, form, text)
			}
			if strings.Contains(text, "stopped before its end") {
				t.Errorf("%s: %s says that somebody stopped it", name, form)
			}
		}
	}
}

// TestFirstList has a relist say what it means for an API server, and other loads say nothing.
func TestFirstList(t *testing.T) {
	for want, test := range map[string]struct {
		profile string
		change  func(*loadgen.Stage)
	}{
		"20,000 objects take 45.2 s, 10 at once as for the first LIST after a restart; API servers have 60 s for that, including their own work": {
			"relist", func(s *loadgen.Stage) { s.Requests, s.Seconds = 20_000, 45.2 },
		},
		"20,000 objects take 201 s at this pace, 10 at once as for the first LIST after a restart; that is more than the 60 s that API servers have for it": {
			"relist", func(s *loadgen.Stage) { s.Requests, s.Seconds = 12_000, 120.5 },
		},
		"":  {"relist", func(s *loadgen.Stage) { s.Clients = 3 }},
		" ": {"apiserver", func(*loadgen.Stage) {}},
	} {
		s := loadgen.Stage{Name: "relist", Repeat: 1, Clients: 10, Most: 20_000, Requests: 20_000, Seconds: 1, Batch: 1}
		test.change(&s)
		if got := firstList((&loadgen.Load{Profile: test.profile, Stages: []loadgen.Stage{s}})); got != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
