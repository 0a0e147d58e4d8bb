package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"
)

// Failure is what failed in the same way.
type Failure struct {
	Verb    Verb          `json:"verb"`
	Version string        `json:"version"`
	Storage bool          `json:"storage,omitempty"`
	Error   Error         `json:"error"`
	During  int           `json:"during"` // were called before the end of the fault
	After   int           `json:"after"`
	First   time.Duration `json:"first"` // when the first was answered, from the beginning of the fault
	Last    time.Duration `json:"last"`
	Longest time.Duration `json:"longest"` // that a client waited for the error
	Example string        `json:"example,omitempty"`
}

// Count returns how many operations failed in this way.
func (f Failure) Count() int { return f.During + f.After }

// count counts what was answered with an error since the fault began.
func (s *span) count(f *Facts) {
	f.Operations = len(s.operations)
	all := map[[3]string]*Failure{}
	for _, o := range s.operations {
		if o.Error == "" || o.Return < s.began {
			continue
		}
		key := [3]string{string(o.Verb), o.Version, string(o.Error)}
		at := o.Return - s.began
		failure := all[key]
		if failure == nil {
			failure = &Failure{Verb: o.Verb, Version: o.Version, Storage: o.Storage, Error: o.Error, First: at, Example: reason(o)}
			all[key] = failure
		}
		failure.First, failure.Last, failure.Longest = min(failure.First, at), max(failure.Last, at), max(failure.Longest, o.Return-o.Call)
		if o.Call < s.ended {
			failure.During++
		} else {
			failure.After++
		}
		if !o.Failed() {
			continue
		}
		f.Failed++
		if f.FirstFailure == nil || at < *f.FirstFailure {
			f.FirstFailure = &at
		}
	}
	for _, failure := range all {
		if failure.Error.Fails() {
			f.Failures = append(f.Failures, *failure)
		} else {
			f.Regular = append(f.Regular, *failure)
		}
	}
	slices.SortFunc(f.Failures, order)
	slices.SortFunc(f.Regular, order)
}

// order has what happened most first.
func order(a, b Failure) int {
	return cmp.Or(cmp.Compare(b.Count(), a.Count()), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Error, b.Error))
}

// String says what failed, and how often.
func (f Failure) String() string {
	return fmt.Sprintf("%d × %s at %s: %s", f.Count(), f.Verb, f.Version, f.Example)
}

// failed are the anomalies about operations that failed, and about the time until none does.
func (s *span) failed(f Facts) []Anomaly {
	var anomalies []Anomaly
	add := func(kind AnomalyKind, what string, of []Failure) {
		anomaly := Anomaly{Kind: kind}
		for _, failure := range of {
			anomaly.Count += failure.Count()
			if len(anomaly.Examples) < maxExamples {
				anomaly.Examples = append(anomaly.Examples, failure.String())
			}
		}
		if anomaly.Count > 0 {
			anomaly.Text = english.Plural(anomaly.Count, "operation", "") + what
			anomalies = append(anomalies, anomaly)
		}
	}
	add(FoundFailed, " failed", f.Failures)
	atStorage := slices.DeleteFunc(slices.Clone(f.Failures), func(f Failure) bool { return !f.Storage })
	add(FoundStorage, " at the storage version failed, though none needs a conversion", atStorage)
	if f.Recovery == nil {
		anomalies = append(anomalies, Anomaly{
			Kind: NotRecovered, Count: 1, Text: fmt.Sprintf("the level from before the fault was not reached again within %s of its end", round(f.After)),
		})
	}
	return anomalies
}

// Outage is how long nothing succeeded at a version.
type Outage struct {
	Version string        `json:"version"`
	Storage bool          `json:"storage,omitempty"`
	Longest time.Duration `json:"longest"`
	Sum     time.Duration `json:"sum"`
	Count   int           `json:"count"`
}

// outages returns the versions at which there was a time without success that is longer than any before the fault.
func (s *span) outages() []Outage {
	type version struct {
		name    string
		storage bool
	}
	successes := map[version][]time.Duration{}
	for _, o := range s.operations {
		v := version{o.Version, o.Storage}
		if _, known := successes[v]; !known {
			successes[v] = []time.Duration{s.quiet}
		}
		if !o.Failed() && o.Return <= s.end {
			successes[v] = append(successes[v], o.Return)
		}
	}
	var all []Outage
	for v, at := range successes {
		slices.Sort(at)
		if len(at) == 1 || at[1] >= s.began {
			continue // nothing to compare with
		}
		o := Outage{Version: v.name, Storage: v.storage}
		limit := usualGap(at, s.began)
		for i, from := range at {
			to := s.end
			if i+1 < len(at) {
				to = at[i+1]
			}
			// What is over before the fault is none of it.
			if gap := to - max(from, s.began); gap > limit {
				o.Longest, o.Sum, o.Count = max(o.Longest, gap), o.Sum+gap, o.Count+1
			}
		}
		if o.Count > 0 {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Outage) int {
		return cmp.Or(cmp.Compare(b.Longest, a.Longest), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// usualGap returns the most between two successes that is no outage, given when there were some: twice what there was before the fault,
// and a little for what has no cause.
func usualGap(at []time.Duration, began time.Duration) time.Duration {
	var most time.Duration
	for i := range at {
		if i > 0 && at[i] < began {
			most = max(most, at[i]-at[i-1])
		}
	}
	return 2*most + 50*time.Millisecond
}
