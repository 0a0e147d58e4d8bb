//go:build linux

package main

import (
	"context"
	"encoding/gob"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/test/figures"
)

// stalls says when a server answers: Service after a request came, but never while it stalls. What it is busy with, or what
// comes, is answered after the stall.
type stalls struct {
	Service time.Duration
	First   time.Duration // when the first stall begins, counted from the first request
	Every   time.Duration // from the beginning of a stall to that of the next
	Length  time.Duration // of a stall; 0 for none
}

// answered is when a request that came at some time is answered, both counted from the first request.
func (s stalls) answered(came time.Duration) time.Duration {
	end := came + s.Service
	if end < s.First || s.Length == 0 {
		return end
	}
	began := end - (end-s.First)%s.Every
	if stopped := began + s.Length; came < stopped {
		return max(end, stopped)
	}
	return end
}

// truth is how long each request has to wait for its answer from when it is due, shortest first: n requests become due at a
// rate and are sent in that order, each as soon as one of some connections is free. Beside the service, a request takes up its
// connection for one of the overheads.
func (s stalls) truth(n int, rate float64, connections int, o overheads) []time.Duration {
	free := make([]time.Duration, connections)
	times := make([]time.Duration, n)
	for i := range times {
		due := time.Duration(float64(i) / rate * float64(time.Second))
		next := slices.Index(free, slices.Min(free))
		times[i] = s.answered(max(due, free[next])) + o.next(i, free[next] > due) - due
		free[next] = due + times[i]
	}
	slices.Sort(times)
	return times
}

// overheads are what requests take beside the service: the network, and the work of both ends. What becomes due is sent evenly,
// but what has waited is sent and answered all at once, so that requests wait for processors.
type overheads struct{ even, busy []time.Duration }

// String returns the medians.
func (o overheads) String() string {
	median := func(times []time.Duration) string { return rounded(at(slices.Sorted(slices.Values(times)), 50)) }
	return fmt.Sprintf("of %s, and of %s after a stall", median(o.even), median(o.busy))
}

// next is that of the n-th request: they follow each other over and over.
func (o overheads) next(n int, waited bool) time.Duration {
	if waited {
		return o.busy[n%len(o.busy)]
	}
	return o.even[n%len(o.even)]
}

// at is what a share of sorted times does not exceed.
func at(times []time.Duration, percentile float64) time.Duration {
	return times[max(int(math.Ceil(percentile/100*float64(len(times)))), 1)-1]
}

// The load under which the server stalls.
const (
	stallRate        = 1000.0
	stallConnections = 10
	stallTime        = 30 * time.Second
)

func stallRequest(b *testing.B) contract.Request {
	b.Helper()
	return content{1, 1 << 10}.requests(b)[0]
}

// stalling is the server: it works for 6 ms, beside which little else counts, and stalls for a second in every ten. Its
// connections carry 1,600 requests a second, so that what a stall has held up is through 1.7 s after it.
func stalling() stalls {
	return stalls{Service: 6 * time.Millisecond, First: 4 * time.Second, Every: 10 * time.Second, Length: time.Second}
}

// answers are when requests were answered, in nanoseconds of Unix time, by the number that loadgen writes at the end of the uid.
type answers map[uint64]int64

// stalled is the job of that server.
type stalled struct {
	Stalls  stalls
	Request contract.Request
}

// serveStalling is the program of that server. When it ends it reports its answers.
func serveStalling(ctx context.Context, job *gob.Decoder, report func(any) error) error {
	var todo stalled
	if err := job.Decode(&todo); err != nil {
		return err
	}
	s := todo.Stalls
	server, err := newCanned(ctx, todo.Request)
	if err != nil {
		return err
	}
	var first sync.Once
	var began time.Time
	var mu sync.Mutex
	log := answers{}
	var exact timers
	server.waiting = func(uid []byte) func() {
		came := time.Now()
		first.Do(func() { began = came })
		exact.wait(time.Until(began.Add(s.answered(came.Sub(began)))))
		return func() {
			now := time.Now().UnixNano()
			mu.Lock()
			defer mu.Unlock()
			if n, err := strconv.ParseUint(string(uid[len(uid)-12:]), 16, 64); err == nil {
				log[n] = now
			}
		}
	}
	if err := server.serve(ctx, report); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	return report(log)
}

// measureStalls compares the response times that loadgen reports of a server that stalls with those in the server's own log, and that
// log with what is computed, since a machine that is busy delays both ends alike. What other generators report stands beside it.
func measureStalls(b *testing.B) []figures.Claim {
	b.Helper()
	others := tools(b)
	a := attack{Requests: []contract.Request{stallRequest(b)}, Connections: stallConnections, Rate: stallRate, Duration: stallTime}
	s := stalling()
	beside := overheads{even: measureOverheads(b, s.Service, stallRate), busy: measureOverheads(b, s.Service, 0)}
	computed := s.truth(int(a.Rate*a.Duration.Seconds()), a.Rate, a.Connections, beside)
	own, log := underStalls(b, func(a attack) outcome { return a.by(b, loadgenAttack) }, a)
	var logged []time.Duration
	for n, answered := range log {
		due := own.Began.Add(time.Duration(float64(n) / a.Rate * float64(time.Second)))
		logged = append(logged, time.Unix(0, answered).Sub(due))
	}
	slices.Sort(logged)
	seen := map[string][]time.Duration{}
	rival, _ := underStalls(b, func(a attack) outcome { return a.by(b, vegetaAttack) }, a)
	seen[vegetaAttack] = rival.Times
	for _, t := range others {
		if t.path != "" {
			o, _ := underStalls(b, func(a attack) outcome { return t.attack(b, a) }, a)
			seen[t.name] = o.Times
		}
	}
	const (
		asked = 2
		wrong = 10 // percent that the server may be off what it was to do; it does so on a machine that has other work now and then
	)
	var measured []figures.Claim
	for i, percentile := range percentiles() {
		truth := at(computed, percentile)
		how := []string{
			"computed " + rounded(truth), "loadgen " + rounded(own.Times[i]), "log of the server " + rounded(at(logged, percentile)),
			"vegeta " + rounded(rival.Times[i]),
		}
		for _, t := range others {
			if t.path == "" {
				how = append(how, t.name+" is not installed")
				continue
			}
			how = append(how, t.name+" "+rounded(seen[t.name][i]))
		}
		if i == 0 {
			how = append(how, fmt.Sprintf("%.0f/s for %s over %d connections at most, %s of service, overheads %s", a.Rate, a.Duration, a.Connections, s.Service, beside),
				"each tool gets that cap: vegeta by Workers and MaxWorkers, which are unlimited by default, and loadgen by InFlight",
				"wrk knows no rate")
		}
		measured = append(measured, figures.Claim{
			What: fmt.Sprintf("stalls of 1 s in 10 s, p%g off the log of the server", percentile), Asked: asked, Unit: "%", How: strings.Join(how, ", "),
			Measured: off(own.Times[i], at(logged, percentile)), Missing: busy(own, off(at(logged, percentile), truth), wrong),
		})
	}
	return measured
}

// off is by how many percent a time is off what it ought to be.
func off(d, truth time.Duration) float64 { return 100 * math.Abs(float64(d-truth)) / float64(truth) }

// busy says why a run under stalls proves nothing: the generator says so, or the server itself, by its own log, did not answer when it
// was to.
func busy(own outcome, server, most float64) string {
	switch {
	case own.Void != "":
		return "the machine was busy: " + own.Void
	case server > most:
		return fmt.Sprintf("the machine was busy: the server itself was %.2g %% off what it was to do", server)
	}
	return ""
}

// underStalls has a server of its own attacked, and returns what the generator reports and what the server did.
func underStalls(b *testing.B, by func(attack) outcome, a attack) (outcome, answers) {
	b.Helper()
	server := start(b, stallingServer, stalled{stalling(), a.Requests[0]})
	server.read(b, &a.Endpoint)
	o := by(a)
	_ = server.in.Close()
	var log answers
	server.read(b, &log)
	server.stop(b)
	return o, log
}

// TestTruth holds the computed response times to what follows from simple cases by hand.
func TestTruth(t *testing.T) {
	const ms = time.Millisecond
	same := func(d time.Duration) overheads { return overheads{[]time.Duration{d}, []time.Duration{d}} }
	for name, c := range map[string]struct {
		stalls      stalls
		n           int
		rate        float64
		connections int
		overheads   overheads
		want        []time.Duration // shortest first
	}{
		"idle":       {stalls{Service: 5 * ms}, 3, 100, 1, same(ms), []time.Duration{6 * ms, 6 * ms, 6 * ms}},
		"uneven":     {stalls{Service: 10 * ms}, 4, 100, 1, overheads{[]time.Duration{ms}, []time.Duration{0, 3 * ms}}, []time.Duration{11 * ms, 14 * ms, 14 * ms, 17 * ms}},
		"overloaded": {stalls{Service: 15 * ms}, 4, 100, 1, same(0), []time.Duration{15 * ms, 20 * ms, 25 * ms, 30 * ms}},
		"shared":     {stalls{Service: 15 * ms}, 4, 100, 2, same(0), []time.Duration{15 * ms, 15 * ms, 15 * ms, 15 * ms}},
		// Due at 0, 10, ... 50 ms; the stall is from 15 to 45 ms. What came at 10 ms is caught in it, the next three wait for
		// connections, of which there are two, and the last finds one.
		"stall": {
			stalls{Service: 8 * ms, First: 15 * ms, Every: time.Second, Length: 30 * ms},
			6, 100, 2, same(0),
			[]time.Duration{8 * ms, 11 * ms, 13 * ms, 23 * ms, 25 * ms, 35 * ms},
		},
		"stalls": { // from 10 to 20 ms and from 40 to 50 ms; requests every 20 ms
			stalls{Service: 5 * ms, First: 10 * ms, Every: 30 * ms, Length: 10 * ms},
			3, 50, 1, same(0),
			[]time.Duration{5 * ms, 5 * ms, 10 * ms},
		},
	} {
		if got := c.stalls.truth(c.n, c.rate, c.connections, c.overheads); !slices.Equal(got, c.want) {
			t.Errorf("%s: response times %v, want %v", name, got, c.want)
		}
	}
	for percentile, want := range map[float64]time.Duration{50: 2, 75: 3, 99.9: 4, 0: 1} {
		if got := at([]time.Duration{1, 2, 3, 4}, percentile); got != want {
			t.Errorf("percentile %g of 1 to 4 is %d, want %d", percentile, got, want)
		}
	}
}
