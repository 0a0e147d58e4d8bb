package reporter

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// grid is a report of a load test with batches of several sizes, each sent three times, in which everything goes wrong that
// can: a webhook that fails, one that is too slow, and a generator that was too busy.
func grid(t *testing.T) *reports.Report {
	t.Helper()
	l := &loadgen.Load{
		Profile: "batch",
		Cost:    &loadgen.Cost{Request: 0.21, Object: 0.0084, Fit: 0.998, Batches: []int{1, 10, 100, 500, 1500}},
		Search: &loadgen.Search{
			Goal: "p99 <= 50ms, no errors", Met: 410, Missed: 430,
			Probes: []loadgen.Probe{
				{Rate: 20, Met: true, Measured: "0 of 160 over the limit"},
				{Rate: 430, Measured: "31 of 860 over the limit"},
				{Rate: 500, Void: true, Measured: "the generator was too busy: 900 of 1000 requests were sent late"},
				{Rate: 410, Met: true, Measured: "2 of 2460 over the limit"},
			},
		},
	}
	for repeat := 1; repeat <= 3; repeat++ {
		for _, batch := range []int{1, 10, 100, 500, 1500} {
			l.Stages = append(l.Stages, gridStage(t, batch, repeat))
		}
	}
	failing, busy := &l.Stages[8], &l.Stages[9]
	failing.Failed, failing.Errors = 2, map[string]uint64{"contract": 2}
	for i := range uint64(12) {
		failing.Findings = append(failing.Findings, loadgen.Finding{
			Request: 20 + i/2, Requirement: "conversion.answer.order", Text: fmt.Sprintf("object %d: expected \"a\", got \"b\"", i),
			Files: []reports.File{{Path: fmt.Sprintf("load/9-%d-request.json", 20+i/2), Data: []byte("{}")}},
		})
	}
	busy.VoidReason, busy.Late = "the generator was too busy: 31 of 60 requests were sent late", 31
	for _, s := range l.Stages {
		o := loadgen.Objective{Stage: s.Name, Repeat: s.Repeat, Name: "p99", Limit: 20, Measured: s.Response.P99, Unit: "ms", Met: s.Response.P99 <= 20}
		l.Objectives = append(l.Objectives, o)
		if s.Batch == 1 {
			o.Limit, o.Source, o.Met = 50, `KEP "CRDs to GA"`, true
			l.Objectives = append(l.Objectives, o)
		}
	}
	l.Objectives = append(l.Objectives, loadgen.Objective{
		Stage: "batch 1500", Repeat: 1, Name: "objects/s", Limit: 25000, Measured: l.Stages[4].ObjectsPerSecond, Unit: "1/s", AtLeast: true, Met: true,
	})
	r := &reports.Report{Tool: "v0.1.0", Command: "crdconform load --profile batch", Started: time.Date(2026, 11, 21, 9, 31, 5, 0, time.UTC), Seconds: 51.5, Load: l}
	Conclude(r)
	return r
}

// gridStage is a stage of the grid, a little slower in each repeat.
func gridStage(t *testing.T, batch, repeat int) loadgen.Stage {
	t.Helper()
	fastest := int64((210 + 8.4*float64(batch)) * (1 + float64(repeat)/50))
	return loadgen.Stage{
		Name: fmt.Sprintf("batch %d", batch), Repeat: repeat, Rate: 20, Duration: 3, Phases: []loadgen.Phase{{Seconds: 3, Rate: 20, To: 20}},
		Batch: batch, Bytes: 1024, ReviewVersion: "v1", Pairs: []loadgen.Pair{{From: "v1beta1", To: "v1"}}, HTTP: "HTTP/1.1",
		Seconds: 3.004, Requests: 60, Objects: uint64(60 * batch), Judged: 60, RequestsPerSecond: 19.97 - float64(repeat)/100, ObjectsPerSecond: 19.97 * float64(batch),
		Response: newTimes(t, sampleHistogram(fastest+20)), Service: newTimes(t, sampleHistogram(fastest)), Lag: newTimes(t, sampleHistogram(20)),
		LateAfter: 10, Series: series(3, 20, batch, float64(fastest)/1000),
		Generator: loadgen.Generator{ProcessorSeconds: 0.5, Cores: 2, Collections: 3, Paused: 0.05, Waited: 0.1},
	}
}

// failingStage is a report of one stage of the grid, that which failed.
func failingStage(t *testing.T) *reports.Report {
	t.Helper()
	r := grid(t)
	r.Load.Stages, r.Load.Objectives = r.Load.Stages[8:9], nil
	r.Load.Stages[0].Findings = r.Load.Stages[0].Findings[:mostFindings]
	Conclude(r)
	return r
}

// wide is a load test of as many stages as there are combinations of a batch and a size.
func wide(t *testing.T) *reports.Report {
	t.Helper()
	l := &loadgen.Load{Profile: "batch"}
	for _, bytes := range []int{256, 1024, 4096, 16384} {
		for i, batch := range []int{1, 10, 100, 500, 1500} {
			s := gridStage(t, batch, 1)
			s.Name, s.Bytes, s.Series = fmt.Sprintf("batch %d, %d bytes", batch, bytes), bytes, series(600, 20, batch, float64(i+1))
			for j := range uint64(100) {
				s.Findings = append(s.Findings, loadgen.Finding{Request: j, Requirement: "conversion.answer.uid", Text: strings.Repeat("long ", 1000)})
			}
			s.Failed, s.Errors = 100, map[string]uint64{"contract": 100}
			l.Stages = append(l.Stages, s)
			l.Objectives = append(l.Objectives, loadgen.Objective{Stage: s.Name, Repeat: 1, Name: "p99", Limit: 1, Measured: s.Response.P99, Unit: "ms"})
		}
	}
	r := &reports.Report{Load: l}
	Conclude(r)
	return r
}

// TestFiguresOfLoad has numbers be written without an exponent and in few digits, and one thing be one.
func TestFiguresOfLoad(t *testing.T) {
	for want, got := range map[string]string{
		"1 request a second for 10 s":                                                               StageWhen(loadgen.Stage{Phases: []loadgen.Phase{{Seconds: 10, Rate: 1, To: 1}}}),
		"1,002,000 requests a second for 0.2 s":                                                     StageWhen(loadgen.Stage{Phases: []loadgen.Phase{{Seconds: 0.2, Rate: 1.002e6, To: 1.002e6}}}),
		"0.33 to 1,234.57 requests a second for 3 s":                                                StageWhen(loadgen.Stage{Phases: []loadgen.Phase{{Seconds: 3, Rate: 1. / 3, To: 1234.5678}}}),
		"10 clients, one request at a time each, for 7,200 s":                                       StageWhen(loadgen.Stage{Clients: 10, Duration: 7200}),
		"10 clients, one request at a time each, until 20,000 requests are sent, for at most 120 s": StageWhen(loadgen.Stage{Clients: 10, Most: 20_000, Duration: 120}),
		"1,002 requests per second on average in 2 phases, for 3,600 s":                             StageWhen(loadgen.Stage{Phases: make([]loadgen.Phase, 2), Rate: 1002, Duration: 3600}),
		"requests at the times of the recording, 26.67 per second on average for 3.04 s":            StageWhen(loadgen.Stage{Recorded: true, Rate: 26.6667, Duration: 3.0375}),
		"12345679/s":                           quantity(loadgen.Objective{Unit: "1/s"}, 12345678.9),
		"0.00001 %":                            quantity(loadgen.Objective{Unit: "share"}, 1e-7),
		"60.0004 ms":                           quantity(loadgen.Objective{Unit: "ms"}, 60.00041),
		"1 request with 1 object, none failed": loadSent(one(loadgen.Stage{Requests: 1, Objects: 1, Judged: 1})),
		"1,000 requests with 2 objects, none failed":                                        loadSent(one(loadgen.Stage{Requests: 1000, Objects: 2, Judged: 1000})),
		"2 requests, 1.50 sent and 1.00 answered a second, 0 objects a second, none failed": stageCame(loadgen.Stage{Requests: 2, Judged: 2, SentPerSecond: 1.5, RequestsPerSecond: 1}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFailures says how many of the requests failed.
func TestFailures(t *testing.T) {
	r := &reports.Report{Load: one(loadgen.Stage{Name: "x", Requests: 1000, Objects: 1000, Judged: 1000, Failed: 11, Errors: map[string]uint64{"contract": 11}})}
	Conclude(r)
	if want := "Does not conform: 11 of 1,000 requests under load failed"; Headline(r) != want {
		t.Errorf("got %q, want %q", Headline(r), want)
	}
	if want := "1,000 requests with 1,000 objects, 11 failed (11 contract)"; loadSent(r.Load) != want {
		t.Errorf("got %q, want %q", loadSent(r.Load), want)
	}
	if got, want := parsedSuites(t, r)[0].Cases[0].Failure.Message, "11 of 1,000 requests failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Load.Objectives = []loadgen.Objective{{Name: "errors", Limit: 1, Met: true}}
	if want := "Conforms: 11 of 1,000 responses under load failed, which the objectives allow, and every objective is met"; praise(r.Load) != want {
		t.Errorf("got %q, want %q", praise(r.Load), want)
	}
}

// TestSearchOnABusyMachine blames the webhook only when its lowest rate missed the goal, and not when the cause is unknown.
func TestSearchOnABusyMachine(t *testing.T) {
	missed, void := loadgen.Probe{Rate: 20}, loadgen.Probe{Rate: 10, Void: true}
	for want, s := range map[reports.Outcome]*loadgen.Search{
		reports.NonConformant: {Missed: 20, Probes: []loadgen.Probe{{Rate: 40, Void: true}, missed}},
		reports.Unjudged:      {Missed: 10, Probes: []loadgen.Probe{missed, void}},
	} {
		r := &reports.Report{Load: &loadgen.Load{Search: s}}
		if Conclude(r); r.Outcome != want {
			t.Errorf("%s, want %s: %s", r.Outcome, want, Headline(r))
		}
	}
}

// TestSearchThatIsNotConfirmed expects every form of the report to say so.
func TestSearchThatIsNotConfirmed(t *testing.T) {
	l := &loadgen.Load{Search: &loadgen.Search{Goal: "p99 <= 50ms", Met: 10, Missed: 20, Probes: []loadgen.Probe{{Rate: 10, Met: true}, {Rate: 20, Void: true}}}}
	r := &reports.Report{Load: l}
	Conclude(r)
	const want = "; that is not confirmed"
	if text := strings.Join(strings.Fields(strings.Join(LoadLines(l, Columns), " ")), " "); r.Outcome != reports.Unjudged || !strings.HasSuffix(Headline(r), want) || !strings.Contains(text, want) {
		t.Errorf("%s: %s, and %s", r.Outcome, Headline(r), text)
	}
	for name, form := range map[string]func(io.Writer) error{"HTML": func(w io.Writer) error { return HTML(r, w) }, "JUnit": func(w io.Writer) error { return JUnit(r, w) }, "Markdown": func(w io.Writer) error { return Markdown(r, w) }} {
		if text := string(writtenBy(t, form)); !strings.Contains(text, want) {
			t.Errorf("%s does not say it: %s", name, text)
		}
	}
}

// TestFindingsOnTheTerminal says what counts first, and once what is tolerated in all responses.
func TestFindingsOnTheTerminal(t *testing.T) {
	t.Parallel()
	stage := loadgen.Stage{Requests: 10, Violations: map[requirement.ID]uint64{"webhook.response.content-type": 10}, Findings: []loadgen.Finding{
		{Request: 1, Requirement: "webhook.response.content-type", Tolerated: true, Text: "text/plain"},
		{Request: 2, Requirement: "webhook.response.uid", Text: "other"},
	}}
	want := []string{"load: request 2: webhook.response.uid: other", "load, repeat 2: request 2: webhook.response.uid: other", "20 of 20 responses: webhook.response.content-type: text/plain (tolerated)"}
	second := stage
	second.Repeat = 2
	if got := firstFindings(&loadgen.Load{Stages: []loadgen.Stage{stage, second}}, 3); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
