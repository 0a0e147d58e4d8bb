package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/wire"
)

// run is one attack of vegeta's. It is the pacer, which says when vegeta is to hit next, and the transport of vegeta's client, which sends
// the request as an API server does. Each hit is one request, and each request one hit.
type run struct {
	ctx      context.Context //nolint:containedctx // vegeta's interfaces have no room for one
	sender   *wire.Sender
	workload Workload
	bodies   []body
	watch    Watch
	tally    *tally
	self     self
	clock    *clock
	seconds  int       // that the watch has been given
	began    time.Time // when request 0 is due

	schedule schedule
	slots    *slots

	// awake is how long the pacer does not sleep before a request is due, which takes it some 50 us to wake up from.
	awake time.Duration

	// asleep is how long the pacer sleeps at least, and sends then all that is due: at high rates, setting the timer for each request
	// costs a third of what sending it does, which delays more of them, and by more. Both follow the mean rate.
	asleep time.Duration

	mu      sync.Mutex
	hits    map[uint64]*hit // from when the pacer lets them go until they are judged, by sequence number
	spare   sync.Pool       // of *hit
	reviews map[*byte]*body // what is sent, by where the targets' bodies begin

	results sync.Mutex // of watch.Result

	// How far the pacer is, and where it was stopped or gave up. Written by the pacer, read when vegeta has ended.
	next    uint64    // first request that was not sent
	stopped time.Time // zero if all were sent
}

func newRun(ctx context.Context, sender *wire.Sender, w Workload, bodies []body, watch Watch) *run {
	r := &run{
		sender: sender, workload: w, bodies: bodies, watch: watch, schedule: w.schedule(),
		tally: newTally(), self: watchSelf(), clock: newClock(), hits: map[uint64]*hit{}, reviews: map[*byte]*body{},
		slots: newSlots(w.inFlight(), w.ahead(sender.Endpoint().HTTP2), w.Rate()),
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
	workers := uint64(r.workload.inFlight())
	options := []func(*vegeta.Attacker){vegeta.Client(&http.Client{Transport: r}), vegeta.MaxWorkers(workers), vegeta.MaxBody(0)} // it need keep no bodies
	if r.workload.Clients > 0 {
		options = append(options, vegeta.Workers(workers))
		r.slots.give(r.workload.inFlight(), time.Time{})
	}
	// It counts as memory in use, though it takes none, so that garbage is collected less often: with a quarter of it, requests are sent half
	// as late again. With more, the generator takes more than 130 MiB.
	rest := make([]byte, 32<<20)
	defer runtime.KeepAlive(rest)
	r.began = r.beginning()
	_ = pause.For(r.ctx, time.Until(r.began))
	r.self = watchSelf()
	results := vegeta.NewAttacker(options...).Attack(vegeta.NewStaticTargeter(r.targets()...), r, 0, r.workload.Name)
	var judges sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		judges.Go(func() {
			for result := range results {
				r.returned(result)
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		judges.Wait()
		close(ended)
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return r.end()
		case <-ticker.C:
			snapshot := r.tally.tick(time.Since(r.began))
			r.seconds++
			if r.watch.Second != nil {
				r.watch.Second(snapshot)
			}
		}
	}
}

// targets are what vegeta sends over and over: the ConversionReviews of this part of the workload, in the order in which their turn comes.
// The transport gives each its uid.
func (r *run) targets() []vegeta.Target {
	targets := make([]vegeta.Target, len(r.bodies))
	for k := range targets {
		b := &r.bodies[r.workload.Part.number(uint64(k))%uint64(len(r.bodies))]
		review := b.bytes(uid(0))
		r.reviews[&review[0]] = b
		targets[k] = vegeta.Target{Method: http.MethodPost, URL: r.sender.URL(), Body: review}
	}
	return targets
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
		}
	}
	s := r.tally.summary(r.workload, r.began)
	if s.Partial = r.ctx.Err() != nil; !s.Partial {
		s = s.givenUp()
	}
	s.Generator = r.self.found()
	if n := len(s.Seconds); n > r.seconds && r.watch.Second != nil { // the last one may be short
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
func (r *run) due(n uint64) time.Time { return r.began.Add(r.schedule.due(r.workload.Part.number(n))) }

// Pace waits until the next request is due and may be sent, and has vegeta send it at once: vegeta itself would sleep for whole
// milliseconds, which is longer than a fast webhook takes to answer. That of clients is due when one of them has its answer.
func (r *run) Pace(_ time.Duration, sent uint64) (time.Duration, bool) {
	if sent >= r.workload.Total() {
		return 0, true
	}
	r.next = sent
	free, ok := r.turn(sent)
	if !ok {
		if r.workload.Clients == 0 {
			r.stopped = time.Now()
		}
		return 0, true
	}
	r.next++
	h, _ := r.spare.Get().(*hit)
	if h == nil {
		h = &hit{run: r}
	}
	if free.Before(r.began) {
		free = r.began // it was there from the beginning
	}
	h.due, h.ready = free, free
	if r.workload.Clients == 0 {
		h.due = r.due(sent)
		if h.ready.Before(h.due) {
			h.ready = h.due
		}
	}
	r.mu.Lock()
	r.hits[sent] = h
	r.mu.Unlock()
	return 0, false
}

// turn waits until a request is due and has a slot, and returns since when it had one. It returns false if it is not to be sent any more.
func (r *run) turn(n uint64) (time.Time, bool) {
	if r.workload.Clients == 0 {
		for r.ctx.Err() == nil {
			left, _ := r.schedule.Pace(time.Since(r.began), r.workload.Part.number(n))
			if left <= 0 {
				break
			}
			if left > r.awake {
				r.clock.wait(r.ctx, max(left-r.awake, r.asleep))
			}
		}
	}
	return r.slot()
}

// slot waits until one more request may be in flight, and returns since when that is so. It gives up when the context ends, when the
// time of clients is over, or when the requests in flight ought to be answered and are not: a webhook that stands still would make it go
// on for hours.
func (r *run) slot() (time.Time, bool) {
	limit := r.workload.Length()
	if r.workload.Clients == 0 {
		limit += r.sender.Endpoint().Timeout
	}
	left := time.Until(r.began.Add(limit))
	if r.ctx.Err() != nil || r.workload.Clients > 0 && left <= 0 {
		return time.Time{}, false
	}
	select {
	case free := <-r.slots.free:
		return free, true
	default:
	}
	overtime := time.NewTimer(left)
	defer overtime.Stop()
	select {
	case free := <-r.slots.free:
		return free, true
	case <-overtime.C:
	case <-r.ctx.Done():
	}
	return time.Time{}, false
}

// Rate is the mean rate of requests a second.
func (r *run) Rate(time.Duration) float64 { return r.workload.Rate() }

// RoundTrip sends the request of a hit as an API server does, with a uid of its own, and returns when the response is there.
func (r *run) RoundTrip(request *http.Request) (*http.Response, error) {
	seq, err := strconv.ParseUint(request.Header.Get("X-Vegeta-Seq"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("load: a request that is no hit: %w", err)
	}
	h := r.hit(seq)
	if _, err := io.Copy(h, request.Body); err != nil {
		return nil, err
	}
	h.uid = uid(r.workload.Part.number(seq))
	sent := time.Now()
	h.response = r.sender.Send(r.ctx, h.memory, h.body.before, []byte(h.uid), h.body.after)
	done := time.Now()
	r.slots.answered(done, done.Sub(sent))
	if h.response.Status == 0 {
		return nil, h.response.Err
	}
	h.answer = http.Response{
		Status: strconv.Itoa(h.response.Status) + " " + http.StatusText(h.response.Status), StatusCode: h.response.Status, Proto: h.response.Protocol,
		Body: h, ContentLength: -1, Request: request,
	}
	return &h.answer, nil
}

// hit is what vegeta's result does not say of a request. For vegeta it is the body of the response as well: one that is there already.
type hit struct {
	// due is when the request was to be sent, and ready when it could be: when it was due or, if too many were in flight, when the webhook
	// had answered one of those. Any later delay is the generator's fault.
	due, ready time.Time

	run      *run
	body     *body
	uid      string
	response contract.Response
	memory   []byte        // for the response
	answer   http.Response // for vegeta
}

// Write takes what vegeta has to send. It is in the memory of one of its targets, which is all that needs to be known of it.
func (h *hit) Write(review []byte) (int, error) {
	h.body = h.run.reviews[&review[0]]
	return len(review), nil
}

// WriteTo says how long the body is, and what is wrong with it.
func (h *hit) WriteTo(io.Writer) (int64, error) { return int64(len(h.response.Body)), h.response.Err }

// Read is not called: vegeta keeps no bytes of the body.
func (h *hit) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing. The body is judged later.
func (h *hit) Close() error { return nil }

// hit is that with a sequence number.
func (r *run) hit(seq uint64) *hit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hits[seq]
}

// pooled is how much memory is kept for another response, in bytes, beside twice the size of the request. More is for the garbage
// collector: there may be hundreds of them.
const pooled = 256 << 10

// forget ends a hit, whose memory is for others.
func (r *run) forget(seq uint64, h *hit) {
	r.mu.Lock()
	delete(r.hits, seq)
	r.mu.Unlock()
	if used := h.response.Body; cap(used) > 0 && cap(used) <= 2*h.body.size()+pooled {
		h.memory = used
	}
	*h = hit{run: r, memory: h.memory}
	r.spare.Put(h)
}

// returned adds up one of vegeta's results, and judges the response.
func (r *run) returned(result *vegeta.Result) {
	h := r.hit(result.Seq)
	defer r.forget(result.Seq, h)
	if result.Code != 0 {
		result.BytesIn = uint64(len(h.response.Body)) // vegeta counts only what it keeps
	}
	m := measurement{
		n:        r.workload.Part.number(result.Seq),
		objects:  h.body.objects,
		lag:      result.Timestamp.Sub(h.ready),
		service:  result.Latency,
		response: result.End().Sub(h.due),
		done:     result.End(),
		in:       result.BytesIn,
		out:      result.BytesOut,
	}
	switch lacking := shortage(h.response.Err); {
	case lacking != "":
		r.tally.unsent(lacking)
	case h.response.Interrupted:
		r.tally.unanswered(m)
	default:
		judgement := h.body.judge.Judge(h.uid, h.response)
		h.body.expected.judge(&judgement, h.uid, h.response)
		r.tally.add(m, exchange{body: *h.body, uid: h.uid, response: h.response, judgement: judgement})
	}
	if r.watch.Result != nil {
		r.results.Lock()
		defer r.results.Unlock()
		r.watch.Result(result)
	}
}
