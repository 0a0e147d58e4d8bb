package engine

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// TestOtherLoad has loads that differ in one thing be refused, and the same, read from a file, be compared.
func TestOtherLoad(t *testing.T) {
	base := loadgen.Stage{
		Phases: []loadgen.Phase{{Seconds: 1.5, Rate: 100. / 3, To: 200}, {Seconds: 1.5, Rate: 200, To: 100. / 3}}, Rate: 350. / 3, Duration: 3, Batch: 2, Bytes: 1024,
		ReviewVersion: "v1", Pairs: []loadgen.Pair{{From: "v1", To: "v2"}}, HTTP: "HTTP/1.1", Requests: 350,
		Response: loadgen.Times{Min: 1, Mean: 1, P50: 1, P90: 1, P95: 1, P99: 1, P999: 1, P9999: 1, Max: 1}, RequestsPerSecond: 1, ObjectsPerSecond: 1,
	}
	loadOf := func(s loadgen.Stage) *loadgen.Load { return &loadgen.Load{Stages: []loadgen.Stage{s}} }
	data, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	var again loadgen.Stage
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	again.Requests, again.Response.P99, again.VoidReason = 349, 2, ""
	if _, err := Compared(loadOf(base), loadOf(again), nil); err != nil {
		t.Errorf("the same load: %v", err)
	}
	for want, change := range map[string]func(*loadgen.Stage){
		// The mean, the number and the length of the phases are the same.
		"rates: 33.33 to 200 requests a second for 1.5 s, 200 to 33.33 requests a second for 1.5 s and 200 to": func(s *loadgen.Stage) {
			s.Phases = slices.Clone(s.Phases)
			slices.Reverse(s.Phases)
		},
		"maximum number of client requests: 0 and 20000":               func(s *loadgen.Stage) { s.Most = 20_000 },
		"requests in flight: 0 and 10":                                 func(s *loadgen.Stage) { s.InFlight = 10 },
		"comparison of the content: false and true":                    func(s *loadgen.Stage) { s.JudgeContent = true },
		"workers: 0 and 4":                                             func(s *loadgen.Stage) { s.Workers = 4 },
		"clients: 0 and 10":                                            func(s *loadgen.Stage) { s.Clients = 10 },
		"seconds: 3 and 3.001":                                         func(s *loadgen.Stage) { s.Duration = 3.001 },
		"objects in a request: 2 and 3":                                func(s *loadgen.Stage) { s.Batch = 3 },
		"bytes of an object: 1024 and 0":                               func(s *loadgen.Stage) { s.Bytes = 0 },
		"version of ConversionReview: v1 and v1beta1":                  func(s *loadgen.Stage) { s.ReviewVersion = "v1beta1" },
		"protocol: HTTP/1.1 and HTTP/2":                                func(s *loadgen.Stage) { s.HTTP = "HTTP/2" },
		"versions: v1 to v2 and v2 to v1); measure the baseline again": func(s *loadgen.Stage) { s.Pairs = []loadgen.Pair{{From: "v2", To: "v1"}} },
	} {
		other := base
		change(&other)
		if _, err := Compared(loadOf(base), loadOf(other), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}

// TestOtherStages has loads without a common stage be refused by what differs first, and those that share one be compared.
func TestOtherStages(t *testing.T) {
	ten, fifty := loadgen.Stage{Name: "10 objects", Batch: 10}, loadgen.Stage{Name: "50 objects", Batch: 50}
	loadOf := func(stages ...loadgen.Stage) *loadgen.Load { return &loadgen.Load{Stages: stages} }
	named := ten
	named.Name = "night"
	for want, other := range map[string]loadgen.Stage{
		"objects in a request: 10 and 50":  fifty,
		`stages: "10 objects" and "night"`: named,
	} {
		if _, err := Compared(loadOf(ten), loadOf(other), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
	c, err := Compared(loadOf(ten, fifty), loadOf(ten), nil)
	if err != nil {
		t.Fatal(err)
	}
	missing := slices.ContainsFunc(c.Rows, func(r loadgen.Row) bool { return r.Stage == "50 objects" && r.Verdict == compare.Missing })
	if !missing {
		t.Error("the stage of the baseline that the run lacks is not reported")
	}
}

// TestHugeReports names a file for a report that is larger than any.
func TestHugeReports(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, files.Reports+1); err != nil {
		t.Fatal(err)
	}
	_, err1 := ReadBaseline(file)
	_, err2 := reports.ReadFile(file)
	for _, err := range []error{err1, err2} {
		if want := file + ": it is larger than 256 MiB"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestBaselineThatDoesNotFit has a load be refused before it is sent when it could not be compared afterwards.
func TestBaselineThatDoesNotFit(t *testing.T) {
	w := load.Workload{Name: "ten", Batch: 10, ReviewVersion: "v1", Phases: load.Constant(100, time.Second)}
	then := w.Stage()
	then.HTTP, then.Workers = "HTTP/2", 3
	other := w
	other.Phases = load.Constant(200, time.Second)
	limits := []compare.Limit{{}}
	for want, test := range map[string]struct {
		now    []load.Workload
		repeat int
		limits []compare.Limit
	}{
		"":                           {[]load.Workload{w}, 5, limits},
		"no limits":                  {[]load.Workload{w}, 1, nil},
		"not known yet":              {nil, 5, limits},
		"5 or more with load.repeat": {[]load.Workload{w}, 4, limits},
		"rates: 100 requests a second for 1 s and 200 requests a second for 1 s": {[]load.Workload{other}, 5, limits},
	} {
		err := (&Baseline{File: "report.json", Load: &loadgen.Load{Stages: []loadgen.Stage{then}}, Limits: test.limits}).fits(config.Config{}, test.now, test.repeat)
		if fails := strings.ContainsAny(want, "0123456789"); fails != (err != nil) || fails && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", want, err)
		}
	}
}

// TestBaselineOfASearch is refused before anything is sent, with limits and without.
func TestBaselineOfASearch(t *testing.T) {
	for _, limits := range [][]compare.Limit{nil, {{}}} {
		p := &Plan{kinds: []corpus.Corpus{corpus.CronTabs("v1beta1", "v1")}, want: Description{
			Config:   config.Config{Load: config.Load{Profile: profiles.Search}},
			Baseline: &Baseline{File: "report.json", Load: &loadgen.Load{Stages: []loadgen.Stage{{}}}, Limits: limits},
		}}
		if err := p.prepareLoads(); err == nil || !strings.HasPrefix(err.Error(), "load.baseline: report.json: a search determines for itself what to send") {
			t.Errorf("with %d limits: got %v", len(limits), err)
		}
	}
}

// TestOtherControls refuses a baseline whose control did other work.
func TestOtherControls(t *testing.T) {
	stage := loadgen.Stage{
		HTTP: "HTTP/1.1", Batch: 1, RequestsPerSecond: 1, ObjectsPerSecond: 1,
		Response: loadgen.Times{Min: 1, Mean: 1, P50: 1, P90: 1, P95: 1, P99: 1, P999: 1, P9999: 1, Max: 1},
	}
	measured := func(work int) *loadgen.Load {
		return &loadgen.Load{Stages: []loadgen.Stage{stage}, Control: []loadgen.Stage{stage}, ControlWork: work}
	}
	const want = "its control did different work"
	if _, err := Compared(measured(0), measured(ControlRounds), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if _, err := Compared(measured(ControlRounds), measured(ControlRounds), nil); err != nil {
		t.Errorf("the same control: %v", err)
	}
	b := &Baseline{File: "report.json", Load: measured(0)}
	if err := b.fits(config.Default(), []load.Workload{{Batch: 1}}, 10); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("before anything is sent: got %v", err)
	}
}

// TestStatisticsThatHaveLimits has each of them be measured.
func TestStatisticsThatHaveLimits(t *testing.T) {
	var measured []string
	for _, s := range seriesOf(&loadgen.Load{Stages: []loadgen.Stage{{}}}) {
		measured = append(measured, s.Statistic)
	}
	if want := compare.Statistics(); !slices.Equal(measured, want) {
		t.Errorf("measured are %v, and limits can be set for %v", measured, want)
	}
}

// TestBaselineOfARedactedRecording leaves it for later whether what is sent is the same: that is not known before the webhook was
// asked for what was redacted.
func TestBaselineOfARedactedRecording(t *testing.T) {
	for _, redact := range []string{"", "spec.mode"} {
		path := filepath.Join(t.TempDir(), "out.jsonl")
		var paths []string
		if redact != "" {
			paths = []string{redact}
		}
		redaction, err := recording.ParseRedaction(paths)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		recorder, err := recording.NewRecorder(&file, recording.Options{Redaction: redaction})
		if err != nil {
			t.Fatal(err)
		}
		request := contract.Request{
			ReviewVersion: "v1", UID: "1", DesiredAPIVersion: "example.com/v1",
			Objects: []json.RawMessage{[]byte(`{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"one"},"spec":{"mode":"fast"}}`)},
		}
		body, err := request.Body()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			recorder.Record(recording.Exchange{Offset: time.Duration(i) * time.Second, Body: body})
		}
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		fewer := load.Workload{Due: []time.Duration{0, time.Second}, Batch: 1, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v2", To: "v1"}}}
		p := &Plan{kinds: []corpus.Corpus{{}}, want: Description{
			Config:   config.Config{Load: config.Load{Profile: profiles.Replay, Recording: path}},
			Baseline: &Baseline{File: "report.json", Load: &loadgen.Load{Stages: []loadgen.Stage{fewer.Stage()}}},
		}}
		if err := p.prepareLoads(); (err != nil) != (redact == "") {
			t.Errorf("redacted at %q: %v", redact, err)
		}
	}
}

// TestEvenly has what came at certain times be sent evenly, and each once at most, however short it was.
func TestEvenly(t *testing.T) {
	burst := load.Workload{Due: []time.Duration{0, time.Microsecond, 2 * time.Microsecond, 3 * time.Microsecond}}
	for _, test := range []struct {
		w      load.Workload
		length time.Duration
		want   float64
	}{
		{load.Workload{Phases: load.Constant(50, time.Second)}, 4 * time.Second, 50},
		{load.Workload{Phases: load.Constant(0.1, time.Minute)}, 2 * time.Second, 0.5},
		{load.Workload{Due: []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}}, 2 * time.Second, 1},
		{burst, 2 * time.Second, 2},
		{burst, time.Millisecond, 4000},
	} {
		w := evenly(test.w, test.length)
		if len(w.Due) > 0 || len(w.Phases) != 1 || w.Length() != test.length || w.Phases[0].Rate != test.want {
			t.Errorf("%+v for %s: got %+v, want %g a second", test.w, test.length, w, test.want)
		}
	}
}
