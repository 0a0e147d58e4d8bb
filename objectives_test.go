package crdconform

import (
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// TestObjectivesOfSamples has a share of the responses be judged. What is not judged is no better than what is.
func TestObjectivesOfSamples(t *testing.T) {
	for name, test := range map[string]struct {
		stage reports.Stage
		want  float64 // share of failed requests
	}{
		"all judged":        {reports.Stage{Requests: 1000, Judged: 1000, Failed: 90, Errors: map[string]uint64{"contract": 60, "transport": 30}}, 0.09},
		"one in ten":        {reports.Stage{Requests: 1000, Judged: 100, Failed: 9, Errors: map[string]uint64{"contract": 6, "failed": 3}}, 0.09},
		"all seen":          {reports.Stage{Requests: 1000, Judged: 140, Failed: 40, Errors: map[string]uint64{"transport": 20, "timeout": 10, "http": 10}}, 0.04},
		"seen and sampled":  {reports.Stage{Requests: 1000, Judged: 190, Failed: 109, Errors: map[string]uint64{"http": 100, "contract": 9}}, 0.19},
		"none of the whole": {reports.Stage{Requests: 1000, Judged: 10, Failed: 10, Errors: map[string]uint64{"timeout": 10}}, 1},
		"none at all":       {reports.Stage{Requests: 3}, 1},
		"no request":        {reports.Stage{}, 0},
	} {
		if got := failedShare(test.stage); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %g of the requests failed, want %g", name, got, test.want)
		}
	}
	one := 0.01
	for _, o := range judged(config.Objectives{Errors: &one}, reports.Stage{Requests: 1000, Judged: 100, Failed: 9, Errors: map[string]uint64{"contract": 9}}) {
		if o.Met || o.Measured != 0.09 {
			t.Errorf("got %+v", o)
		}
	}
}

// TestObjectsOfSamples has the rate of objects be estimated by what was judged.
func TestObjectsOfSamples(t *testing.T) {
	empty := hdrhistogram.New(1, 1000, 3)
	s := loadgen.Summary{
		Workload: loadgen.Workload{
			Phases: loadgen.Constant(100, 10*time.Second), Batch: 5, JudgeEvery: 10, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v1", To: "v2"}},
		},
		Elapsed: 10 * time.Second, Requests: 1000, Objects: 5000, Good: 980, Accepted: 4900, Judged: 100,
		Errors: map[loadgen.Kind]uint64{loadgen.Contract: 20}, Response: empty, Service: empty, Lag: empty,
	}
	l, err := stageOf(s)
	if err != nil {
		t.Fatal(err)
	}
	// A fifth of what was judged failed: of 500 objects a second 400 are good.
	if math.Abs(l.ObjectsPerSecond-400) > 1e-6 || l.RequestsPerSecond != 100 || l.Failed != 20 {
		t.Errorf("got %g objects/s, %g requests/s, %d failed", l.ObjectsPerSecond, l.RequestsPerSecond, l.Failed)
	}
}

// TestGoals has a search be for the percentile and the errors that the objectives name.
func TestGoals(t *testing.T) {
	share := 0.01
	for _, test := range []struct {
		objectives config.Objectives
		want       loadgen.Goal
	}{
		{config.Objectives{}, loadgen.Goal{}},
		{config.Objectives{P90: config.Duration{Duration: time.Second}}, loadgen.Goal{Percentile: 90, Limit: time.Second}},
		{config.Objectives{Errors: &share}, loadgen.Goal{Errors: 0.01}},
		{config.Objectives{P999: config.Duration{Duration: time.Second}, Errors: &share, Max: config.Duration{Duration: 1}}, loadgen.Goal{Percentile: 99.9, Limit: time.Second, Errors: 0.01}},
	} {
		if got := goalOf(test.objectives); got != test.want {
			t.Errorf("%+v: got %+v, want %+v", test.objectives, got, test.want)
		}
	}
}
