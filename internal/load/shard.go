package load

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

// Part says which requests of a workload one generator sends, when several share it. The zero value stands for all of them.
type Part struct {
	Index int       // of the generator, from 0
	Of    int       // how many generators share the workload; 0 when none does
	Start time.Time // when the workload begins for all of them; zero for at once
}

// Split returns what one of several generators sends of a workload. By the clock these are the requests index, index+of, index+2*of
// and so on, each when it is due in the whole. Clients and requests in flight are divided, what is left over goes to the first
// generators; clients take their requests along, so that those of one generator have as many to make as those of another. All
// together they send every request once. Each has something to do when they are not more than Workload.Shares.
func Split(w Workload, index, of int) Workload {
	w.Part = Part{Index: index, Of: of}
	return w
}

// Shares is how many generators can share the workload, at most: each needs a request to send, and a client or a slot to send
// it by.
func (w Workload) Shares() int {
	w.Part = Part{}
	return int(min(w.Total(), uint64(w.inFlight())))
}

// Share is which part of the whole workload is the generator's: of the clients or, by the clock, of the requests.
func (w Workload) Share() float64 {
	whole := w
	whole.Part = Part{}
	if w.Clients > 0 {
		return float64(w.inFlight()) / float64(whole.inFlight())
	}
	return float64(w.Total()) / float64(whole.Total())
}

// shared returns what is wrong with the part of an otherwise valid workload.
func (w Workload) shared() error {
	switch p := w.Part; {
	case p.Of < 0 || p.Index < 0 || p.Index >= max(p.Of, 1):
		return fmt.Errorf("load: part %d of %d: the index must be from 0 to one less than the number of parts", p.Index, p.Of)
	case p.Of > w.Shares():
		return fmt.Errorf("load: the workload cannot be shared by %d generators, only by up to %d: each needs a request, and a client or slot to send it", p.Of, w.Shares())
	}
	return nil
}

// number is the number, in the whole workload, of the n-th request of the part.
func (p Part) number(n uint64) uint64 { return uint64(p.Index) + n*uint64(max(p.Of, 1)) }

// share returns how many of a number of things belong to the part: every Of-th, starting at Index. If the number is unlimited, so is
// the share.
func (p Part) share(all uint64) uint64 {
	switch {
	case p.Of <= 1 || all == math.MaxUint64:
		return all
	case all <= uint64(max(p.Index, 0)):
		return 0
	}
	return (all-uint64(max(p.Index, 0))-1)/uint64(p.Of) + 1
}

// ofClients is how many of the requests that clients make are the part's: one, and of the others a share as large as that of the
// clients.
func (p Part) ofClients(requests uint64, clients int) uint64 {
	if p.Of <= 1 || p.Index < 0 || p.Index >= p.Of || requests < uint64(p.Of) {
		return p.share(requests)
	}
	// upTo is how many of the others are those of the first parts.
	upTo := func(parts int) uint64 {
		before := parts*(clients/p.Of) + min(parts, clients%p.Of)
		high, low := bits.Mul64(requests-uint64(p.Of), uint64(before))
		quotient, _ := bits.Div64(high, low, uint64(clients))
		return quotient
	}
	return 1 + upTo(p.Index+1) - upTo(p.Index)
}

// String names the generator as people count, as in "worker 2 of 4".
func (p Part) String() string { return fmt.Sprintf("worker %d of %d", p.Index+1, max(p.Of, 1)) }

// Lost is a part of a workload without any result, because its generator ended unexpectedly. No figure includes what it sent.
type Lost struct {
	Part   Part
	Share  float64 // of the whole workload; see Workload.Share
	Reason string  // why the generator ended, such as "exit status 137"; empty when that is not known
}

// PartialReason says which parts of the workload are missing from all figures, and why. It is empty if none is, whether or not the
// run was completed.
func (s Summary) PartialReason() string {
	if len(s.Lost) == 0 {
		return ""
	}
	var reasons []string
	missing := 0.0
	for _, lost := range s.Lost {
		missing += lost.Share
		reason := lost.Part.String()
		if lost.Reason != "" {
			reason += ": " + lost.Reason
		}
		reasons = append(reasons, reason)
	}
	what := "requests"
	if s.Workload.Clients > 0 {
		what = "clients"
	}
	return fmt.Sprintf("%.3g %% of the %s are missing from all figures: %s", 100*missing, what, strings.Join(reasons, "; "))
}
