package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// measured is a report of a load test of which each repeat had response times of so many milliseconds.
func measured(t *testing.T, rate float64, milliseconds ...int64) string {
	t.Helper()
	times := func(ms int64) loadgen.Times {
		h := hdrhistogram.New(1, 1e9, 3)
		for i := range int64(100) {
			check(t, h.RecordValue(ms*1000+i))
		}
		return histogram.Times(h)
	}
	l := &loadgen.Load{Profile: "constant", ControlWork: engine.ControlRounds}
	for i, ms := range milliseconds {
		s := loadgen.Stage{
			Name: "", Repeat: i + 1, Rate: rate, Duration: 1, Phases: []loadgen.Phase{{Seconds: 1, Rate: rate, To: rate}}, Batch: 1, ReviewVersion: "v1", HTTP: "HTTP/1.1",
			Requests: 100, Judged: 100, Response: times(ms), Service: times(ms), Lag: times(1), RequestsPerSecond: rate, ObjectsPerSecond: rate,
		}
		l.Stages = append(l.Stages, s)
		s.Response = times(5 + int64(i%2))
		l.Control = append(l.Control, s)
	}
	return concluded(t, &reports.Report{Load: l})
}

// concluded is a report.json.
func concluded(t *testing.T, report *reports.Report) string {
	t.Helper()
	reporter.Conclude(report)
	data, err := json.Marshal(report)
	check(t, err)
	return file(t, "report.json", string(data))
}

// TestCompare has a regression fail, and nothing else.
func TestCompare(t *testing.T) {
	t.Parallel()
	base := measured(t, 100, 10, 11, 12, 10, 11, 12)
	unfit := func(how func(*loadgen.Stage)) string {
		report, err := reports.ReadFile(base)
		check(t, err)
		how(&report.Load.Stages[0])
		return concluded(t, report)
	}
	for name, test := range map[string]struct {
		now  string
		args []string
		code int
		want string
	}{
		"the same":      {base, []string{"--max-regress", "p99=10%", "--max-regress", "objects/s=5%"}, exitConforms, "no difference proved, limit 10%"},
		"its folder":    {filepath.Dir(base), []string{"--max-regress", "p99=10%"}, exitConforms, "100.0/s"},
		"slower":        {measured(t, 100, 30, 31, 32, 30, 31, 32), []string{"--max-regress", "p99=10%"}, exitViolates, "regressed, limit 10%"},
		"no limit":      {measured(t, 100, 30, 31, 32, 30, 31, 32), nil, exitConforms, "slower"},
		"too few":       {measured(t, 100, 30), []string{"--max-regress", "p99=10%"}, exitUnjudged, "too few repeats"},
		"another load":  {measured(t, 50, 10, 11, 12, 10, 11, 12), nil, exitUnjudged, "(rates: 100 requests a second for 1 s and 50 requests a second for 1 s); measure the baseline again"},
		"as JSON":       {base, []string{"--output", "json"}, exitConforms, `"verdict": "NoDifference"`},
		"no such form":  {base, []string{"--output", "yaml"}, exitUsage, "unknown format (want text or json)"},
		"no such limit": {base, []string{"--max-regress", "p98=10%"}, exitUsage, `unknown statistic "p98"`},
		"not measured":  {base, []string{"--max-regress", "p75=10%"}, exitUsage, `unknown statistic "p75"`},
		"void":          {unfit(func(s *loadgen.Stage) { s.VoidReason = "the generator was too busy" }), nil, exitUnjudged, "report.json: its load test is void: constant: the generator was too busy; measure it again\n"},
		"stopped":       {unfit(func(s *loadgen.Stage) { s.Partial = true }), nil, exitUnjudged, "report.json: its load test was stopped before its end; measure it again\n"},
		"no report":     {file(t, "a.json", "{}"), nil, exitUsage, "it has no load test"},
		"no JSON":       {file(t, "b.json", "hello"), nil, exitUsage, "line 1 is not JSON: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ran(t, append([]string{"compare", base, test.now}, test.args...)...)
			r.exits(t, test.code)
			if !strings.Contains(r.out+r.err, test.want) {
				t.Errorf("it says\n%s%s, want %q", r.out, r.err, test.want)
			}
		})
	}
}

// TestLoadByWorkers has two processes of the program share a load.
func TestLoadByWorkers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: loads by several processes")
	}
	url, ca := serve(t, webhook.Handler(), nil)
	r := loadedBy(t, invoke, func() []string {
		return []string{url, "--ca-file", ca, "--duration", "1s", "--rate", "50", "--workers", "2", "--judge-content"}
	})
	r.exits(t, exitConforms)
	if s := r.report(t).Load.Stages[0]; !s.JudgeContent || s.Requests != 50 || s.Objects != 500 || s.Failed != 0 || s.Partial {
		t.Errorf("got %+v", s)
	}
}
