package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/loadgen"
)

// TestObjectiveOfErrors takes the share of the requests that failed, of all of them.
func TestObjectiveOfErrors(t *testing.T) {
	one := 0.01
	of := loadgen.Stage{Requests: 1000, Judged: 1000, Failed: 90, Errors: map[string]uint64{"contract": 60, "transport": 30}}
	if all := judged(config.Objectives{Errors: &one}, of); len(all) != 1 || all[0].Met || all[0].Measured != 0.09 {
		t.Errorf("got %+v", all)
	}
}

// TestObjectivesOfOverload has requests that were never sent miss an objective on errors, and be failures in the report.
func TestObjectivesOfOverload(t *testing.T) {
	empty := hdrhistogram.New(1, 1000, 3)
	s := load.Summary{
		Workload: load.Workload{Phases: load.Constant(1000, time.Minute), Batch: 1, ReviewVersion: "v1"}, Elapsed: 90 * time.Second, LastAnswer: 90 * time.Second,
		Requests: 60_000, Objects: 2700, Good: 2700, Accepted: 2700,
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
