package loadgen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// lateAfter is how long after it is due a request may be sent without counting as late: timers of an ordinary
	// machine are off by up to a few milliseconds.
	lateAfter = 10 * time.Millisecond

	// lateShare is the share of late requests beyond which a run says more about the generator than about the webhook.
	lateShare = 0.01

	// lateAtLeast is how many late requests make a run void, at least. In a short run a single pause of the machine would
	// be more than the share otherwise.
	lateAtLeast = 3

	// findings is how many violations are kept with their text.
	findings = 100
)

// Kind is a sort of error.
type Kind string

// The sorts of errors. A response counts for the first that fits.
const (
	Transport Kind = "transport" // no response, or half of one
	Timeout   Kind = "timeout"   // no response in time
	HTTP      Kind = "http"      // a status that API servers take for a failure
	Failure   Kind = "failed"    // the webhook says that the conversion failed
	Contract  Kind = "contract"  // a response that API servers reject
)

// kindOf sorts a response that API servers reject.
func kindOf(response contract.Response, violation contract.Violation) Kind {
	switch {
	case response.TimedOut:
		return Timeout
	case response.Err != nil:
		return Transport
	case violation.Requirement == requirement.WebhookResponseHTTPStatus:
		return HTTP
	case violation.Requirement == requirement.WebhookFailureAvoided:
		return Failure
	}
	return Contract
}

// Finding is a violation that was met under load.
type Finding struct {
	Request   uint64 // number of the request, from 0
	Violation contract.Violation
}

// Summary is what came of a workload.
type Summary struct {
	Workload Workload
	Began    time.Time
	Elapsed  time.Duration // from the first due request to the last response, or to where it was stopped
	Partial  bool          // stopped before its end
	Protocol string        // of the first response, such as HTTP/1.1

	Requests uint64 // sent, and answered or given up for lost
	Objects  uint64 // in them
	Good     uint64 // requests whose response API servers accept
	BytesIn  uint64 // of response bodies
	BytesOut uint64 // of request bodies

	// Unanswered is the number of requests that were due but not answered when the run was stopped. They are neither in
	// Requests nor among the failed, since nobody knows what would have become of them. The time that they had waited until
	// then is in Response, and in Service if they were sent: their true times are longer. Without it, a webhook that stands
	// still would look fast to the end.
	Unanswered uint64

	// Unsent has the requests that the generator could not send because it lacked something of its own, such as file
	// descriptors or ports, by what the system said. They are in nothing else. A single one makes the run void: the webhook
	// was not under the load that was asked for, and other failures may follow from the same lack, which is not always told.
	Unsent map[string]uint64

	// Times in microseconds, with three significant digits. Errors count too: their time passed for a client as well.
	Response *hdrhistogram.Histogram // from when a request was due
	Service  *hdrhistogram.Histogram // from when it was sent
	Lag      *hdrhistogram.Histogram // from when it could be sent, which is when it was due unless too many were in flight, to when it was

	Late       uint64                    // requests that the generator sent too late
	Errors     map[Kind]uint64           // requests whose response API servers reject, by kind
	Violations map[requirement.ID]uint64 // requests with a violation, by requirement, tolerated ones included
	Findings   []Finding                 // the first violations
}

// Void tells whether the run says nothing about the webhook, by the generator's own fault.
func (s Summary) Void() bool { return s.VoidReason() != "" }

// VoidReason says why the run is void. It is empty when the run is not.
func (s Summary) VoidReason() string {
	sent := s.Requests + s.Unanswered
	if unsent := s.NotSent(); unsent > 0 {
		var reasons []string
		for _, lacking := range slices.Sorted(maps.Keys(s.Unsent)) {
			reasons = append(reasons, fmt.Sprintf("%d times %q", s.Unsent[lacking], lacking))
		}
		return fmt.Sprintf("the generator could not send %d of %d requests, it met a limit of its own system: %s", unsent, sent+unsent, strings.Join(reasons, ", "))
	}
	if s.Late >= lateAtLeast && float64(s.Late) > lateShare*float64(sent) {
		return fmt.Sprintf("the generator was too busy: %d of %d requests were sent late", s.Late, sent)
	}
	return ""
}

// NotSent is the number of requests that the generator could not send.
func (s Summary) NotSent() uint64 {
	n := uint64(0)
	for _, times := range s.Unsent {
		n += times
	}
	return n
}

// LateAfter is how long after it is due a request counts as late.
func (s Summary) LateAfter() time.Duration { return lateAfter }

// Failed is the number of requests whose response API servers reject.
func (s Summary) Failed() uint64 { return s.Requests - s.Good }

// RequestRate is the number of requests a second that were answered.
func (s Summary) RequestRate() float64 { return perSecond(s.Requests, s.Elapsed) }

// ObjectRate is the number of objects a second that were converted as API servers accept it.
func (s Summary) ObjectRate() float64 {
	return perSecond(s.Good*uint64(s.Workload.Batch), s.Elapsed)
}

func perSecond(n uint64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(n) / elapsed.Seconds()
}

// Snapshot is how a run stands.
type Snapshot struct {
	Elapsed  time.Duration
	Requests uint64
	Failed   uint64
	P99      time.Duration // of the response time
}

type measurement struct {
	n                      uint64
	objects                int
	lag, service, response time.Duration
	done                   time.Time
	in, out                int
}

// tally adds up measurements. It is safe for use by many goroutines.
type tally struct {
	mu   sync.Mutex
	last time.Time
	sum  Summary
}

func newTally() *tally {
	// From a microsecond to an hour, with three significant digits.
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Hour.Microseconds(), 3) }
	return &tally{sum: Summary{
		Response:   histogram(),
		Service:    histogram(),
		Lag:        histogram(),
		Unsent:     map[string]uint64{},
		Errors:     map[Kind]uint64{},
		Violations: map[requirement.ID]uint64{},
	}}
}

func (t *tally) add(m measurement, response contract.Response, judgement contract.Judgement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.sum
	s.Requests++
	s.Protocol = cmp.Or(s.Protocol, response.Protocol)
	s.Objects += uint64(m.objects)
	s.BytesIn += uint64(m.in)
	s.BytesOut += uint64(m.out)
	t.times(m)
	if rejected := judgement.Rejected(); rejected == nil {
		s.Good++
	} else {
		s.Errors[kindOf(response, *rejected)]++
	}
	seen := map[requirement.ID]bool{}
	for _, v := range judgement.Violations {
		if !seen[v.Requirement] {
			s.Violations[v.Requirement]++
			seen[v.Requirement] = true
		}
		if len(s.Findings) < findings {
			s.Findings = append(s.Findings, Finding{m.n, v})
		}
	}
}

// unanswered adds a request that was sent, but not answered when the run was stopped.
func (t *tally) unanswered(m measurement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Unanswered++
	t.times(m)
}

// waiting adds a request that was due, but not sent when the run was stopped.
func (t *tally) waiting(waited time.Duration, stopped time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Unanswered++
	record(t.sum.Response, waited)
	t.until(stopped)
}

// unsent adds a request that could not be sent, for want of something.
func (t *tally) unsent(lacking string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Unsent[lacking]++
}

// times adds the times of a request. The caller holds the lock.
func (t *tally) times(m measurement) {
	record(t.sum.Response, m.response)
	record(t.sum.Service, m.service)
	record(t.sum.Lag, m.lag)
	if m.lag > lateAfter {
		t.sum.Late++
	}
	t.until(m.done)
}

// until makes the run last until a moment, at least. The caller holds the lock.
func (t *tally) until(moment time.Time) {
	if moment.After(t.last) {
		t.last = moment
	}
}

// record puts a time into a histogram; what is beyond its end counts as its end.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	us := min(max(d.Microseconds(), 1), h.HighestTrackableValue())
	if err := h.RecordValue(us); err != nil {
		panic(fmt.Sprintf("loadgen: %v", err)) // it was just clamped
	}
}

func (t *tally) snapshot(began time.Time) Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Snapshot{
		Elapsed:  time.Since(began),
		Requests: t.sum.Requests,
		Failed:   t.sum.Failed(),
		P99:      time.Duration(t.sum.Response.ValueAtPercentile(99)) * time.Microsecond,
	}
}

func (t *tally) summary(w Workload, began time.Time, partial bool) Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sum
	s.Workload, s.Began, s.Partial = w, began, partial
	if !t.last.IsZero() {
		s.Elapsed = t.last.Sub(began)
	}
	s.Unsent, s.Errors, s.Violations = maps.Clone(s.Unsent), maps.Clone(s.Errors), maps.Clone(s.Violations)
	s.Findings = slices.Clone(s.Findings)
	slices.SortStableFunc(s.Findings, func(a, b Finding) int { return cmp.Compare(a.Request, b.Request) })
	return s
}
