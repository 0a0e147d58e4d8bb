package load

import (
	"context"
	"fmt"
	"math/bits"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/wire"
)

// run is one attack. It is vegeta's pacer, which says when requests are due, and its transport, which sends them.
type run struct {
	ctx      context.Context //nolint:containedctx // vegeta's interfaces have no room for one
	sender   *wire.Sender
	workload Workload
	bodies   []body
	watch    Watch
	tally    *tally
	self     self
	clock    *clock
	told     int       // seconds that the watch was told of
	began    time.Time // when request 0 is due

	slots *slots

	// awake is how long the pacer does not sleep before a request is due, which takes it some 50 us to wake up from.
	awake time.Duration

	// asleep is how long the pacer sleeps at least, and sends then all that is due: at high rates, setting the timer for each request
	// costs a third of what sending it does, which delays more of them, and by more. Both follow the mean rate.
	asleep time.Duration

	asked atomic.Uint64 // requests that clients took to send

	memory sync.Pool // of *[]byte, which responses are read into

	// Requests by the clock that are to be sent at once, by any worker, and how many more workers wait for one than there are.
	orders chan order
	spare  atomic.Int64

	mu sync.Mutex // of watch.Result

	// How far the pacer is, and where it was stopped or gave up. Written by the pacer, read when vegeta has ended.
	next    uint64    // first request that was not sent
	stopped time.Time // zero if all were sent
}

// order is a request that is to be sent. It could be sent when it was due or, if too many were in flight, when the webhook had answered
// one of those. Any later delay is the generator's fault.
type order struct {
	n          uint64
	ready, due time.Time
}

func newRun(ctx context.Context, sender *wire.Sender, w Workload, bodies []body, watch Watch) *run {
	r := &run{
		sender: sender, workload: w, bodies: bodies, watch: watch,
		tally: newTally(), self: watchSelf(), clock: newClock(),
		slots: newSlots(w.inFlight(), w.ahead(sender.Endpoint().HTTP2), w.Rate()), orders: make(chan order, w.inFlight()),
	}
	r.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: r.slots.opened})
	r.tally.encodes = w.Part.Of > 0
	switch rate := w.Rate(); {
	case rate <= 2000: // a tenth of a core at most
		r.awake = 50 * time.Microsecond
	case rate > 10_000:
		r.asleep = 150 * time.Microsecond
	}
	return r
}

// connectAhead opens the first connections of an attack, so that its first requests need not wait for handshakes. A slow handshake
// continues, and requests wait for it.
func (r *run) connectAhead() {
	connections := r.slots.few
	if r.sender.Endpoint().HTTP2 {
		connections = 1
	}
	within, cancel := context.WithTimeout(r.ctx, time.Second)
	defer cancel()
	r.sender.Open(within, connections)
}

func (r *run) attack() Summary {
	options := []func(*vegeta.Attacker){vegeta.Client(&http.Client{Transport: r})}
	if r.workload.Clients > 0 {
		clients := uint64(r.workload.inFlight())
		options = append(options, vegeta.Workers(clients), vegeta.MaxWorkers(clients))
	}
	targets := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodPost, URL: r.sender.URL()})
	// It counts as memory in use, though it takes none, so that garbage is collected a third as often. Of more, the pages would cost as
	// much as is saved.
	rest := make([]byte, 8<<20)
	defer runtime.KeepAlive(rest)
	r.began = r.beginning()
	wait(r.ctx, time.Until(r.began))
	r.self = watchSelf()
	results := vegeta.NewAttacker(options...).Attack(targets, r, 0, "")

	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case _, more := <-results:
			if !more {
				return r.end()
			}
		case <-ticker.C:
			snapshot := r.tally.tick(time.Since(r.began))
			r.told++
			if r.watch.Second != nil {
				r.watch.Second(snapshot)
			}
		}
	}
}

// end adds the requests that were due but still waited when the attack ended, and sums up. Unless the attack was stopped, these
// failed, because the webhook was too slow. The connections are closed, since writing reports may need the file descriptors.
func (r *run) end() Summary {
	r.clock.close()
	r.sender.Close()
	if !r.stopped.IsZero() {
		for n := r.next; n < r.workload.Total(); n++ {
			waited := r.stopped.Sub(r.due(n))
			if waited < 0 {
				break
			}
			r.tally.waiting(waited, r.stopped)
			if r.ctx.Err() == nil { // nobody stopped the run
				r.tellUnsent(r.workload.Part.number(n), r.due(n), waited, "overdue: never sent, since too many before it were not answered")
			}
		}
	}
	s := r.tally.summary(r.workload, r.began, r.ctx.Err() != nil)
	if !s.Partial {
		s = s.givenUp()
	}
	s.Generator = r.self.found()
	if n := len(s.Seconds); n > r.told && r.watch.Second != nil { // the last one may be short
		r.watch.Second(Snapshot{Elapsed: s.Elapsed, Requests: s.Requests, Failed: s.Failed(), P99: microseconds(s.Response.ValueAtPercentile(99)), Last: s.Seconds[n-1]})
	}
	return s
}

// beginning is when the run begins, by the clock that only goes forward: the other one may be set meanwhile.
func (r *run) beginning() time.Time {
	now := time.Now()
	if start := r.workload.Part.Start; !start.IsZero() {
		return now.Add(start.Sub(now))
	}
	return now
}

// due is when a request by the clock is to be sent.
func (r *run) due(n uint64) time.Time { return r.began.Add(r.workload.due(r.workload.Part.number(n))) }

// Pace has requests be sent when they are due and may be sent. When no worker is there to send one, it has vegeta start another, which is
// what vegeta calls a hit: a hit for each request would cost as much as judging it. Vegeta could wait itself, but could not be woken.
// Clients all start at once.
func (r *run) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	if r.workload.Clients > 0 {
		return 0, hits >= uint64(r.workload.inFlight())
	}
	for r.next < r.workload.Total() {
		o, ok := r.wait()
		if !ok {
			r.stopped = time.Now()
			break
		}
		r.next++
		r.orders <- o // has room for as many as may be in flight
		if r.spare.Add(-1) < 0 {
			r.spare.Add(1) // for the new one
			return 0, false
		}
	}
	close(r.orders)
	return 0, true
}

// wait waits until the next request is due and may be sent.
func (r *run) wait() (order, bool) {
	o := order{n: r.next, due: r.due(r.next)}
	for left := time.Until(o.due); left > 0 && r.ctx.Err() == nil; left = time.Until(o.due) {
		if left > r.awake {
			r.clock.wait(r.ctx, max(left-r.awake, r.asleep))
		}
	}
	free, ok := r.slot()
	if o.ready = free; o.due.After(free) {
		o.ready = o.due
	}
	return o, ok
}

// slot waits until one more request may be in flight, and returns since when that is so. It gives up when the context ends,
// or when the requests in flight ought to be answered and are not: a webhook that stands still would make it go on for
// hours.
func (r *run) slot() (time.Time, bool) {
	if r.ctx.Err() != nil {
		return time.Time{}, false
	}
	select {
	case free := <-r.slots.free:
		return free, true
	default:
	}
	overtime := time.NewTimer(time.Until(r.began.Add(r.workload.Length() + r.sender.Endpoint().Timeout)))
	defer overtime.Stop()
	select {
	case free := <-r.slots.free:
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

// Rate is the mean rate of requests a second.
func (r *run) Rate(time.Duration) float64 { return r.workload.Rate() }

// RoundTrip is a worker, or a client, until there is no more to be sent: to vegeta it is one request.
func (r *run) RoundTrip(*http.Request) (*http.Response, error) {
	if r.workload.Clients > 0 {
		r.ask()
	} else {
		r.work()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil // vegeta need not know what came back
}

// work sends what is ordered.
func (r *run) work() {
	for o := range r.orders {
		r.send(o.n, o.ready, o.due)
		r.spare.Add(1)
	}
}

// ask is a client: it sends a request as soon as the one before was answered, until its time is over.
func (r *run) ask() {
	for free := r.began; r.ctx.Err() == nil && time.Since(r.began) < r.workload.Duration; {
		n := r.asked.Add(1) - 1
		if n >= r.workload.Total() {
			return
		}
		free = r.send(n, free, free)
	}
}

// pooled is how much memory is kept for another response, in bytes, beside twice the size of the request. More is for the garbage
// collector: there may be hundreds of them.
const pooled = 256 << 10

// send sends the n-th request of this part, measures it and judges the response. It returns when the response has arrived.
func (r *run) send(nth uint64, ready, due time.Time) time.Time {
	n := r.workload.Part.number(nth)
	sending, id := r.bodies[n%uint64(len(r.bodies))], uid(n)
	memory, _ := r.memory.Get().(*[]byte)
	if memory == nil {
		memory = new([]byte)
	}
	sent := time.Now()
	response := r.sender.Send(r.ctx, *memory, sending.before, []byte(id), sending.after)
	done := time.Now()
	defer func() {
		if cap(response.Body) > 0 && cap(response.Body) <= 2*sending.size()+pooled {
			*memory = response.Body
		}
		r.memory.Put(memory)
	}()
	if r.workload.Clients == 0 {
		r.slots.answered(done, done.Sub(sent))
	}
	m := measurement{
		n:        n,
		objects:  sending.objects,
		lag:      sent.Sub(ready),
		service:  done.Sub(sent),
		response: done.Sub(due),
		done:     done,
		in:       len(response.Body),
		out:      sending.size(),
	}
	switch lacking := shortage(response.Err); {
	case lacking != "":
		r.tally.unsent(lacking)
		r.tellUnsent(n, due, done.Sub(due), "not sent, because the generator reached a limit: "+lacking)
	case response.Interrupted:
		r.tally.unanswered(m)
	case !r.judges(n, response):
		r.tally.add(m, exchange{response: response})
		r.tell(m, sent, response, nil)
	default:
		judgement := sending.judge.Judge(id, response)
		sending.expected.judge(&judgement, id, response)
		r.tally.add(m, exchange{body: sending, uid: id, response: response, judgement: &judgement})
		r.tell(m, sent, response, judgement.Rejected())
	}
	return done
}

// judges reports whether a response is judged. Everything but a complete response with status 200 always is.
func (r *run) judges(n uint64, response contract.Response) bool {
	// Numbers are spread by the golden ratio: what is sent in turn, and comes round, is judged in equal shares.
	share, _ := bits.Mul64(n*0x9E3779B97F4A7C15, uint64(max(r.workload.JudgeEvery, 1)))
	return share == 0 || response.Err != nil || response.Status != http.StatusOK
}

// tell passes a result to the watch.
func (r *run) tell(m measurement, sent time.Time, response contract.Response, rejected *contract.Violation) {
	if r.watch.Result == nil {
		return
	}
	result := &vegeta.Result{
		Seq: m.n, Code: uint16(response.Status), Timestamp: sent, Latency: m.service,
		BytesIn: uint64(m.in), BytesOut: uint64(m.out), Method: http.MethodPost, URL: r.sender.URL(),
	}
	if rejected != nil {
		result.Error = fmt.Sprintf("%s: %s", rejected.Requirement, rejected)
	}
	r.report(result)
}

// tellUnsent passes to the watch that a request was never sent, and for how long a client would have waited.
func (r *run) tellUnsent(n uint64, due time.Time, waited time.Duration, why string) {
	if r.watch.Result != nil {
		r.report(&vegeta.Result{Seq: n, Timestamp: due, Latency: waited, Method: http.MethodPost, URL: r.sender.URL(), Error: why})
	}
}

// report passes a result to the watch, one at a time.
func (r *run) report(result *vegeta.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch.Result(result)
}
