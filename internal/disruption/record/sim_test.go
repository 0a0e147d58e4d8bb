package record

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/crdconform/crdconform/internal/history"
)

// sim simulates clients of an API server and a webhook that is disrupted. Each operation takes effect at its call, so that the history
// can be explained unless a test changes it.
type sim struct {
	seed                      uint64
	rate                      int // operations a second
	warm, quiet, fault, after time.Duration
	answer                    func(s *sim, o *Operation) // changes what is normal
	change                    func(s *sim, h *History)
	random                    *rand.Rand
	began, ended, end         time.Duration
}

func (s *sim) history() *History {
	s.random = rand.New(rand.NewPCG(s.seed, 20))
	if s.rate == 0 {
		s.rate, s.warm, s.quiet, s.fault, s.after = 300, 100*time.Millisecond, 2*time.Second, 2*time.Second, 5*time.Second
	}
	s.began = s.warm + s.quiet
	s.ended = s.began + s.fault
	s.end = s.ended + s.after
	h := &History{
		Header: Header{
			Scenario: "disruption.test", Rate: float64(s.rate), Limit: s.after,
			Definition: Definition{Name: "widgets.example.com", Versions: []string{"v1", "v1beta1", "v1alpha1"}, Storage: "v1"},
			Before:     map[string]history.State{},
		},
		Marks: []Mark{
			{Name: Quiet, At: s.warm}, {Name: FaultBegan, At: s.began}, {Name: FaultEnded, At: s.ended}, {Name: End, At: s.end},
		},
	}
	states := map[string]history.State{}
	for n := range 10 {
		name := fmt.Sprintf("default/%d", n)
		states[name] = history.State{Exists: true, Content: name}
		h.Header.Before[name] = states[name]
	}
	step := time.Second / time.Duration(s.rate)
	for n := 0; time.Duration(n)*step < s.end; n++ {
		o := s.operation(n, time.Duration(n)*step, states)
		if s.answer != nil {
			s.answer(s, &o)
		}
		if o.Return >= s.end { // the run is over
			o.Return, o.Outcome, o.Error, o.Seen, o.Digest, o.Listed = s.end, history.Unknown, Canceled, nil, "", nil
		}
		h.Operations = append(h.Operations, o)
		if before, is := states[o.Object], o.Written != ""; is && (o.Outcome == history.Acknowledged || o.Error == Canceled) {
			states[o.Object] = history.State{Exists: true, Content: o.Written, Status: before.Status}
		}
	}
	for at := time.Duration(0); at < s.end; at += 50 * time.Millisecond {
		h.Lags = append(h.Lags, Lag{At: at, Lag: time.Duration(s.random.IntN(5)) * time.Millisecond})
	}
	for client, version := range h.Header.Definition.Versions {
		h.Watches = append(h.Watches, WatchEvent{Client: client, Version: version, State: Opened})
		for at := time.Duration(0); at < s.end; at += 100 * time.Millisecond {
			h.Watches = append(h.Watches, WatchEvent{
				Client: client, Version: version, At: at, State: Seen, Sight: &Sight{Object: "default/1", Digest: "of " + version},
			})
		}
	}
	if s.change != nil {
		s.change(s, h)
	}
	return h
}

// operation is what a client does at a time, and what a healthy webhook lets it see.
func (s *sim) operation(n int, at time.Duration, states map[string]history.State) Operation {
	version := []string{"v1", "v1beta1", "v1alpha1"}[s.random.IntN(3)]
	name := fmt.Sprintf("default/%d", s.random.IntN(len(states)))
	o := Operation{
		Operation: history.Operation{Client: n % 16, Object: name, Version: version, Call: at, Outcome: history.Acknowledged},
		Verb:      Get, Storage: version == "v1", Code: 200, Digest: "of " + version,
	}
	// Most take 1 to 5 ms, and a few more.
	o.Return = at + time.Millisecond + time.Duration(s.random.ExpFloat64()*float64(time.Millisecond))
	switch s.random.IntN(10) {
	case 0:
		o.Verb, o.Object, o.Digest, o.Items = List, "", "", 10
		o.Listed = []Sight{{Object: "default/2", Digest: "of " + version}}
		return o
	case 1, 2:
		o.Verb, o.Written = Patch, fmt.Sprintf("%s=%d", name, n)
		o.Seen = &history.State{Exists: true, Content: o.Written}
		return o
	}
	seen := states[name]
	o.Seen = &seen
	return o
}

// during reports whether the operation is called while the fault lasts.
func (s *sim) during(o *Operation) bool { return o.Call >= s.began && o.Call < s.ended }

// fail has an operation fail after a while.
func fail(o *Operation, kind Error, after time.Duration) {
	o.Outcome, o.Error, o.Code, o.Text = history.Refused, kind, 500, "no answer"
	o.Return = o.Call + after
	o.Seen, o.Digest, o.Listed, o.Items, o.Written = nil, "", nil, 0, ""
}

// conversions fail between two times after the beginning of the fault.
func failing(from, to time.Duration) func(*sim, *Operation) {
	return func(s *sim, o *Operation) {
		if at := o.Call - s.began; !o.Storage && at >= from && at < to {
			fail(o, Refused, time.Millisecond)
		}
	}
}

// hanging holds conversions up between two times, and answers them then.
func hanging(from, to time.Duration) func(*sim, *Operation) {
	return func(s *sim, o *Operation) {
		if at := o.Call - s.began; !o.Storage && at >= from && at < to {
			o.Return = s.began + to + time.Duration(s.random.IntN(5000))*time.Microsecond
		}
	}
}
