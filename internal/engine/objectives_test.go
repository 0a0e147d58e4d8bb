package engine

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/loadgen"
)

// TestObjectivesOfSamples has a share of the responses be judged. What is not judged is no better than what is.
func TestObjectivesOfSamples(t *testing.T) {
	for name, test := range map[string]struct {
		stage loadgen.Stage
		want  float64 // share of failed requests
	}{
		"all judged":        {loadgen.Stage{Requests: 1000, Judged: 1000, Failed: 90, Errors: map[string]uint64{"contract": 60, "transport": 30}}, 0.09},
		"one in ten":        {loadgen.Stage{Requests: 1000, Judged: 100, Failed: 9, Errors: map[string]uint64{"contract": 6, "failed": 3}}, 0.09},
		"all seen":          {loadgen.Stage{Requests: 1000, Judged: 140, Failed: 40, Errors: map[string]uint64{"transport": 20, "timeout": 10, "http": 10}}, 0.04},
		"seen and sampled":  {loadgen.Stage{Requests: 1000, Judged: 190, Failed: 109, Errors: map[string]uint64{"http": 100, "contract": 9}}, 0.19},
		"none of the whole": {loadgen.Stage{Requests: 1000, Judged: 10, Failed: 10, Errors: map[string]uint64{"timeout": 10}}, 1},
		"none at all":       {loadgen.Stage{Requests: 3}, 1},
		"no request":        {loadgen.Stage{}, 0},
	} {
		if got := load.FailedShareOf(test.stage); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %g of the requests failed, want %g", name, got, test.want)
		}
	}
	one := 0.01
	for _, o := range judged(config.Objectives{Errors: &one}, loadgen.Stage{Requests: 1000, Judged: 100, Failed: 9, Errors: map[string]uint64{"contract": 9}}) {
		if o.Met || o.Measured != 0.09 {
			t.Errorf("got %+v", o)
		}
	}
}

// TestObjectsOfSamples has the rate of objects be estimated by what was judged.
func TestObjectsOfSamples(t *testing.T) {
	empty := hdrhistogram.New(1, 1000, 3)
	s := load.Summary{
		Workload: load.Workload{
			Phases: load.Constant(100, 10*time.Second), Batch: 5, JudgeEvery: 10, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v1", To: "v2"}},
		},
		Elapsed: 10 * time.Second, Requests: 1000, Objects: 5000, Good: 980, Accepted: 4900, Judged: 100,
		Errors: map[load.Kind]uint64{load.Contract: 20}, Response: empty, Service: empty, Lag: empty,
	}
	l := s.Stage()
	// A fifth of what was judged failed: of 500 objects a second 400 are good.
	if math.Abs(l.ObjectsPerSecond-400) > 1e-6 || l.RequestsPerSecond != 100 || l.Failed != 20 {
		t.Errorf("got %g objects/s, %g requests/s, %d failed", l.ObjectsPerSecond, l.RequestsPerSecond, l.Failed)
	}
}

// TestObjectivesOfOverload has requests that were never sent miss an objective on errors, and be failures in the report.
func TestObjectivesOfOverload(t *testing.T) {
	empty := hdrhistogram.New(1, 1000, 3)
	s := load.Summary{
		Workload: load.Workload{Phases: load.Constant(1000, time.Minute), Batch: 1, ReviewVersion: "v1"}, Elapsed: 90 * time.Second, LastAnswer: 90 * time.Second,
		Requests: 60_000, Objects: 2700, Good: 2700, Accepted: 2700, Judged: 60_000,
		Errors: map[load.Kind]uint64{load.Overdue: 57_300}, Response: empty, Service: empty, Lag: empty,
	}
	l := s.Stage()
	const want = "57300 of 60000 requests were never sent, since those before them waited for the webhook (600 at once, at most), which answered 30 a second"
	if l.Failed != 57_300 || l.Partial || l.Behind != want || l.RequestsPerSecond != 30 || l.ObjectsPerSecond != 30 {
		t.Errorf("got %+v", l)
	}
	none := 0.0
	if all := judged(config.Objectives{Errors: &none}, l); len(all) != 1 || all[0].Met || all[0].Measured != 0.955 {
		t.Errorf("got %+v", all)
	}
	sampled := loadgen.Stage{Requests: 1000, Judged: 910, Failed: 900, Errors: map[string]uint64{"overdue": 900}}
	if got := load.FailedShareOf(sampled); math.Abs(got-0.9) > 1e-9 {
		t.Errorf("%g of the requests failed, want 0.9", got)
	}
	s.Workload, s.Errors = load.Workload{Clients: 10, Duration: time.Minute, Requests: 70_000, Whole: true, Batch: 1, ReviewVersion: "v1"}, nil
	s.Good = s.Requests
	if l = s.Stage(); !l.Partial || l.Behind == "" {
		t.Errorf("partial %t, %q", l.Partial, l.Behind)
	}
}

// TestPresetsThatLimitNothing has kep, which says nothing of large requests, not pass where it judges nothing.
func TestPresetsThatLimitNothing(t *testing.T) {
	kep := config.Objectives{Presets: []string{options.KEPPreset}}
	stage := func(batch, size int) load.Workload { return load.Workload{Name: "s", Batch: batch, Bytes: size} }
	for name, test := range map[string]struct {
		test  LoadTest
		fails bool
	}{
		"too many":         {LoadTest{Objectives: kep, Profile: load.Profile{Stages: []load.Workload{stage(20_000, 0)}}}, true},
		"too large":        {LoadTest{Objectives: kep, Profile: load.Profile{Stages: []load.Workload{stage(500, 100_000)}}}, true},
		"one of them not":  {LoadTest{Objectives: kep, Profile: load.Profile{Stages: []load.Workload{stage(20_000, 0), stage(1, 100_000)}}}, false},
		"a search":         {LoadTest{Objectives: kep, Profile: load.Profile{Search: &load.Search{Workload: stage(20_000, 0)}}}, true},
		"no such preset":   {LoadTest{Profile: load.Profile{Stages: []load.Workload{stage(20_000, 0)}}}, false},
		"size is not said": {LoadTest{Objectives: kep, Profile: load.Profile{Stages: []load.Workload{stage(500, 0)}}}, false},
	} {
		if err := test.test.limited(config.Config{}); (err != nil) != test.fails || err != nil && !strings.HasPrefix(err.Error(), "objectives.presets: kep does not cover") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	small := loadgen.Stage{Name: "small", Batch: 500, Objects: 1000, BytesSent: 1_000_000}
	large := loadgen.Stage{Name: "large", Batch: 500, Objects: 1000, BytesSent: 100_000_000}
	for name, test := range map[string]struct {
		o      config.Objectives
		stages []loadgen.Stage
		notes  int
		fails  bool
	}{
		"all":         {kep, []loadgen.Stage{small}, 0, false},
		"some":        {kep, []loadgen.Stage{small, large, large}, 1, false},
		"none":        {kep, []loadgen.Stage{large, large}, 1, true},
		"not asked":   {config.Objectives{}, []loadgen.Stage{large}, 0, false},
		"no stage":    {kep, nil, 0, false},
		"none at all": {kep, []loadgen.Stage{{Batch: 20_000}}, 1, true},
	} {
		notes, err := unlimited(test.o, &loadgen.Load{Stages: test.stages})
		if len(notes) != test.notes || (err != nil) != test.fails {
			t.Errorf("%s: got %q, %v", name, notes, err)
		}
	}
}

// TestGoals has a search be for the percentile and the errors that the objectives name.
func TestGoals(t *testing.T) {
	share := 0.01
	for _, test := range []struct {
		objectives config.Objectives
		want       load.Goal
	}{
		{config.Objectives{}, load.Goal{}},
		{config.Objectives{P90: config.Duration{Duration: time.Second}}, load.Goal{Percentile: 90, Limit: time.Second}},
		{config.Objectives{Errors: &share}, load.Goal{Errors: 0.01}},
		{config.Objectives{P999: config.Duration{Duration: time.Second}, Errors: &share, Max: config.Duration{Duration: 1}}, load.Goal{Percentile: 99.9, Limit: time.Second, Errors: 0.01}},
	} {
		if got := goalOf(test.objectives); got != test.want {
			t.Errorf("%+v: got %+v, want %+v", test.objectives, got, test.want)
		}
	}
}
