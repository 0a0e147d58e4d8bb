package record

import (
	"slices"
	"time"

	"github.com/crdconform/crdconform/internal/memory"
)

// Bounds are what makes a record fit to be judged, and what counts as the level of before.
type Bounds struct {
	Quiet  time.Duration // least time between the marks quiet and fault began
	Share  float64       // of the wanted rate that must be reached before the fault
	Lag    time.Duration // most that the harness's own timers may be late
	Window time.Duration // over which rates and percentiles are taken
	Hold   time.Duration // how long the level of before must be kept to be reached again
	Grace  time.Duration // for a watch to come back before the end
}

// UsualBounds returns the bounds that hold unless a test wants others.
func UsualBounds() Bounds {
	return Bounds{
		Quiet: time.Second, Share: 0.8, Lag: 200 * time.Millisecond, Window: 500 * time.Millisecond, Hold: 3 * time.Second, Grace: time.Second,
	}
}

// AnomalyKind is what an anomaly is about.
type AnomalyKind string

// The kinds of anomalies.
const (
	FoundLost      AnomalyKind = "lost"          // what clients were answered can't be explained: an acknowledged write was lost, say
	FoundUndecided AnomalyKind = "undecided"     // too many operations overlap to find out
	FoundWrong     AnomalyKind = "wrong"         // a conversion differs from what the quiet webhook answered
	FoundUnstable  AnomalyKind = "unstable"      // the quiet webhook itself answered differently, so nothing can be compared with it
	FoundFailed    AnomalyKind = "failed"        // operations failed since the fault began
	FoundStorage   AnomalyKind = "storage"       // some of them need no conversion
	NotRecovered   AnomalyKind = "not recovered" // the level of before was not reached until the end
	WatchGone      AnomalyKind = "watch gone"    // a watch ended and did not come back
	WatchSilent    AnomalyKind = "watch silent"  // a watch is open and shows nothing any more
	FoundLeak      AnomalyKind = "leak"          // the memory of the webhook's process grows

	OverRecovery AnomalyKind = "objective recovery" // more than the objectives allow
	OverFailed   AnomalyKind = "objective failed"
	OverLost     AnomalyKind = "objective lost"
	OverWrong    AnomalyKind = "objective wrong"
)

// Anomaly is something that a scenario may not allow.
type Anomaly struct {
	Kind     AnomalyKind `json:"kind"`
	Count    int         `json:"count"`
	Text     string      `json:"text"`               // one sentence without its full stop
	Examples []string    `json:"examples,omitempty"` // at most maxExamples
}

const maxExamples = 5

// Report is what a record comes to.
type Report struct {
	Void      []string  `json:"void,omitempty"` // why the record can't be judged; without a reason it is valid
	Facts     Facts     `json:"facts"`
	Anomalies []Anomaly `json:"findings,omitempty"` // none if the record is void
}

// Found returns the anomaly of a kind, and whether there is one.
func (r Report) Found(kind AnomalyKind) (Anomaly, bool) {
	for _, f := range r.Anomalies {
		if f.Kind == kind {
			return f, true
		}
	}
	return Anomaly{}, false
}

// Facts are the figures. Times are nil if what they measure did not happen.
type Facts struct {
	Quiet        time.Duration  `json:"quiet"` // how long each of these lasted
	Fault        time.Duration  `json:"fault"`
	After        time.Duration  `json:"after"`
	Operations   int            `json:"operations"` // since quiet
	Failed       int            `json:"failed"`     // since the fault began
	Failures     []Failure      `json:"failures,omitempty"`
	Regular      []Failure      `json:"regular,omitempty"`     // errors that clients have to expect, such as conflicts
	FirstFailure *time.Duration `json:"firstFailure"`          // from the beginning of the fault
	FirstSuccess *time.Duration `json:"firstSuccess"`          // from the end of the fault, of what needs a conversion
	Recovery     *time.Duration `json:"recovery"`              // from the end of the fault until all that is called is as before
	SinceReady   *time.Duration `json:"sinceReady,omitempty"`  // the same from ready; nil if nobody knows when that was
	Outages      []Outage       `json:"outages,omitempty"`     // by version
	Levels       []Level        `json:"levels,omitempty"`      // of what needs a conversion, and of what does not
	Lost         int            `json:"lost"`                  // objects whose history can't be explained, counting each thing that is wrong
	Wrong        int            `json:"wrong"`                 // conversions
	Compared     int            `json:"compared"`              // conversions that could be compared with those of the quiet webhook
	Uncompared   int            `json:"uncompared"`            // that could not, as the quiet webhook was not asked for the like
	Watches      []WatchFact    `json:"watches,omitempty"`     // by version
	Memory       *memory.Trend  `json:"memory,omitempty"`      // of the webhook; nil if that was not measured for long enough
	Lag          time.Duration  `json:"lag"`                   // most that the harness was late
	Undisturbed  bool           `json:"undisturbed,omitempty"` // no client noticed anything
}

// Outage returns the longest time during which nothing succeeded at some version.
func (f Facts) Outage() time.Duration {
	var longest time.Duration
	for _, o := range f.Outages {
		longest = max(longest, o.Longest)
	}
	return longest
}

// Judge judges a record by the usual bounds.
func Judge(h *History) (Report, error) { return JudgeWithin(h, UsualBounds()) }

// JudgeWithin judges a record. The error names an operation that can't be judged.
func JudgeWithin(h *History, b Bounds) (Report, error) {
	s, reasons := read(h, b)
	if len(reasons) > 0 {
		return Report{Void: reasons}, nil
	}
	f := Facts{Quiet: s.began - s.quiet, Fault: s.ended - s.began, After: s.end - s.ended, Lag: s.lag(h)}
	s.count(&f)
	s.measure(&f)
	anomalies, err := s.compare(h, &f)
	if err != nil {
		return Report{}, err
	}
	watches, gone := s.watches(h)
	f.Watches, f.Memory = watches, memoryOf(h)
	f.Undisturbed = f.Failed == 0 && f.Outage() == 0 && f.Recovery != nil && *f.Recovery == 0
	r := Report{Facts: f, Void: s.disturbed(h, f)}
	if len(r.Void) == 0 {
		r.Anomalies = slices.Concat(s.failed(f), anomalies, gone, leaks(f.Memory))
		r.Anomalies = append(r.Anomalies, exceeded(h.Header.Objective, f, h.Header.Limit)...)
	}
	return r, nil
}

// Recovered reports whether all is as before the fault: the level of Facts.Recovery, and watches that show what is written. It looks at
// nothing else, so it can be asked again and again while the record grows.
func Recovered(h *History) bool {
	s, reasons := read(h, UsualBounds())
	if len(reasons) > 0 {
		return false
	}
	var f Facts
	if s.measure(&f); f.Recovery == nil {
		return false
	}
	_, anomalies := s.watches(h)
	return len(anomalies) == 0
}
