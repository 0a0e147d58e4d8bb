package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// grid is a report of a load test with batches of several sizes, each sent three times, in which everything goes wrong that
// can: a webhook that fails, one that is too slow, and a generator that was too busy.
func grid(t *testing.T) *Report {
	t.Helper()
	l := &Load{
		Profile: "batch",
		Cost:    &Cost{Request: 0.21, Object: 0.0084, Fit: 0.998, Batches: []int{1, 10, 100, 500, 1500}},
		Search: &Search{
			Goal: "p99 <= 50ms, no errors", Met: 410, Missed: 430,
			Probes: []Probe{
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
		failing.Findings = append(failing.Findings, LoadFinding{
			Request: 20 + i/2, Requirement: "conversion.answer.order", Text: fmt.Sprintf("object %d: expected \"a\", got \"b\"", i),
			Files: []File{{Path: fmt.Sprintf("load/9-%d-request.json", 20+i/2), Data: []byte("{}")}},
		})
	}
	busy.VoidReason, busy.Late = "the generator was too busy: 31 of 60 requests were sent late", 31
	for _, s := range l.Stages {
		o := Objective{Stage: s.Name, Repeat: s.Repeat, Name: "p99", Limit: 20, Measured: s.Response.P99, Unit: "ms", Met: s.Response.P99 <= 20}
		l.Objectives = append(l.Objectives, o)
		if s.Batch == 1 {
			o.Limit, o.Source, o.Met = 50, `KEP "CRDs to GA"`, true
			l.Objectives = append(l.Objectives, o)
		}
	}
	l.Objectives = append(l.Objectives, Objective{
		Stage: "batch 1500", Repeat: 1, Name: "objects/s", Limit: 25000, Measured: l.Stages[4].ObjectsPerSecond, Unit: "1/s", AtLeast: true, Met: true,
	})
	r := &Report{Tool: "v0.1.0", Command: "crdconform load --profile batch", Started: time.Date(2026, 11, 21, 9, 31, 5, 0, time.UTC), Seconds: 51.5, Load: l}
	r.Conclude()
	return r
}

// gridStage is a stage of the grid, a little slower in each repeat.
func gridStage(t *testing.T, batch, repeat int) Stage {
	t.Helper()
	fastest := int64((210 + 8.4*float64(batch)) * (1 + float64(repeat)/50))
	return Stage{
		Name: fmt.Sprintf("batch %d", batch), Repeat: repeat, Rate: 20, Duration: 3, Phases: []Phase{{3, 20, 20}},
		Batch: batch, Bytes: 1024, ReviewVersion: "v1", Pairs: []Pair{{"v1beta1", "v1"}}, HTTP: "HTTP/1.1",
		Seconds: 3.004, Requests: 60, Objects: uint64(60 * batch), Judged: 60, RequestsPerSecond: 19.97 - float64(repeat)/100, ObjectsPerSecond: 19.97 * float64(batch),
		Response: newTimes(t, histogram(fastest+20)), Service: newTimes(t, histogram(fastest)), Lag: newTimes(t, histogram(20)),
		LateAfter: 10, Series: series(3, 20, batch, float64(fastest)/1000),
		Generator: Generator{ProcessorSeconds: 0.5, Cores: 2, Collections: 3, Paused: 0.05, Waited: 0.1},
	}
}

// failingStage is a report of one stage of the grid, that which failed.
func failingStage(t *testing.T) *Report {
	t.Helper()
	r := grid(t)
	r.Load.Stages, r.Load.Objectives = r.Load.Stages[8:9], nil
	r.Load.Stages[0].Findings = r.Load.Stages[0].Findings[:mostFindings]
	r.Conclude()
	return r
}

// wide is a load test of as many stages as there are combinations of a batch and a size.
func wide(t *testing.T) *Report {
	t.Helper()
	l := &Load{Profile: "batch"}
	for _, bytes := range []int{256, 1024, 4096, 16384} {
		for i, batch := range []int{1, 10, 100, 500, 1500} {
			s := gridStage(t, batch, 1)
			s.Name, s.Bytes, s.Series = fmt.Sprintf("batch %d, %d bytes", batch, bytes), bytes, series(600, 20, batch, float64(i+1))
			for j := range uint64(100) {
				s.Findings = append(s.Findings, LoadFinding{Request: j, Requirement: "conversion.answer.uid", Text: strings.Repeat("long ", 1000)})
			}
			s.Failed, s.Errors = 100, map[string]uint64{"contract": 100}
			l.Stages = append(l.Stages, s)
			l.Objectives = append(l.Objectives, Objective{Stage: s.Name, Repeat: 1, Name: "p99", Limit: 1, Measured: s.Response.P99, Unit: "ms"})
		}
	}
	r := &Report{Load: l}
	r.Conclude()
	return r
}
