package loadgen

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/contract/wire"
)

// run is one attack. It is vegeta's pacer, which says when requests are due, and its transport, which sends them.
type run struct {
	ctx      context.Context //nolint:containedctx // vegeta's interfaces have no room for one
	client   *wire.Client
	workload Workload
	requests []contract.Request
	bodies   [][]byte // of the requests
	tally    *tally
	clock    *clock
	began    time.Time // when request 0 is due

	// slots has one entry for each request that may be sent in addition to those in flight: when that became possible.
	// The oldest comes first.
	slots chan time.Time

	mu    sync.Mutex
	freed map[uint64]time.Time // when the slot of a request became free; only until the request is sent

	// Where the attack was stopped. Written by the pacer, read when vegeta has ended.
	cut     uint64    // first request that was not sent
	stopped time.Time // zero if the attack was not stopped
}

func newRun(ctx context.Context, client *wire.Client, w Workload) *run {
	slots := make(chan time.Time, w.inFlight())
	for range cap(slots) {
		slots <- time.Time{}
	}
	return &run{ctx: ctx, client: client, workload: w, tally: newTally(), clock: newClock(), slots: slots, freed: map[uint64]time.Time{}}
}

func (r *run) attack(progress func(Snapshot)) Summary {
	attacker := vegeta.NewAttacker(vegeta.Client(&http.Client{Transport: r}))
	targets := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodPost, URL: r.client.URL()})
	r.began = time.Now()
	results := attacker.Attack(targets, r, 0, "")

	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case _, more := <-results:
			if !more {
				return r.end()
			}
		case <-ticker.C:
			if progress != nil {
				progress(r.tally.snapshot(r.began))
			}
		}
	}
}

// end adds the requests that were due but still waited when the attack was stopped, and sums up. The connections are
// closed: whoever writes reports may need the file descriptors.
func (r *run) end() Summary {
	r.clock.close()
	r.client.Close()
	if !r.stopped.IsZero() {
		for n := r.cut; n < r.workload.Requests(); n++ {
			waited := r.stopped.Sub(r.due(n))
			if waited < 0 {
				break
			}
			r.tally.waiting(waited, r.stopped)
		}
	}
	return r.tally.summary(r.workload, r.began, !r.stopped.IsZero() || r.ctx.Err() != nil)
}

// interval is the time from one request to the next.
func (r *run) interval() float64 { return float64(time.Second) / r.workload.Rate }

// due is when a request is to be sent.
func (r *run) due(n uint64) time.Time { return r.began.Add(time.Duration(float64(n) * r.interval())) }

// Pace waits until the next request is due and may be sent, and tells vegeta to send it at once, or to stop. Vegeta would
// sleep by itself, but could not be woken.
func (r *run) Pace(_ time.Duration, n uint64) (time.Duration, bool) {
	if n >= r.workload.Requests() {
		return 0, true
	}
	for left := time.Until(r.due(n)); left > 0 && r.ctx.Err() == nil; left = time.Until(r.due(n)) {
		r.clock.wait(r.ctx, left)
	}
	free, ok := r.slot()
	if !ok {
		r.cut, r.stopped = n, time.Now()
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.freed[n] = free
	return 0, false
}

// slot waits until one more request may be in flight, and returns since when that is so. It gives up when the context ends,
// or when the requests in flight ought to be answered and are not: a webhook that stands still would make it go on for
// hours.
func (r *run) slot() (time.Time, bool) {
	if r.ctx.Err() != nil {
		return time.Time{}, false
	}
	select {
	case free := <-r.slots:
		return free, true
	default:
	}
	overtime := time.NewTimer(time.Until(r.began.Add(r.workload.Duration + r.client.Endpoint().Timeout)))
	defer overtime.Stop()
	select {
	case free := <-r.slots:
		return free, true
	case <-overtime.C:
	case <-r.ctx.Done():
	}
	return time.Time{}, false
}

// wait waits for a while, or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Rate is the rate of requests a second, the same all the time.
func (r *run) Rate(time.Duration) float64 { return r.workload.Rate }

// RoundTrip sends the request that vegeta wants to send, and takes its times. Vegeta numbers its requests; the number
// says when the request was due and what its body is.
func (r *run) RoundTrip(trigger *http.Request) (*http.Response, error) {
	n, err := strconv.ParseUint(trigger.Header.Get("X-Vegeta-Seq"), 10, 64)
	if err != nil {
		return nil, err
	}
	request := r.requests[n%uint64(len(r.requests))]
	body := bytes.Replace(r.bodies[n%uint64(len(r.bodies))], []byte(request.UID), []byte(uid(n)), 1)
	request.UID = uid(n)

	sent := time.Now()
	response := r.client.Send(r.ctx, body)
	done := time.Now()
	r.slots <- done
	m := measurement{
		n:        n,
		objects:  len(request.Objects),
		lag:      sent.Sub(r.ready(n)),
		service:  done.Sub(sent),
		response: done.Sub(r.due(n)),
		done:     done,
		in:       len(response.Body),
		out:      len(body),
	}
	switch lacking := shortage(response.Err); {
	case lacking != "":
		r.tally.unsent(lacking)
	case response.Interrupted:
		r.tally.unanswered(m)
	default:
		r.tally.add(m, response, request.Judge(response))
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil // vegeta need not know what came back
}

// ready is when the generator could send a request, at the earliest: when it was due or, if too many were in flight then,
// when the webhook was done with one of those. From there on delays are the generator's fault.
func (r *run) ready(n uint64) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	free, due := r.freed[n], r.due(n)
	delete(r.freed, n)
	if free.After(due) {
		return free
	}
	return due
}
