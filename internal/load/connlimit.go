package load

import (
	"crypto/tls"
	"sync"
	"time"
)

const (
	// connectionsAhead is how many connections are open before the first request is due, if no more are wanted, and how many are opened
	// at once when more are needed.
	connectionsAhead = 10

	// hiccup is how long machines stand still now and then. What becomes due meanwhile must not open connections: the handshakes take
	// longer, more requests wait, and those open more, until there are as many as there may be.
	hiccup = 10 * time.Millisecond
)

// ahead is how many connections this generator opens before the first request: its share, and no more than it has requests for. Where
// one connection may carry all requests, a hiccup opens none.
func (w Workload) ahead(http2 bool) int {
	wanted := w.Part.share(connectionsAhead)
	if !http2 {
		wanted = max(wanted, uint64(w.Rate()*hiccup.Seconds()))
	}
	return max(1, int(min(wanted, uint64(w.inFlight()), w.Total())))
}

// slots let so many requests by the clock be in flight at once: as many as there are connections, and a few that open one each.
// A request that finds no idle connection opens one, and at some thousand requests a second what that costs would make more requests
// wait, which would open hundreds. So those that wait get the next connection that is idle, and connections are opened one after
// another, unless the rate cannot be had with those that there are.
type slots struct {
	free chan time.Time // when each slot became free, the oldest first
	rate float64        // of requests, per second
	few  int            // connections that were to be open at first

	mu          sync.Mutex
	connections int           // that were opened
	given       int           // slots, free or not
	fastest     time.Duration // response so far; 0 before the first
}

// newSlots returns the first few slots, of at most so many.
func newSlots(most, few int, rate float64) *slots {
	s := &slots{free: make(chan time.Time, most), rate: rate, few: few}
	s.give(few, time.Time{})
	return s
}

// opened records that a connection was opened, or could not be.
func (s *slots) opened(state tls.ConnectionState, err error) {
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections++
	switch {
	case state.NegotiatedProtocol == "h2": // one connection carries all requests
		s.give(cap(s.free), time.Now())
	case s.fastest == 0 && s.connections > s.few, float64(s.connections) < s.rate*s.fastest.Seconds():
		s.give(s.connections+connectionsAhead, time.Now())
	default:
		s.give(s.connections+1, time.Now())
	}
}

// give gives slots until there are so many, as far as there may be.
func (s *slots) give(wanted int, now time.Time) {
	for ; s.given < min(wanted, cap(s.free)); s.given++ {
		s.free <- now
	}
}

// answered frees the slot of a request that was answered, after some time of service.
func (s *slots) answered(done time.Time, service time.Duration) {
	s.mu.Lock()
	if s.fastest == 0 || service < s.fastest {
		s.fastest = service
	}
	s.mu.Unlock()
	s.free <- done
}
