package loadgen

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
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
	began    time.Time // when request 0 is due
}

func (r *run) attack(progress func(Snapshot)) Summary {
	attacker := vegeta.NewAttacker(vegeta.Client(&http.Client{Transport: r}))
	stop := context.AfterFunc(r.ctx, func() { attacker.Stop() })
	defer stop()
	targets := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodPost, URL: r.client.URL()})
	r.began = time.Now()
	results := attacker.Attack(targets, r, 0, "")

	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case _, more := <-results:
			if !more {
				return r.tally.summary(r.workload, r.began, r.ctx.Err() != nil)
			}
		case <-ticker.C:
			if progress != nil {
				progress(r.tally.snapshot(r.began))
			}
		}
	}
}

// interval is the time from one request to the next.
func (r *run) interval() float64 { return float64(time.Second) / r.workload.Rate }

// due is when a request is to be sent, counted from the beginning of the attack.
func (r *run) due(n uint64) time.Duration { return time.Duration(float64(n) * r.interval()) }

// Pace waits until the next request is due, and tells vegeta to send it at once, or to stop. Vegeta would sleep by itself,
// but could not be woken.
func (r *run) Pace(_ time.Duration, sent uint64) (time.Duration, bool) {
	if sent >= r.workload.Requests() {
		return 0, true
	}
	if wait := r.due(sent) - time.Since(r.began); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.ctx.Done():
		}
	}
	return 0, r.ctx.Err() != nil
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
	if r.ctx.Err() != nil {
		return ok(), nil //nolint:nilerr // it was cut off, which says nothing about the webhook
	}
	due := r.began.Add(r.due(n))
	r.tally.add(measurement{
		n:        n,
		objects:  len(request.Objects),
		lag:      sent.Sub(due),
		service:  done.Sub(sent),
		response: done.Sub(due),
		done:     done,
		in:       len(response.Body),
		out:      len(body),
	}, response, request.Judge(response))
	return ok(), nil
}

// ok is what vegeta gets to see: it need not know what came back.
func ok() *http.Response { return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody} }
