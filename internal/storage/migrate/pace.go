package migrate

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// window is how many writes the percentile of their latency is that of.
	window = 100

	// judged is after how many more writes the latency is looked at again.
	judged = 20

	// firstPause is how long the migration pauses that is too much for a webhook; each further pause is twice as long.
	firstPause = 2 * time.Second

	// pauses is how often it does so in a row before it stops.
	pauses = 5
)

// pace decides when requests are sent. It knows nothing of what they are about, except that PATCH requests are writes.
type pace struct {
	limiter   flowcontrol.RateLimiter // nil without a limit
	objective time.Duration
	waits     func(why string) // is called before it waits
	stop      context.CancelCauseFunc
	pause     time.Duration // the first one

	mu      sync.Mutex
	until   time.Time // nothing is sent before
	recent  []time.Duration
	further int // writes since the latency was looked at
	paused  int // in a row
}

func newPace(o Options, waits func(why string)) *pace {
	p := &pace{objective: o.MaxLatency, waits: waits, stop: func(error) {}, pause: firstPause}
	if o.QPS > 0 {
		p.limiter = flowcontrol.NewTokenBucketRateLimiter(float32(o.QPS), max(1, int(o.QPS/10)))
	}
	return p
}

// paced sends requests at a pace.
type paced struct {
	*pace
	next http.RoundTripper
}

func (p *pace) wrap(next http.RoundTripper) http.RoundTripper { return paced{p, next} }

// RoundTrip waits for its turn, sends the request, and learns from the response.
func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.wait(r.Context()); err != nil {
		return nil, err
	}
	began := time.Now()
	response, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusTooManyRequests {
		p.throttled(response.Header.Get("Retry-After"))
		return response, nil
	}
	if r.Method == http.MethodPatch {
		p.took(time.Since(began))
	}
	return response, nil
}

func (p *pace) wait(ctx context.Context) error {
	if p.limiter != nil {
		if err := p.limiter.Wait(ctx); err != nil {
			return err
		}
	}
	for {
		p.mu.Lock()
		left := time.Until(p.until)
		p.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		if err := pause.For(ctx, left); err != nil {
			return err
		}
	}
}

// hold has all requests wait, and reports whether they did not wait already.
func (p *pace) hold(long time.Duration) bool {
	until := time.Now().Add(long)
	held := p.until.After(time.Now())
	if until.After(p.until) {
		p.until = until
	}
	return !held
}

// throttled has all requests wait for as long as the API server asks one to.
func (p *pace) throttled(retryAfter string) {
	seconds, err := strconv.Atoi(retryAfter)
	if err != nil || seconds < 1 {
		seconds = 1
	}
	p.mu.Lock()
	first := p.hold(time.Duration(seconds) * time.Second)
	p.mu.Unlock()
	if first {
		p.waits(fmt.Sprintf("the API server is overloaded: waiting %ds", seconds))
	}
}

// took notes how long a write took. Beyond the objective, nothing is sent for a while; in the end the migration stops.
func (p *pace) took(long time.Duration) {
	if p.objective == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = append(p.recent, long)
	p.recent = p.recent[max(0, len(p.recent)-window):]
	if p.further++; p.further < judged {
		return
	}
	p.further = 0
	sorted := slices.Sorted(slices.Values(p.recent))
	worst := sorted[(len(sorted)*99-1)/100]
	if worst <= p.objective {
		p.paused = 0
		return
	}
	if p.paused++; p.paused > pauses {
		p.stop(incomplete("stopped: the slowest 1 %% of the latest writes took %s or more even after %d pauses, which exceeds the limit of %s", worst.Round(time.Millisecond), pauses, p.objective))
		return
	}
	p.recent = nil
	long = p.pause << (p.paused - 1)
	p.hold(long)
	p.waits(fmt.Sprintf("the slowest 1 %% of the latest writes took %s or more, which exceeds the limit of %s: waiting %s", worst.Round(time.Millisecond), p.objective, long))
}
