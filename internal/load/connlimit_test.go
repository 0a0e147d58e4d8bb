package load

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestSlots lets more requests be in flight with each connection: a few at once while the rate wants them, one after another when
// those that there are would do, and all where one connection carries all.
func TestSlots(t *testing.T) {
	t.Parallel()
	const most, rate = connectionsAhead + 90, 1000
	open := func(n int) func(*slots) {
		return func(s *slots) {
			for range n {
				s.opened(tls.ConnectionState{}, nil)
			}
		}
	}
	after := func(service time.Duration, then func(*slots)) func(*slots) {
		return func(s *slots) {
			<-s.free
			s.answered(time.Now(), service)
			<-s.free
			s.answered(time.Now(), time.Hour) // the fastest one counts
			then(s)
		}
	}
	for name, test := range map[string]struct {
		happens func(*slots)
		want    int
	}{
		"at first":                  {func(*slots) {}, connectionsAhead},
		"ahead":                     {open(connectionsAhead), connectionsAhead + 1},
		"ahead, as far as it goes":  {open(connectionsAhead / 2), connectionsAhead},
		"before an answer":          {open(1 + connectionsAhead), 1 + 2*connectionsAhead},
		"not opened":                {func(s *slots) { s.opened(tls.ConnectionState{}, errors.New("refused")) }, connectionsAhead},
		"HTTP/2":                    {func(s *slots) { s.opened(tls.ConnectionState{NegotiatedProtocol: "h2"}, nil) }, most},
		"most":                      {open(500), most},
		"fast, the first":           {after(time.Millisecond, open(1)), connectionsAhead},
		"fast, as many as at first": {after(time.Millisecond, open(connectionsAhead)), connectionsAhead + 1},
		"fast, and more":            {after(time.Millisecond, open(connectionsAhead+20)), connectionsAhead + 21},
		"slow":                      {after(50*time.Millisecond, open(30)), 30 + connectionsAhead},
		"slow, and enough":          {after(50*time.Millisecond, open(70)), 71},
	} {
		s := newSlots(most, connectionsAhead, rate)
		if test.happens(s); len(s.free) != test.want {
			t.Errorf("%s: %d may be in flight, want %d", name, len(s.free), test.want)
		}
	}
}

// TestAhead opens as many connections before the first request as are wanted after a hiccup, within what may be in flight.
func TestAhead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		workload Workload
		http2    bool
		want     int
	}{
		"slow":             {Workload{Phases: Constant(100, time.Second), InFlight: 50}, false, connectionsAhead},
		"fast":             {Workload{Phases: Constant(3000, time.Second), InFlight: 50}, false, 30},
		"faster":           {Workload{Phases: Constant(9000, time.Second), InFlight: 50}, false, 50},
		"a third of a job": {Workload{Phases: Constant(3000, time.Second), InFlight: 50, Part: Part{Of: 3}}, false, 10},
		"few requests":     {Workload{Phases: Constant(3, time.Second), InFlight: 50}, false, 3},
		"HTTP/2":           {Workload{Phases: Constant(3000, time.Second), InFlight: 50}, true, connectionsAhead},
		"clients":          {Workload{Clients: 4, Duration: time.Second}, false, 4},
	} {
		if got := test.workload.ahead(test.http2); got != test.want {
			t.Errorf("%s: %d connections, want %d", name, got, test.want)
		}
	}
}

// TestGroups sends more than 10,000 requests a second, as the pacer does in groups: each once, and none before it is due.
func TestGroups(t *testing.T) {
	t.Parallel()
	w := Workload{Phases: Constant(20_000, 100*time.Millisecond), InFlight: 100, Batch: 1, ReviewVersion: "v1", Pairs: crontabs.Pairs()[:1]}
	sent := map[uint64]time.Time{}
	s, err := attack(t.Context(), connect(t, webhook.Handler()), w, Watch{Result: func(r *vegeta.Result) { sent[r.Seq] = r.Timestamp }})
	if err != nil || s.Requests != 2000 || len(sent) != 2000 {
		t.Fatalf("%d requests, of which %d differ, %v", s.Requests, len(sent), err)
	}
	for n, at := range sent {
		if early := s.Began.Add(w.due(n)).Sub(at); early > 0 {
			t.Errorf("request %d was sent %s before it was due", n, early)
		}
	}
}
