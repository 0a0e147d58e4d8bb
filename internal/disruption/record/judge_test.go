package record

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/history"
)

const (
	second      = time.Second
	millisecond = time.Millisecond
)

func judged(t *testing.T, h *History) Report {
	t.Helper()
	r, err := Judge(h)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// about reports whether a time is within 100 ms of another one.
func about(got *time.Duration, want time.Duration) bool {
	return got != nil && (*got-want).Abs() <= 100*millisecond
}

// TestWrongNamesFields has the fields in which an answer differs beside it.
func TestWrongNamesFields(t *testing.T) {
	t.Parallel()
	s := sim{answer: func(s *sim, o *Operation) {
		if o.Digest != "" && o.Version == "v1" && o.Return > s.began {
			o.Digest, o.Differs = "other", []string{"spec.b is gone"}
		}
	}}
	r, err := Judge(s.history())
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := r.Found(FoundWrong); len(f.Examples) == 0 || !strings.HasSuffix(f.Examples[0], ": spec.b is gone") {
		t.Errorf("got %+v", f)
	}
}

// TestFindings simulates what can go wrong, and wants exactly that to be found.
func TestFindings(t *testing.T) {
	for name, test := range map[string]struct {
		sim  sim
		want []AnomalyKind
		hold func(f Facts) string // what is wrong with the facts; nothing is ""
	}{
		"nothing": {sim{}, nil, func(f Facts) string {
			if !f.Undisturbed || f.FirstFailure != nil || f.Recovery == nil || *f.Recovery != 0 || f.Outage() != 0 || f.Compared < 500 || len(f.Levels) != 2 {
				return "it was disturbed"
			}
			return ""
		}},
		"refused while it lasts": {sim{answer: failing(0, 2*second)}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if f.Undisturbed || !about(f.FirstFailure, 0) || !about(f.FirstSuccess, 0) || !about(f.Recovery, 0) || !about(new(f.Outage()), 2*second) || len(f.Outages) != 2 {
				return "times"
			}
			return ""
		}},
		"refused for longer": {sim{answer: failing(0, 4*second)}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if !about(f.Recovery, 2*second) || !about(f.FirstSuccess, 2*second) || !about(new(f.Outage()), 4*second) {
				return "times"
			}
			return ""
		}},
		"late": {sim{answer: failing(second, 2*second)}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if !about(f.FirstFailure, second) || !about(new(f.Outage()), second) || !about(f.Recovery, 0) {
				return "times"
			}
			return ""
		}},
		"held up, and answered": {sim{answer: hanging(0, 3*second)}, nil, func(f Facts) string {
			if f.Failed != 0 || f.FirstFailure != nil || !about(f.Recovery, second) || !about(new(f.Outage()), 3*second) || f.Undisturbed {
				return "times"
			}
			return ""
		}},
		"held up, and given up": {sim{answer: func(s *sim, o *Operation) {
			if s.during(o) && !o.Storage {
				fail(o, Timeout, second)
			}
		}}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if !about(f.FirstFailure, second) || !about(f.Recovery, 0) || f.Failures[0].Longest != second || f.Failures[0].Error != Timeout {
				return "times"
			}
			return ""
		}},
		"never again": {sim{answer: failing(0, time.Hour)}, []AnomalyKind{FoundFailed, NotRecovered}, func(f Facts) string {
			if f.Recovery != nil || f.FirstSuccess != nil || !about(new(f.Outage()), 7*second) {
				return "times"
			}
			return ""
		}},
		"slow afterwards": {sim{answer: func(s *sim, o *Operation) {
			if at := o.Call - s.ended; at >= 0 && at < 2*second && !o.Storage {
				o.Return += 100 * millisecond
			}
		}}, nil, func(f Facts) string {
			if !about(f.Recovery, 2*second) || f.Outage() != 0 || f.Undisturbed {
				return "times"
			}
			return ""
		}},
		"slow for good": {sim{answer: func(s *sim, o *Operation) {
			if o.Call >= s.ended && !o.Storage {
				o.Return += 100 * millisecond
			}
		}}, []AnomalyKind{NotRecovered}, nil},
		"few are slow": {sim{answer: func(s *sim, o *Operation) {
			if o.Call >= s.ended && int(o.Call/time.Microsecond)%2000 == 0 && !o.Storage {
				o.Return += 3 * millisecond // less than counts
			}
		}}, nil, nil},
		"fewer afterwards": {sim{change: func(s *sim, h *History) {
			n := 0
			h.Operations = slices.DeleteFunc(h.Operations, func(o Operation) bool {
				n++
				return o.Call >= s.ended && o.Call < s.ended+2*second && n%2 == 0 && o.Verb != Patch
			})
		}}, nil, func(f Facts) string {
			// The window of half a second has a few of the full rate at its end.
			if f.Recovery == nil || *f.Recovery < 1500*millisecond || *f.Recovery > 2*second {
				return "recovery"
			}
			return ""
		}},
		"fails once more": {sim{answer: func(s *sim, o *Operation) {
			if at := o.Call - s.ended; at >= 3*second && at < 3*second+20*millisecond {
				fail(o, Internal, millisecond)
			}
		}}, []AnomalyKind{FoundFailed, FoundStorage}, func(f Facts) string {
			if !about(f.Recovery, 3*second) || f.Failures[0].After == 0 || f.Failures[0].During != 0 {
				return "recovery"
			}
			return ""
		}},
		"everything": {sim{answer: func(s *sim, o *Operation) {
			if s.during(o) {
				fail(o, Unavailable, millisecond)
			}
		}}, []AnomalyKind{FoundFailed, FoundStorage}, func(f Facts) string {
			if len(f.Outages) != 3 {
				return "outages"
			}
			return ""
		}},
		"one version": {sim{answer: func(s *sim, o *Operation) {
			if s.during(o) && o.Version == "v1alpha1" {
				fail(o, Answer, millisecond)
			}
		}}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if len(f.Outages) != 1 || f.Outages[0].Version != "v1alpha1" || f.Outages[0].Count != 1 || !about(&f.Outages[0].Sum, 2*second) {
				return "outages"
			}
			return ""
		}},
		"twice": {sim{answer: func(s *sim, o *Operation) {
			failing(0, 500*millisecond)(s, o)
			failing(second, 2*second)(s, o)
		}}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if o := f.Outages[0]; o.Count != 2 || !about(&o.Longest, second) || !about(&o.Sum, 1500*millisecond) {
				return "outages"
			}
			return ""
		}},
		"one of three replicas": {sim{answer: func(s *sim, o *Operation) {
			if s.during(o) && !o.Storage && s.random.IntN(3) == 0 {
				fail(o, Refused, millisecond)
			}
		}}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if f.Outage() != 0 || f.Failed < 50 {
				return "outage"
			}
			return ""
		}},
		"under way when it began": {sim{change: func(s *sim, h *History) {
			fail(firstAfter(h, s.began-10*millisecond), Reset, 20*millisecond)
		}}, []AnomalyKind{FoundFailed}, func(f Facts) string {
			if f.Failed != 1 || f.Failures[0].During != 1 || !about(f.FirstFailure, 10*millisecond) {
				return "failures"
			}
			return ""
		}},
		"before the clients counted": {sim{change: func(_ *sim, h *History) { fail(&h.Operations[0], Refused, 1) }}, nil, nil},
		"regular errors": {sim{answer: func(s *sim, o *Operation) {
			if s.during(o) && o.Verb == Patch {
				fail(o, Conflict, millisecond)
			}
		}}, nil, func(f Facts) string {
			if len(f.Regular) != 3 || f.Failed != 0 || len(f.Failures) != 0 {
				return "regular"
			}
			return ""
		}},
		"canceled at the end": {sim{answer: func(s *sim, o *Operation) {
			if o.Call > s.end-100*millisecond {
				fail(o, Canceled, millisecond)
			}
		}}, nil, nil},
		"wrong while it lasts": {sim{answer: func(s *sim, o *Operation) {
			if s.during(o) && o.Version == "v1beta1" && o.Verb == Get {
				o.Digest = "other"
			}
		}}, []AnomalyKind{FoundWrong}, nil},
		"wrong afterwards": {sim{answer: func(s *sim, o *Operation) {
			if o.Call > s.ended && o.Version == "v1beta1" && o.Verb == Patch {
				o.Digest = "of v1"
			}
		}}, []AnomalyKind{FoundWrong}, nil},
		"wrong in a list": {sim{change: func(s *sim, h *History) {
			for i := range h.Operations {
				if o := &h.Operations[i]; s.during(o) && o.Verb == List {
					o.Listed[0].Digest = "other"
					return
				}
			}
		}}, []AnomalyKind{FoundWrong}, func(f Facts) string {
			if f.Wrong != 1 {
				return "wrong"
			}
			return ""
		}},
		"wrong in a watch": {sim{change: func(_ *sim, h *History) { h.Watches[len(h.Watches)-1].Sight.Digest = "other" }}, []AnomalyKind{FoundWrong}, nil},
		"unstable before":  {sim{change: func(s *sim, h *History) { firstAfter(h, s.warm).Digest = "other" }}, []AnomalyKind{FoundUnstable}, nil},
		"never seen before": {sim{change: func(s *sim, h *History) { firstAfter(h, s.ended).Content = "new" }}, nil, func(f Facts) string {
			if f.Uncompared != 1 {
				return "uncompared"
			}
			return ""
		}},
		"lost write": {sim{change: func(s *sim, h *History) {
			first := firstAfter(h, s.ended)
			first.Seen = &history.State{Exists: true, Content: "older"}
		}}, []AnomalyKind{FoundLost}, func(f Facts) string {
			if f.Lost == 0 {
				return "lost"
			}
			return ""
		}},
		"lost before the fault": {sim{change: func(_ *sim, h *History) {
			firstAfter(h, 0).Seen = &history.State{Exists: true, Content: "older"}
		}}, []AnomalyKind{FoundLost}, nil},
		"timed out, may have happened": {sim{answer: func(s *sim, o *Operation) {
			if s.during(o) && o.Verb == Patch {
				written := o.Written
				fail(o, Timeout, 50*millisecond)
				o.Outcome, o.Written = history.Unknown, written
			}
		}}, []AnomalyKind{FoundFailed, FoundStorage}, nil},
		"watch back": {sim{change: func(s *sim, h *History) { interrupted(h, 1, s.began+second, s.ended) }}, nil, func(f Facts) string {
			i := slices.IndexFunc(f.Watches, func(w WatchFact) bool { return w.Version == "v1beta1" })
			w := f.Watches[i]
			if w.Ended != 1 || w.Back != 1 || w.Longest != second || w.Gone != 0 || w.Clients != 1 || w.Errors["connection reset"] != 1 || len(f.Watches) != 3 {
				return fmt.Sprint(w)
			}
			return ""
		}},
		"watch gone":               {sim{change: func(s *sim, h *History) { interrupted(h, 1, s.began+second, time.Hour) }}, []AnomalyKind{WatchGone}, nil},
		"watch ended at the end":   {sim{change: func(s *sim, h *History) { interrupted(h, 1, s.end-second/2, time.Hour) }}, nil, nil},
		"watch ended by ourselves": {sim{change: func(s *sim, h *History) { interrupted(h, 1, s.ended, time.Hour); cancelLast(h) }}, []AnomalyKind{WatchSilent}, nil},
		"watch silent": {sim{change: func(s *sim, h *History) {
			h.Watches = slices.DeleteFunc(h.Watches, func(w WatchEvent) bool { return w.Client == 2 && w.At > s.began })
		}}, []AnomalyKind{WatchSilent}, nil},
		"nothing written to show": {sim{change: func(s *sim, h *History) {
			h.Watches = slices.DeleteFunc(h.Watches, func(w WatchEvent) bool { return w.At > s.began })
			for i := range h.Operations {
				if o := &h.Operations[i]; o.Verb == Patch && o.Call > s.began-millisecond*20 {
					o.Verb, o.Written, o.Outcome, o.Seen = Get, "", history.Refused, nil
				}
				if o := &h.Operations[i]; o.Verb == Get && o.Call > s.began-millisecond*20 {
					o.Outcome, o.Seen = history.Refused, nil
				}
			}
		}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(t, test.sim.history())
			if len(r.Void) > 0 {
				t.Fatalf("it is void: %v", r.Void)
			}
			var got []AnomalyKind
			for _, f := range r.Anomalies {
				got = append(got, f.Kind)
				if f.Count == 0 || f.Text == "" || len(f.Examples) > maxExamples {
					t.Errorf("bad finding %+v", f)
				}
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v: %+v", got, test.want, r.Anomalies)
			}
			if test.hold != nil {
				if wrong := test.hold(r.Facts); wrong != "" {
					t.Errorf("%s: %+v, recovery %v, first failure %v, first success %v, outage %v",
						wrong, r.Facts, r.Facts.Recovery, r.Facts.FirstFailure, r.Facts.FirstSuccess, r.Facts.Outage())
				}
			}
		})
	}
}

// firstAfter is the first get after a time that needs a conversion.
func firstAfter(h *History, at time.Duration) *Operation {
	i := slices.IndexFunc(h.Operations, func(o Operation) bool { return o.Call >= at && o.Verb == Get && !o.Storage })
	return &h.Operations[i]
}

// interrupted ends a client's watch at a time, until another one.
func interrupted(h *History, client int, from, to time.Duration) {
	h.Watches = slices.DeleteFunc(h.Watches, func(w WatchEvent) bool { return w.Client == client && w.At >= from && w.At < to })
	version := h.Header.Definition.Versions[client]
	if to < time.Hour {
		h.Watches = append(h.Watches, WatchEvent{Client: client, Version: version, At: to, State: Opened})
	}
	h.Watches = append(h.Watches, WatchEvent{Client: client, Version: version, At: from, State: Ended, Error: Reset})
}

func cancelLast(h *History) { h.Watches[len(h.Watches)-1].Error = Canceled }

// TestWatches counts what became of watches whose events are known.
func TestWatches(t *testing.T) {
	at := func(s *sim, client int, version string, state WatchState, after time.Duration) WatchEvent {
		return WatchEvent{Client: client, Version: version, At: s.began + after, State: state}
	}
	s := sim{change: func(s *sim, h *History) {
		h.Watches = nil
		for client, version := range []string{"v1", "v1", "v1beta1", "v1beta1"} {
			h.Watches = append(h.Watches, at(s, client, version, Opened, -second), at(s, client, version, Seen, -second+1))
		}
		h.Watches = append(h.Watches,
			// One ends before the fault, and is opened after it began.
			at(s, 0, "v1", Ended, -1), at(s, 0, "v1", Opened, second), at(s, 0, "v1", Seen, 3*second),
			// One ends twice, and comes back twice; that it is opened once more while it is open is nothing.
			at(s, 1, "v1", Ended, 0), at(s, 1, "v1", Opened, 100*millisecond), at(s, 1, "v1", Opened, 200*millisecond),
			at(s, 1, "v1", Ended, second), at(s, 1, "v1", Opened, 4*second), at(s, 1, "v1", Seen, 5*second),
			// One is silent from the beginning of the fault on, and one from its end.
			at(s, 3, "v1beta1", Seen, s.fault),
		)
	}}
	r := judged(t, s.history())
	if len(r.Facts.Watches) != 2 {
		t.Fatalf("got %+v", r.Facts.Watches)
	}
	one, two := r.Facts.Watches[0], r.Facts.Watches[1]
	if one.Clients != 2 || one.Ended != 2 || one.Back != 2 || one.Gone != 0 || one.Silent != 0 || one.Longest != 3*second || one.Resumed != 5*second-s.fault || one.Errors["none"] != 2 {
		t.Errorf("got %+v", one)
	}
	if two.Clients != 2 || two.Ended != 0 || two.Back != 0 || two.Silent != 1 || two.Resumed != 0 {
		t.Errorf("got %+v", two)
	}
}

// TestRecoveredWatches has one watch at a time that shows something again only some seconds after the fault.
func TestRecoveredWatches(t *testing.T) {
	for after, want := range map[time.Duration]bool{100 * millisecond: true, 3 * second: true, 20 * second: false} {
		s := sim{change: func(s *sim, h *History) {
			h.Watches = slices.DeleteFunc(h.Watches, func(e WatchEvent) bool {
				return e.Client == 1 && e.At > s.began && e.At < s.ended+after
			})
		}}
		if got := Recovered(s.history()); got != want {
			t.Errorf("a watch that shows nothing for %s after the fault: recovered is %t", after, got)
		}
	}
}

// TestVoid has records that can't be judged. None has a finding.
func TestVoid(t *testing.T) {
	remove := func(mark string) func(*sim, *History) {
		return func(_ *sim, h *History) {
			h.Marks = slices.DeleteFunc(h.Marks, func(m Mark) bool { return m.Name == mark })
		}
	}
	for name, test := range map[string]struct {
		change func(*sim, *History)
		want   string
	}{
		"idle": {func(_ *sim, h *History) { h.Header.Rate = 500 }, "the clients were idle before the fault: 300 operations a second, want at least 400 (80 % of 500)"},
		"failed before": {
			func(s *sim, h *History) { fail(firstAfter(h, s.warm), Refused, 1) },
			"1 operation failed before the fault, the first a get at v1",
		},
		"busy": {func(s *sim, h *History) {
			h.Lags = append(h.Lags, Lag{At: s.ended, Lag: 300 * millisecond})
		}, "up to 300ms late, want at most 200ms"},
		"stopped":           {func(_ *sim, h *History) { h.Lags = append(h.Lags, Lag{At: 0, Lag: second}) }, "up to 1s late"},
		"no lags":           {func(_ *sim, h *History) { h.Lags = nil }, "how late the harness's own timers were is not recorded"},
		"too many":          {func(_ *sim, h *History) { h.Dropped = 2 }, "2 operations were too many to be kept"},
		"not quiet":         {remove(Quiet), `the record has no mark "quiet"`},
		"no fault":          {remove(FaultBegan), `the record has no mark "fault began"`},
		"not taken back":    {remove(FaultEnded), `the record has no mark "fault ended"`},
		"interrupted":       {remove(End), `the record has no mark "end"`},
		"marks out of turn": {func(_ *sim, h *History) { h.Marks[1].At = 0 }, `the mark "fault began" is earlier than the one before it`},
		"short":             {func(s *sim, h *History) { h.Marks[0].At = s.began - second/2 }, "the clients worked for 500ms before the fault"},
		"nothing converted": {func(_ *sim, h *History) {
			for i := range h.Operations {
				h.Operations[i].Storage = true
			}
		}, "no operation before the fault needed a conversion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(t, (&sim{answer: failing(0, second), change: test.change}).history())
			if len(r.Void) != 1 || !strings.Contains(r.Void[0], test.want) || len(r.Anomalies) > 0 {
				t.Errorf("got %q with %v, want %q", r.Void, r.Anomalies, test.want)
			}
		})
	}
	late := (&sim{change: func(s *sim, h *History) { h.Lags = append(h.Lags, Lag{At: s.end + 1, Lag: second}) }}).history()
	if r := judged(t, late); len(r.Void) > 0 {
		t.Errorf("what happened after the end counts: %v", r.Void)
	}
	// A row of reasons is given as a whole.
	if r := judged(t, &History{}); len(r.Void) != 4 {
		t.Errorf("got %q", r.Void)
	}
}

// TestCounts compares the table of failures with a count of what was simulated.
func TestCounts(t *testing.T) {
	s := sim{answer: func(s *sim, o *Operation) {
		switch at := o.Call - s.began; {
		case at < 0 || at > 3*second:
		case o.Version == "v1beta1":
			fail(o, Refused, millisecond)
		case o.Version == "v1alpha1" && at > second:
			fail(o, Answer, 2*millisecond)
		case o.Storage && o.Verb == List:
			fail(o, Unavailable, 3*millisecond)
		}
	}}
	h := s.history()
	want := map[string]int{}
	for _, o := range h.Operations {
		if !o.Failed() {
			continue
		}
		phase := "during"
		if o.Call >= s.ended {
			phase = "after"
		}
		want[fmt.Sprint(o.Verb, o.Version, o.Storage, o.Error, phase)]++
	}
	got := map[string]int{}
	r := judged(t, h)
	sum := 0
	for _, f := range r.Facts.Failures {
		key := fmt.Sprint(f.Verb, f.Version, f.Storage, f.Error)
		got[key+"during"] += f.During
		got[key+"after"] += f.After
		sum += f.Count()
		if f.Example == "" || f.Longest < millisecond || f.First < 0 || f.Last < f.First || f.Last > 3*second+10*millisecond {
			t.Errorf("got %+v", f)
		}
	}
	maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
	if !maps.Equal(got, want) || sum != r.Facts.Failed {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.IsSortedFunc(r.Facts.Failures, order) {
		t.Error("the failures have no order")
	}
	if f, _ := r.Found(FoundFailed); f.Count != sum {
		t.Errorf("found %d, want %d", f.Count, sum)
	}
	if f, _ := r.Found(FoundStorage); f.Count != want["listv1trueunavailableduring"]+want["listv1trueunavailableafter"] {
		t.Errorf("found %+v at the storage version", f)
	}
}

// TestLevels has rates and percentiles of a simulation whose figures are known.
func TestLevels(t *testing.T) {
	h := (&sim{answer: func(s *sim, o *Operation) {
		o.Return = o.Call + 4*millisecond
		if s.during(o) {
			o.Return = o.Call + 9*millisecond
		}
		if s.during(o) && !o.Storage {
			fail(o, Refused, 7*millisecond)
		}
	}}).history()
	r := judged(t, h)
	converted, rest := r.Facts.Levels[0], r.Facts.Levels[1]
	if converted.Storage || !rest.Storage {
		t.Fatalf("got %+v", r.Facts.Levels)
	}
	if converted.Before.P99 != 4*millisecond || converted.During.P99 != 7*millisecond || converted.After.P99 != 4*millisecond || rest.During.P99 != 9*millisecond {
		t.Errorf("got %+v", r.Facts.Levels)
	}
	sum := converted.Before.Rate + rest.Before.Rate
	if sum < 295 || sum > 305 || converted.During.Rate > 2 || rest.During.Rate < 80 || converted.After.Rate+rest.After.Rate < 295 {
		t.Errorf("got %+v", r.Facts.Levels)
	}
}

// TestReady has a webhook that said when it was ready.
func TestReady(t *testing.T) {
	for ready, want := range map[time.Duration]time.Duration{3 * second: second, 5 * second: 0, -second: 3 * second} {
		s := sim{answer: failing(0, 4*second), change: func(s *sim, h *History) {
			h.Marks = append(h.Marks, Mark{Name: Ready, At: s.began + ready})
		}}
		s.fault = 0
		r := judged(t, s.history())
		if ready < 0 {
			want = 5 * second // recovery is 4 s after the beginning, and ready was 1 s before it
		}
		if !about(r.Facts.SinceReady, want) {
			t.Errorf("ready after %s: got %v, want %s", ready, r.Facts.SinceReady, want)
		}
	}
}

func TestObjectives(t *testing.T) {
	disturbed := sim{answer: func(s *sim, o *Operation) {
		failing(0, 3*second)(s, o)
		if o.Call > s.ended+2*second && o.Verb == Patch && o.Version == "v1beta1" {
			o.Digest = "other"
		}
	}, change: func(s *sim, h *History) { firstAfter(h, s.ended+2*second).Seen.Content = "older" }}
	h := disturbed.history()
	f := judged(t, h).Facts
	for name, test := range map[string]struct {
		limit objective.Limit
		want  map[AnomalyKind]string
	}{
		"none":  {},
		"loose": {limit: objective.Limit{Recovery: new(5 * second), Failed: new(f.Failed), Lost: new(f.Lost), Wrong: new(f.Wrong)}},
		"tight": {objective.Limit{Recovery: new(second / 2), Failed: new(f.Failed - 1), Lost: new(0), Wrong: new(0)}, map[AnomalyKind]string{
			OverRecovery: "and the objective allows 500ms", OverFailed: fmt.Sprintf("%d operations failed, and the objective allows %d", f.Failed, f.Failed-1),
			OverLost: "and the objective allows 0", OverWrong: fmt.Sprintf("%d answers wrong, and the objective allows 0", f.Wrong),
		}},
	} {
		h.Header.Objective = test.limit
		r := judged(t, h)
		for _, kind := range []AnomalyKind{OverRecovery, OverFailed, OverLost, OverWrong} {
			got, there := r.Found(kind)
			if want, wanted := test.want[kind]; there != wanted || !strings.Contains(got.Text, want) {
				t.Errorf("%s: %s: got %q, want %q", name, kind, got.Text, want)
			}
		}
	}
	never := (&sim{answer: failing(0, time.Hour)}).history()
	never.Header.Objective = objective.Limit{Recovery: new(time.Hour)}
	if f, _ := judged(t, never).Found(OverRecovery); f.Text != "recovery took longer than the 5s that the run waited, and the objective allows 1h0m0s" {
		t.Errorf("got %q", f.Text)
	}
	never.Header.Limit = 0
	if f, _ := judged(t, never).Found(OverRecovery); f.Text != "there was no recovery, and the objective allows 1h0m0s" {
		t.Errorf("got %q", f.Text)
	}
}

// TestTenSeconds injects outages of exactly ten seconds, of all kinds, and recoveries after a random time.
func TestTenSeconds(t *testing.T) { lastTenSeconds(t, 3) }

// lastTenSeconds judges that many outages.
func lastTenSeconds(t *testing.T, seeds uint64) {
	t.Helper()
	for seed := range seeds { // of which three in a row are one of each kind
		random := rand.New(rand.NewPCG(seed, 1))
		late := time.Duration(random.IntN(3000)) * millisecond
		outage := []func(from, to time.Duration) func(*sim, *Operation){failing, hanging, timingOut}[seed%3]
		s := sim{
			seed: seed, rate: 500 + random.IntN(500), quiet: 2 * second, fault: 10*second - late, after: late + 4*second,
			answer: outage(0, 10*second),
		}
		r := judged(t, s.history())
		if len(r.Void) > 0 {
			t.Fatalf("%d: %v", seed, r.Void)
		}
		if got := r.Facts.Outage(); (got - 10*second).Abs() > 200*millisecond {
			t.Errorf("%d: an outage of %s", seed, got)
		}
		if got := r.Facts.Recovery; got == nil || (*got-late).Abs() > 100*millisecond {
			t.Errorf("%d: a recovery after %v, want %s", seed, got, late)
		}
		if got := r.Facts.FirstSuccess; got == nil || (*got-late).Abs() > 100*millisecond {
			t.Errorf("%d: a first success after %v, want %s", seed, got, late)
		}
	}
}

// timingOut has conversions given up after a second.
func timingOut(from, to time.Duration) func(*sim, *Operation) {
	return func(s *sim, o *Operation) {
		if at := o.Call - s.began; !o.Storage && at >= from && at < to {
			fail(o, Timeout, second)
		}
	}
}

func TestUndecidable(t *testing.T) {
	h := (&sim{}).history()
	firstAfter(h, 0).Outcome = "?"
	if _, err := Judge(h); err == nil || !strings.Contains(err.Error(), `unknown outcome "?"`) {
		t.Errorf("got %v", err)
	}
}
