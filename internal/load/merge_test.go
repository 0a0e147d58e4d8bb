package load

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// canceled returns a context that has ended.
func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// event is something that a tally counts.
type event struct {
	second int // in which it happens
	count  func(all *tally, request uint64)
}

// TestMergedIsTheSame measures the same once with one tally, and once with several among which it is divided by chance.
func TestMergedIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		began := time.Now()
		seconds := rapid.IntRange(1, 4).Draw(t, "seconds")
		events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event { return drawn(t, seconds, began) }), 0, 400).Draw(t, "events")
		of := rapid.IntRange(1, 5).Draw(t, "of")
		w := workload()
		w.Phases = Constant(200, time.Duration(seconds)*time.Second)
		one, parts := newTally(), make([]*tally, of)
		for index := range parts {
			parts[index] = newTally()
			parts[index].encodes = true
		}
		request := uint64(0) // in order, so that the first findings to be met are those of the first requests
		for second := range seconds {
			for _, e := range events {
				if e.second == second {
					e.count(one, request)
					e.count(parts[rapid.IntRange(0, of-1).Draw(t, "by")], request)
					request++
				}
			}
			// What comes after the last tick is in a second that summary ends.
			if second == seconds-1 {
				break
			}
			one.tick(time.Duration(second+1) * time.Second)
			for _, tally := range parts {
				tally.tick(time.Duration(second+1) * time.Second)
			}
		}
		var summaries []Summary
		for index, tally := range parts {
			summaries = append(summaries, tally.summary(Split(w, index, of), began))
		}
		merged, err := Merge(summaries...)
		if err != nil {
			t.Fatal(err)
		}
		if merged.Workers != of {
			t.Fatalf("it has %d workers, want %d", merged.Workers, of)
		}
		merged.Workers = 0
		if difference := differ(merged, one.summary(w, began)); difference != "" {
			t.Fatal(difference)
		}
	})
}

// drawn is something that may happen in one of so many seconds.
func drawn(t *rapid.T, seconds int, began time.Time) event {
	second := rapid.IntRange(0, seconds-1).Draw(t, "second")
	latency := func(name string) time.Duration {
		// From nothing to two hours, which is beyond the histogram.
		return time.Duration(rapid.Int64Range(0, 1<<rapid.IntRange(0, 43).Draw(t, name+" at most")).Draw(t, name))
	}
	m := measurement{
		objects: rapid.IntRange(1, 9).Draw(t, "objects"), in: rapid.Uint64Range(0, 1000).Draw(t, "in"), out: rapid.Uint64Range(0, 1000).Draw(t, "out"),
		lag: latency("lag"), service: latency("service"), response: latency("response"),
		done: began.Add(time.Duration(second)*time.Second + time.Duration(rapid.IntRange(1, 999).Draw(t, "done"))*time.Millisecond),
	}
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		return event{second, func(all *tally, _ uint64) { all.unanswered(m) }}
	case 1:
		return event{second, func(all *tally, _ uint64) { all.waiting(m.response, m.done) }}
	case 2:
		lacking := rapid.SampledFrom([]string{"too many open files", "no buffer space available"}).Draw(t, "lacking")
		return event{second, func(all *tally, _ uint64) { all.unsent(lacking) }}
	case 3:
		return event{second, func(all *tally, _ uint64) { all.add(m, exchange{response: contract.Response{Protocol: "HTTP/1.1"}}) }}
	}
	var violations []contract.Violation
	for range rapid.IntRange(0, 2).Draw(t, "violations") {
		violations = append(violations, contract.Violation{
			Requirement: rapid.SampledFrom([]requirement.ID{requirement.WebhookResponseUID, requirement.WebhookResponseHTTPStatus, requirement.WebhookFailureAvoided}).Draw(t, "requirement"),
			Severity:    rapid.SampledFrom([]contract.Severity{contract.Rejected, contract.Tolerated}).Draw(t, "severity"),
		})
	}
	return event{second, func(all *tally, request uint64) {
		of := m
		of.n = request
		all.add(of, exchange{
			body: body{before: []byte("before"), after: []byte("after")}, uid: uid(request), judgement: contract.Judgement{Violations: violations},
			response: contract.Response{Protocol: "HTTP/1.1", Body: strconv.AppendUint(nil, request, 10)},
		})
	}}
}

// differ says what two summaries differ in, if they do.
func differ(a, b Summary) string {
	for name, pair := range map[string][2]*hdrhistogram.Histogram{
		"response": {a.Response, b.Response}, "service": {a.Service, b.Service}, "lag": {a.Lag, b.Lag},
	} {
		for permyriad := range 10_001 {
			percentile := float64(permyriad) / 100
			if x, y := pair[0].ValueAtPercentile(percentile), pair[1].ValueAtPercentile(percentile); x != y {
				return fmt.Sprintf("%s: p%g is %d and %d", name, percentile, x, y)
			}
		}
		if x, y := pair[0], pair[1]; !x.Equals(y) || x.TotalCount() != y.TotalCount() || x.Max() != y.Max() || x.Min() != y.Min() || x.Mean() != y.Mean() {
			return name + " differs"
		}
	}
	for _, s := range []*Summary{&a, &b} {
		s.Response, s.Service, s.Lag = nil, nil, nil
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Sprintf("%+v\nand\n%+v", a, b)
	}
	return ""
}

// part is what one of two generators measured, of nothing.
func part(index int, change func(*Summary)) Summary {
	s := newTally().summary(Split(workload(), index, 2), time.Unix(1000, 0))
	if change != nil {
		change(&s)
	}
	return s
}

func TestMergeFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		summaries []Summary
		want      string
	}{
		"not shared":          {[]Summary{part(0, nil), newTally().summary(workload(), time.Now())}, "a run that was not shared"},
		"twice":               {[]Summary{part(1, nil), part(1, nil)}, "what worker 2 of 2 measured is included twice"},
		"another number":      {[]Summary{part(0, nil), part(1, func(s *Summary) { s.Workload.Part.Of = 3 })}, "what worker 2 of 3 measured is not from the same workload as what worker 1 of 2 measured"},
		"another workload":    {[]Summary{part(0, nil), part(1, func(s *Summary) { s.Workload.Phases = Constant(1, time.Second) })}, "not from the same workload"},
		"another time":        {[]Summary{part(0, nil), part(1, func(s *Summary) { s.Workload.Part.Start = time.Now() })}, "not from the same workload"},
		"no histogram":        {[]Summary{part(0, nil), part(1, func(s *Summary) { s.Lag = nil })}, "a histogram is missing"},
		"a larger histogram":  {[]Summary{part(0, nil), part(1, func(s *Summary) { s.Service = beyond() })}, "a histogram has 1 times that are out of the range"},
		"a second without":    {[]Summary{part(0, func(s *Summary) { s.Seconds = []Second{{Second: loadgen.Second{End: 1}}} })}, "the histogram of the second that ends after 1s: "},
		"a second of garbage": {[]Summary{part(0, func(s *Summary) { s.Seconds = []Second{{Second: loadgen.Second{End: 1}, Response: "HISTFAAA"}} })}, "the histogram of the second that ends after 1s: "},
		"a larger second":     {[]Summary{part(0, func(s *Summary) { s.Seconds = []Second{{Response: histogram.Encode(beyond())}} })}, "out of the range"},
	} {
		if merged, err := Merge(test.summaries...); err == nil || !strings.Contains(err.Error(), test.want) || merged.Response != nil {
			t.Errorf("%s: got %+v, %v, want something with %q", name, merged, err, test.want)
		}
	}
}

// beyond is a histogram with a time that others have no room for.
func beyond() *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, (24 * time.Hour).Microseconds(), 3)
	if err := h.RecordValue((12 * time.Hour).Microseconds()); err != nil {
		panic(err)
	}
	return h
}

func TestMergeOfNone(t *testing.T) {
	t.Parallel()
	s, err := Merge()
	if err != nil || s.Response.TotalCount() != 0 || s.Service == nil || s.Lag == nil || s.VoidReason() != "" || s.Unsent == nil || s.Errors == nil || s.Violations == nil {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestMergeWithoutAll merges what is left of four parts.
func TestMergeWithoutAll(t *testing.T) {
	t.Parallel()
	w := workload()
	w.Phases = Constant(5, time.Second)
	merged, err := Merge(newTally().summary(Split(w, 3, 4), time.Now()), newTally().summary(Split(w, 1, 4), time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	want := []Lost{{Part: Part{Index: 0, Of: 4}, Share: 0.4}, {Part: Part{Index: 2, Of: 4}, Share: 0.2}}
	if !merged.Partial || !reflect.DeepEqual(merged.Lost, want) || !reflect.DeepEqual(merged.Workload, w) {
		t.Errorf("got %+v", merged)
	}
	if whole, err := Merge(part(0, nil), part(1, nil)); err != nil || whole.Partial || whole.Lost != nil {
		t.Errorf("of both parts: got %+v, %v", whole, err)
	}
	if stopped, err := Merge(part(0, nil), part(1, func(s *Summary) { s.Partial = true })); err != nil || !stopped.Partial || stopped.Lost != nil {
		t.Errorf("of a part that was stopped: got %+v, %v", stopped, err)
	}
}

func TestMergedGenerators(t *testing.T) {
	t.Parallel()
	merged, err := Merge(
		part(0, func(s *Summary) {
			s.Generator = loadgen.Generator{ProcessorSeconds: 3, Cores: 2, Collections: 7, Paused: 1, Waited: 0.001}
			s.Elapsed = time.Minute
		}),
		part(1, func(s *Summary) {
			s.Generator = loadgen.Generator{ProcessorSeconds: 2, Cores: 4, Collections: 5, Paused: 0.001, Waited: 1}
			s.Began = s.Began.Add(-time.Second)
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	if want := (loadgen.Generator{ProcessorSeconds: 5, Cores: 4, Collections: 7, Paused: 1, Waited: 1}); merged.Generator != want {
		t.Errorf("got %+v, want %+v", merged.Generator, want)
	}
	if merged.Elapsed != time.Minute || !merged.Began.Equal(time.Unix(999, 0)) {
		t.Errorf("it began at %s and took %s", merged.Began, merged.Elapsed)
	}
}

// TestMergedSeconds has generators tick early and late.
func TestMergedSeconds(t *testing.T) {
	t.Parallel()
	second := func(end float64, us ...int64) Second {
		h := newTimes().response
		for _, value := range us {
			if err := h.RecordValue(value); err != nil {
				t.Fatal(err)
			}
		}
		return Second{Second: loadgen.Second{End: end, Requests: uint64(len(us)), Objects: 10 * uint64(len(us)), Failed: 1}, Response: histogram.Encode(h)}
	}
	merged, err := Merge(
		part(0, func(s *Summary) {
			s.Seconds = []Second{second(1.01, 100, 200, 300), second(2.4), second(3, 500), second(4, 1000), second(4.001, 7)}
		}),
		part(1, func(s *Summary) {
			s.Seconds = []Second{second(1, 400), second(1.99, 10), second(3.2, 20), second(4, 30, 40, 50, 60, 70, 80, 90, 100, 2000)}
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	us := func(n int64) float64 { return histogram.Milliseconds(n) }
	want := []Second{
		{Second: loadgen.Second{End: 1.01, Requests: 4, Objects: 40, Failed: 2, P50: us(200), P90: us(400), P99: us(400), Max: us(400)}},
		{Second: loadgen.Second{End: 2.4, Requests: 1, Objects: 10, Failed: 2, P50: us(10), P90: us(10), P99: us(10), Max: us(10)}},
		{Second: loadgen.Second{End: 3.2, Requests: 2, Objects: 20, Failed: 2, P50: us(20), P90: us(500), P99: us(500), Max: us(500)}},
		{Second: loadgen.Second{End: 4, Requests: 10, Objects: 100, Failed: 2, P50: us(70), P90: us(1000), P99: us(2000), Max: us(2000)}},
		{Second: loadgen.Second{End: 4.001, Requests: 1, Objects: 10, Failed: 1, P50: us(7), P90: us(7), P99: us(7), Max: us(7)}},
	}
	if !reflect.DeepEqual(merged.Seconds, want) {
		t.Errorf("got  %+v\nwant %+v", merged.Seconds, want)
	}
}

// TestMergedFindings keeps the first of all, with as much evidence as a single run keeps.
func TestMergedFindings(t *testing.T) {
	t.Parallel()
	large := make([]byte, evidence/4)
	found := func(first uint64) func(*Summary) {
		return func(s *Summary) {
			for n := range uint64(findings) {
				s.Findings = append(s.Findings, loadgen.Finding{Request: first + 2*n, Files: []loadgen.File{{Data: large}, {Data: []byte("short")}}})
			}
		}
	}
	merged, err := Merge(part(1, found(1)), part(0, found(0)))
	if err != nil {
		t.Fatal(err)
	}
	kept, sent := 0, 0
	for n, f := range merged.Findings {
		if f.Request != uint64(n) {
			t.Fatalf("finding %d is of request %d", n, f.Request)
		}
		for _, file := range f.Files {
			kept += len(file.Data)
		}
		if f.Files != nil {
			sent++
		}
	}
	if len(merged.Findings) != findings || sent != 3 || kept > evidence {
		t.Errorf("%d findings with %d bytes, of %d exchanges", len(merged.Findings), kept, sent)
	}
}

// TestMergedLateness is void when more than the share of all requests was late, no matter which generator sent them.
func TestMergedLateness(t *testing.T) {
	t.Parallel()
	for late, want := range map[uint64]bool{3: false, 4: true} {
		merged, err := Merge(part(0, func(s *Summary) { s.Requests, s.Late = 150, late }), part(1, func(s *Summary) { s.Requests = 150 }))
		if err != nil || merged.Void() != want || merged.Late != late {
			t.Errorf("%d late of %d: void %t, %v", merged.Late, merged.Requests, merged.Void(), err)
		}
	}
}
