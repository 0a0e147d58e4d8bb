package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/load"
)

const (
	// overtime is how long after everything ought to be over a worker may be silent before it counts as lost.
	overtime = 30 * time.Second

	// parting limits how long workers may take to write their results after an order to stop.
	parting = 15 * time.Second

	// repeating is how often an order is given again that has no effect yet: some ways for orders lose one now and then.
	repeating = time.Second

	// renewing is the interval at which the coordinator renews the lease of workers. Several renewals may be missed.
	renewing = 20 * time.Second
)

// coordinator leads the workers of one run.
type coordinator struct {
	load     Load
	workers  Workers
	lead     time.Duration
	watch    load.Watch
	members  []*member
	events   chan event
	orders   []time.Time // when each was given, from the first
	renewed  time.Time   // when the lease of workers was last renewed
	started  time.Time   // when the workload begins; zero before that is known
	stopping bool

	// What was passed to the watch so far.
	seconds          int
	requests, failed uint64
	response         *hdrhistogram.Histogram
}

// member is what is known of a worker.
type member struct {
	workload load.Workload
	giveUp   func(cause error)
	cause    func() error // why the worker was given up; nil if it was not
	ready    bool
	ordered  bool // to start, as far as the coordinator knows
	acked    bool // it confirmed the order
	ended    bool
	err      error  // why it did not end with success
	words    string // first line that is no message
	seconds  []load.Second
	result   *result // nil before it came; whole, with the seconds that came before
	measured int     // seconds that belong to it
}

// event is a line of a worker, or its end.
type event struct {
	index int
	line  []byte // nil at the end
	err   error
}

func newCoordinator(l Load, workers Workers, lead time.Duration, watch load.Watch) *coordinator {
	c := &coordinator{load: l, workers: workers, lead: lead, watch: watch, events: make(chan event)}
	for index := range l.Workers {
		c.members = append(c.members, &member{workload: load.Split(l.Workload, index, l.Workers)})
	}
	return c
}

// run returns when all workers have ended or were given up.
func (c *coordinator) run(ctx context.Context) (load.Summary, error) {
	apart := context.WithoutCancel(ctx) // workers are ordered to stop, and given time to
	for index, m := range c.members {
		given, giveUp := context.WithCancelCause(apart)
		defer giveUp(nil)
		m.giveUp, m.cause = giveUp, func() error { return context.Cause(given) }
		go func() {
			err := c.workers.Follow(given, index, func(line []byte) { c.events <- event{index: index, line: line} })
			c.events <- event{index: index, err: err}
		}()
	}
	alarm := time.NewTimer(c.load.patience())
	defer alarm.Stop()
	again := time.NewTicker(repeating)
	defer again.Stop()
	interrupted := ctx.Done()
	for c.any(func(m *member) bool { return !m.ended }) {
		select {
		case e := <-c.events:
			c.hear(e)
		case <-alarm.C:
			c.impatient()
		case <-again.C:
			c.repeat(apart)
		case <-interrupted:
			interrupted = nil
			c.stop(apart)
			alarm.Reset(parting)
		}
		if c.gathered() {
			alarm.Reset(c.start(apart))
		}
	}
	return c.merged(ctx)
}

// any reports whether there is such a worker.
func (c *coordinator) any(is func(*member) bool) bool { return slices.ContainsFunc(c.members, is) }

// gathered reports whether it is time to start: all workers that are left are ready.
func (c *coordinator) gathered() bool {
	return c.started.IsZero() && !c.stopping &&
		c.any(func(m *member) bool { return !m.ended }) && !c.any(func(m *member) bool { return !m.ended && !m.ready })
}

// start orders all workers to start, and returns the time by which they must be done.
func (c *coordinator) start(ctx context.Context) time.Duration {
	c.started = time.Now().Add(c.lead)
	for _, m := range c.members {
		m.workload.Part.Start = c.started
	}
	c.repeat(ctx)
	return time.Until(c.started) + c.load.duration()
}

// stop orders all workers to end with the results so far. Those that have not even said hello are given up.
func (c *coordinator) stop(ctx context.Context) {
	c.stopping = true
	for _, m := range c.members {
		if !m.ready {
			m.giveUp(errors.New("the run was stopped before it said that it is ready"))
		}
	}
	c.repeat(ctx)
}

// repeat gives the order of the hour to all workers on which it has had no effect so far.
func (c *coordinator) repeat(ctx context.Context) {
	switch {
	case c.stopping:
		c.send(ctx, order{Stop: true}, func(m *member) bool { return m.ready && m.result == nil })
	case c.started.IsZero():
	case time.Since(c.started) < late:
		c.send(ctx, order{Start: c.started, Lead: time.Until(c.started)}, func(m *member) bool { return m.ready && !m.acked })
	default:
		for _, m := range c.members {
			if m.ready && !m.acked {
				m.giveUp(errors.New("it never confirmed the order to start"))
			}
		}
		if time.Since(c.renewed) >= renewing {
			c.renewed = time.Now()
			c.send(ctx, order{}, func(m *member) bool { return m.acked && m.result == nil })
		}
	}
}

// send gives an order to all such workers at the same time. A worker that cannot receive the order to start is given up: it would
// wait forever.
func (c *coordinator) send(ctx context.Context, o order, which func(*member) bool) {
	c.orders = append(c.orders, time.Now())
	o.Number = len(c.orders)
	line, unwritten := json.Marshal(o)
	within, cancel := context.WithTimeout(ctx, c.lead)
	defer cancel()
	var sending sync.WaitGroup
	for index, m := range c.members {
		if m.ended || !which(m) {
			continue
		}
		sending.Go(func() {
			err := errors.Join(unwritten, c.workers.Send(within, index, line))
			switch {
			case err == nil:
				m.ordered = true
			case !m.ordered && !o.Stop:
				m.giveUp(fmt.Errorf("could not start it: %w", err))
			}
		})
	}
	sending.Wait()
}

// impatient gives up workers that are overdue.
func (c *coordinator) impatient() {
	for _, m := range c.members {
		switch {
		case m.ended:
		case c.stopping:
			m.giveUp(fmt.Errorf("it did not stop within %s", parting))
		case !c.started.IsZero():
			m.giveUp(fmt.Errorf("it had no result %s after everything should have been over", overtime))
		case !m.ready:
			m.giveUp(fmt.Errorf("it was not ready within %s", c.load.patience()))
		}
	}
}

// hear takes in what a worker writes.
func (c *coordinator) hear(e event) {
	m := c.members[e.index]
	if e.line == nil {
		m.ended, m.err = true, e.err
		c.progress()
		return
	}
	said, ok := parse(e.line)
	switch {
	case m.cause() != nil: // whatever it says, it is lost
	case !ok:
		m.overhear(e.line)
	case said.Hello != nil && said.Hello.Protocol != protocol:
		m.giveUp(otherProtocol(said.Hello.Protocol))
	case said.Hello != nil && said.Hello.Index != e.index:
		m.giveUp(fmt.Errorf("it works as worker %d, but should be worker %d", said.Hello.Index+1, e.index+1))
	case said.Hello != nil:
		m.ready = true
	case said.Ack != nil && !m.acked:
		m.acked = true
		if err := c.punctual(*said.Ack); err != nil {
			m.giveUp(err)
		}
	case said.Second != nil:
		if err := m.second(*said.Second); err != nil {
			m.giveUp(err)
		}
		c.progress()
	case said.Result != nil && m.result == nil:
		summary, err := said.Result.complete(m.workload, m.seconds)
		if err == nil {
			_, err = load.Merge(summary)
		}
		if err != nil {
			m.giveUp(fmt.Errorf("its result cannot be used: %w", err))
			return
		}
		m.result, m.measured = said.Result, len(m.seconds) // decoded again in the end, as its histograms are large
	}
}

// punctual says what is wrong with the clock of a worker that has just acknowledged an order: it has to show a time between when
// the order was given and now.
func (c *coordinator) punctual(a ack) error {
	if a.Order < 1 || a.Order > len(c.orders) {
		return fmt.Errorf("it confirmed order %d, but the last one given was %d", a.Order, len(c.orders))
	}
	if ahead := time.Until(a.Clock); ahead > skew {
		return fmt.Errorf("its clock is %s ahead of this machine's, at least; set it", ahead.Round(time.Millisecond))
	}
	if behind := c.orders[a.Order-1].Sub(a.Clock); behind > skew {
		return fmt.Errorf("its clock is %s behind this machine's, at least; set it", behind.Round(time.Millisecond))
	}
	return nil
}

// maxWords is how much is kept of what a worker says that is no message, in bytes.
const maxWords = 500

// overhear keeps the first line that is no message: it says why a worker dies.
func (m *member) overhear(line []byte) {
	if text := strings.TrimSpace(string(line)); m.words == "" && text != "" {
		m.words = strings.ToValidUTF8(text[:min(len(text), maxWords)], "")
	}
}

// second takes in a second. One that came before is passed over.
func (m *member) second(s second) error {
	switch {
	case s.Number > len(m.seconds):
		return fmt.Errorf("its measurements of second %d are missing", len(m.seconds)+1)
	case s.Number < len(m.seconds):
		return nil
	}
	if _, _, err := load.MergeSecond(s.Second); err != nil {
		return fmt.Errorf("its measurements of second %d cannot be used: %w", s.Number+1, err)
	}
	m.seconds = append(m.seconds, s.Second)
	return nil
}

// progress passes a second to the watch once all remaining workers have reported it.
func (c *coordinator) progress() {
	for c.watch.Second != nil {
		var seconds []load.Second
		for _, m := range c.members {
			switch {
			case len(m.seconds) > c.seconds:
				seconds = append(seconds, m.seconds[c.seconds])
			case !m.ended && m.ready && m.result == nil:
				return
			}
		}
		if len(seconds) == 0 {
			return
		}
		merged, response, err := load.MergeSecond(seconds...)
		if err != nil {
			return // each was merged alone when it came, so there is none
		}
		c.seconds++
		if c.response == nil {
			c.response = response
		} else {
			c.response.Merge(response)
		}
		c.requests += merged.Requests
		c.failed += merged.Failed
		c.watch.Second(load.Snapshot{
			Elapsed: time.Duration(math.Round(merged.End * float64(time.Second))), Requests: c.requests, Failed: c.failed, Last: load.Second{Second: merged},
			P99: time.Duration(c.response.ValueAtPercentile(99)) * time.Microsecond,
		})
	}
}

// merged is what came of all workers that have a result, and why the others have none.
func (c *coordinator) merged(ctx context.Context) (load.Summary, error) {
	var with []*member
	var reasons []error
	for _, m := range c.members {
		if m.result != nil && m.result.Stopped && ctx.Err() == nil {
			m.giveUp(errors.New("it was stopped before its end"))
			m.result = nil
		}
		if m.result != nil {
			with = append(with, m)
		} else {
			reasons = append(reasons, fmt.Errorf("%s: %s", m.workload.Part, m.reason()))
		}
	}
	if len(with) == 0 && ctx.Err() != nil {
		return nothing(c.load.Workload)
	}
	if len(with) == 0 {
		return load.Summary{}, fmt.Errorf("load: no worker has a result: %w", errors.Join(reasons...))
	}
	s, err := load.MergeAll(func(yield func(load.Summary, error) bool) {
		for _, m := range with {
			if !yield(m.result.complete(m.workload, m.seconds[:m.measured])) {
				return
			}
		}
	})
	for i := range s.Lost {
		s.Lost[i].Reason = c.members[s.Lost[i].Part.Index].reason()
	}
	return s, err
}

// reason is why there is no result of a worker.
func (m *member) reason() string {
	var all []string
	if cause := m.cause(); cause != nil {
		all = append(all, cause.Error())
	}
	if m.err != nil {
		all = append(all, m.err.Error())
	}
	if m.words != "" {
		all = append(all, m.words)
	}
	if len(all) == 0 {
		return "it ended without a result"
	}
	return strings.Join(all, ": ")
}
