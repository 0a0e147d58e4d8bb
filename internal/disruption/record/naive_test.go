package record

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// naive takes the times by trying each call with nothing but loops, as their definitions say. It shares no code with the judge but the
// bounds.
type naive struct {
	b                        Bounds
	quiet, began, ended, end time.Duration
	all                      []Operation
}

// percentile is the smallest time that 99 of 100 don't exceed.
func percentile(took []time.Duration) time.Duration {
	best := time.Duration(-1)
	for _, candidate := range took {
		within := 0
		for _, t := range took {
			if t <= candidate {
				within++
			}
		}
		if within*100 >= 99*len(took) && (best < 0 || candidate < best) {
			best = candidate
		}
	}
	return max(best, 0)
}

// window returns the successes in a second and the percentile from a time on.
func (n naive) window(class []Operation, from, length time.Duration) (float64, time.Duration) {
	successes := 0
	var took []time.Duration
	for _, o := range class {
		if !o.Failed() && o.Return >= from && o.Return < from+length {
			successes++
		}
		if o.Call >= from && o.Call < from+length {
			took = append(took, o.Return-o.Call)
		}
	}
	return float64(successes) / length.Seconds(), percentile(took)
}

func (n naive) recovery(class []Operation) *time.Duration {
	least, slow := math.Inf(1), time.Duration(0)
	for from := n.quiet; from+n.b.Window <= n.began; from += n.b.Window / 4 {
		rate, p := n.window(class, from, n.b.Window)
		least, slow = min(least, rate), max(slow, p)
	}
	rate, _ := n.window(class, n.quiet, n.began-n.quiet)
	mean := rate * n.b.Window.Seconds()
	least = min(0.8*least, (mean-4*math.Sqrt(mean))/n.b.Window.Seconds())
	slow = 2*slow + 20*time.Millisecond
	good := func(at time.Duration) bool {
		rate, p := n.window(class, at, n.b.Window)
		return rate >= least && p <= slow
	}
	isFirst := true
	for _, o := range class {
		if o.Call < n.ended {
			continue
		}
		if n.settled(class, o.Call, good) {
			at := o.Call
			if isFirst {
				at = n.ended
			}
			return new(max(at, n.resumed(class), n.held(class, at, slow)) - n.ended)
		}
		isFirst = false
	}
	return nil
}

// settled reports whether nothing fails that is called from a time on, and all windows are good that begin soon after.
func (n naive) settled(class []Operation, at time.Duration, good func(time.Duration) bool) bool {
	if at+n.b.Window > n.end {
		return false
	}
	for _, o := range class {
		if o.Call >= at && o.Failed() {
			return false
		}
	}
	for _, o := range class {
		if o.Call >= at && o.Call <= at+n.b.Hold && o.Call+n.b.Window <= n.end && !good(o.Call) {
			return false
		}
	}
	return true
}

// resumed is the first success after the end of the fault, if it is long after the last one before.
func (n naive) resumed(class []Operation) time.Duration {
	last, next, usual := time.Duration(-1), time.Duration(-1), time.Duration(0)
	for _, o := range class {
		if o.Failed() {
			continue
		}
		if o.Return < n.ended {
			last = max(last, o.Return)
		} else if next < 0 || o.Return < next {
			next = o.Return
		}
		if o.Return >= n.began {
			continue
		}
		before := time.Duration(-1) // the success just before this one
		for _, other := range class {
			if !other.Failed() && other.Return < o.Return {
				before = max(before, other.Return)
			}
		}
		if before >= 0 {
			usual = max(usual, o.Return-before)
		}
	}
	if last < 0 || next < 0 || next-last <= 2*usual+50*time.Millisecond {
		return n.ended
	}
	return next
}

func (naive) held(class []Operation, at, slow time.Duration) time.Duration {
	until := at
	for _, o := range class {
		if took := o.Return - o.Call; o.Call <= at && took > slow && o.Return <= at+slow {
			until = max(until, o.Return)
		}
	}
	return until
}

// longest returns the longest time without success at a version since the beginning of the fault, or 0 if it is usual.
func (n naive) longest(version string) time.Duration {
	var at []time.Duration
	for _, o := range n.all {
		if o.Version == version && !o.Failed() && o.Return <= n.end {
			at = append(at, o.Return)
		}
	}
	at = append(at, n.quiet)
	next := func(t time.Duration) time.Duration {
		found := n.end
		for _, other := range at {
			if other > t {
				found = min(found, other)
			}
		}
		return found
	}
	usual, longest := time.Duration(0), time.Duration(0)
	for _, t := range at {
		if next(t) < n.began {
			usual = max(usual, next(t)-t)
		}
		longest = max(longest, next(t)-max(t, n.began))
	}
	if longest <= 2*usual+50*time.Millisecond {
		return 0
	}
	return longest
}

// randomly makes a record of random faults.
func randomly(seed uint64) *History {
	random := rand.New(rand.NewPCG(seed, 3))
	pick := func(most int) time.Duration { return time.Duration(random.IntN(most)) * millisecond }
	kinds := []func(from, to time.Duration) func(*sim, *Operation){failing, hanging, timingOut, slowed, sometimes}
	var faults []func(*sim, *Operation)
	for range 1 + random.IntN(3) {
		from := pick(3000)
		faults = append(faults, kinds[random.IntN(len(kinds))](from, from+pick(3000)))
	}
	s := sim{
		seed: seed, rate: 60 + random.IntN(100), quiet: second + pick(1000), fault: pick(2000), after: second + pick(4000),
		answer: func(s *sim, o *Operation) {
			for _, f := range faults {
				if o.Error == "" {
					f(s, o)
				}
			}
		},
	}
	return s.history()
}

// slowed has everything take longer, and sometimes has some of it fail.
func slowed(from, to time.Duration) func(*sim, *Operation) {
	return func(s *sim, o *Operation) {
		if at := o.Call - s.began; at >= from && at < to {
			o.Return += time.Duration(s.random.IntN(80)) * millisecond
		}
	}
}

func sometimes(from, to time.Duration) func(*sim, *Operation) {
	return func(s *sim, o *Operation) {
		if at := o.Call - s.began; at >= from && at < to && s.random.IntN(10) == 0 {
			fail(o, Timeout, time.Duration(s.random.IntN(400))*millisecond)
		}
	}
}

// agree compares the times of the judge with the naive ones.
func agree(t *testing.T, seed uint64) {
	t.Helper()
	h := randomly(seed)
	s, reasons := read(h, UsualBounds())
	if len(reasons) > 0 {
		t.Fatal(reasons)
	}
	var f Facts
	s.count(&f)
	s.measure(&f)
	n := naive{b: UsualBounds(), quiet: s.quiet, began: s.began, ended: s.ended, end: s.end}
	classes := map[bool][]Operation{}
	var failure, success *time.Duration
	least := func(have *time.Duration, at time.Duration) *time.Duration {
		if have == nil || at < *have {
			return &at
		}
		return have
	}
	for _, o := range h.Operations { // they were made in the order of their calls
		if o.Call < n.quiet || o.Error == Canceled {
			continue
		}
		n.all = append(n.all, o)
		classes[o.Storage] = append(classes[o.Storage], o)
		if o.Failed() && o.Return >= n.began {
			failure = least(failure, o.Return-n.began)
		}
		if !o.Failed() && o.Return >= n.ended && !o.Storage {
			success = least(success, o.Return-n.ended)
		}
	}
	same := func(what string, got, want *time.Duration) {
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("seed %d: %s: got %v, want %v", seed, what, got, want)
		}
	}
	same("first failure", f.FirstFailure, failure)
	same("first success", f.FirstSuccess, success)
	var worst *time.Duration
	for _, l := range f.Levels {
		want := n.recovery(classes[l.Storage])
		same("recovery", l.Recovery, want)
		if worst == nil || want != nil && *want > *worst {
			worst = want
		}
		if want == nil {
			worst = nil
			break
		}
	}
	if len(f.Levels) == 2 && f.Levels[0].Recovery != nil && f.Levels[1].Recovery != nil {
		same("recovery of all", f.Recovery, worst)
	}
	for version := range map[string]bool{"v1": true, "v1beta1": true, "v1alpha1": true} {
		got := time.Duration(0)
		for _, o := range f.Outages {
			if o.Version == version {
				got = o.Longest
			}
		}
		if want := n.longest(version); got != want {
			t.Errorf("seed %d: outage at %s: got %s, want %s", seed, version, got, want)
		}
	}
}

func TestAgainstNaive(t *testing.T) {
	none := 0
	for seed := range uint64(60) {
		agree(t, seed)
		h := randomly(seed)
		r := judged(t, h)
		if r.Facts.Recovery == nil || *r.Facts.Recovery == 0 {
			none++
		}
		if got := Recovered(h); got != (r.Facts.Recovery != nil && !watchless(r)) {
			t.Errorf("seed %d: recovered: %v, recovery: %v", seed, got, r.Facts.Recovery)
		}
	}
	if none == 0 || none > 45 {
		t.Errorf("%d of 60 records have no recovery to compare", none)
	}
}

// FuzzAgainstNaive looks for more: go test -fuzz FuzzAgainstNaive ./internal/disruption/record.
func FuzzAgainstNaive(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(agree)
}

// TestPercentiles compares the two definitions.
func TestPercentiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 250; n++ {
		var took []time.Duration
		for range n {
			took = append(took, time.Duration(random.IntN(50)))
		}
		want := percentile(took)
		if got := p99(slices.Clone(took)); got != want {
			t.Errorf("of %d: got %d, want %d", n, got, want)
		}
		over := 0
		for _, d := range took {
			if d > want {
				over++
			}
		}
		if over > quota(n) {
			t.Errorf("of %d: %d exceed the percentile, more than %d", n, over, quota(n))
		}
	}
}

// watchless reports whether a watch has not recovered.
func watchless(r Report) bool {
	return slices.ContainsFunc(r.Anomalies, func(f Anomaly) bool { return f.Kind == WatchGone || f.Kind == WatchSilent })
}
