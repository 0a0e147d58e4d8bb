package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// script is what a worker does that exists in the test only. It has the orders that it is given, and ends as its function does.
type script func(ctx context.Context, orders <-chan order, say func(message)) error

// scripts launches scripts in place of workers.
type scripts struct {
	scripts []script
	orders  []chan order
	send    func(index int, o order) error // nil for no error
	end     error
	ended   bool
}

func (s *scripts) Lead() time.Duration { return 5 * time.Second }

func (s *scripts) Remote() bool { return false }

func (s *scripts) Start(_ context.Context, task Task) (Workers, error) {
	// The load is for 10 s, with a timeout of 30 s.
	if task.Limit != 5*time.Minute+5*time.Second+10*time.Second+2*30*time.Second+overtime+parting {
		return nil, fmt.Errorf("the limit is %s", task.Limit)
	}
	for range task.Workers {
		s.orders = append(s.orders, make(chan order, 2))
	}
	return s, nil
}

func (s *scripts) Follow(ctx context.Context, index int, line func([]byte)) error {
	return s.scripts[index](ctx, s.orders[index], func(m message) {
		text, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		line(text)
	})
}

func (s *scripts) Send(_ context.Context, index int, text []byte) error {
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	if s.send != nil {
		if err := s.send(index, o); err != nil {
			return err
		}
	}
	select {
	case s.orders[index] <- o:
	default: // nobody looks at orders
	}
	return nil
}

func (s *scripts) End(context.Context) error {
	s.ended = true
	return s.end
}

// of makes a summary of so many response times for each second, in microseconds.
func of(seconds ...[]int64) ([]*second, *result) {
	s, err := load.Merge()
	if err != nil {
		panic(err)
	}
	var all []*second
	for number, times := range seconds {
		one, err := load.Merge()
		if err != nil {
			panic(err)
		}
		for _, us := range times {
			if err := errors.Join(one.Response.RecordValue(us), s.Response.RecordValue(us)); err != nil {
				panic(err)
			}
		}
		r := resultOf(one)
		all = append(all, &second{Number: number, Second: load.Second{Second: loadgen.Second{End: float64(number + 1), Requests: uint64(len(times))}, Response: r.Response}})
		s.Requests += uint64(len(times))
		s.Good += uint64(len(times))
	}
	r := resultOf(s)
	r.Seconds = len(all)
	return all, r
}

// larger is a histogram with a time that others have no room for.
func larger() string {
	h := hdrhistogram.New(1, 1<<40, 3)
	if err := h.RecordValue(1 << 39); err != nil {
		panic(err)
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// measures says hello, waits for the start, and says a second each second and the result.
func measures(index int, seconds ...[]int64) script {
	return func(_ context.Context, orders <-chan order, say func(message)) error {
		say(message{Hello: &hello{protocol, index}})
		o := <-orders
		if o.Stop {
			return errors.New("exit status 3")
		}
		say(message{Ack: &ack{o.Number, time.Now()}})
		lapse(time.Until(o.Start))
		all, r := of(seconds...)
		for _, s := range all {
			lapse(time.Second)
			say(message{Second: s})
			say(message{Second: s}) // as when what it wrote is read again
		}
		say(message{Result: r})
		say(message{Hello: &hello{protocol, index}})
		say(message{Result: r})
		return nil
	}
}

// lapse waits, in a time of the test's own.
func lapse(d time.Duration) { <-time.After(d) }

// stage runs scripts.
func stage(ctx context.Context, t *testing.T, s *scripts, watch load.Watch) (load.Summary, error) {
	t.Helper()
	l := crontabLoad(t, wire.Endpoint{URL: "https://127.0.0.1:1/"}, 10*time.Second) //nolint:contextcheck // it makes objects, and waits for nothing
	l.Workers = len(s.scripts)
	return Run(ctx, s, l, watch)
}

// TestProgress reports a second when all workers have, and the rest when one is lost.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dies := func(_ context.Context, orders <-chan order, say func(message)) error {
			say(message{Hello: &hello{protocol, 1}})
			o := <-orders
			say(message{Ack: &ack{o.Number, time.Now()}})
			lapse(time.Until(o.Start) + 1500*time.Millisecond)
			all, _ := of([]int64{9000, 9000, 9000})
			say(message{Second: all[0]})
			lapse(10 * time.Second)
			return errors.New("exit status 137")
		}
		began := time.Now()
		type progress struct {
			at time.Duration
			load.Snapshot
		}
		var all []progress
		s, err := stage(t.Context(), t, &scripts{scripts: []script{measures(0, []int64{1000}, []int64{2000, 3000}, []int64{4000}), dies}}, load.Watch{Second: func(s load.Snapshot) {
			all = append(all, progress{time.Since(began), s})
		}})
		if err != nil {
			t.Fatal(err)
		}
		if s.Requests != 4 || s.PartialReason() != "50 % of the requests are missing from all figures: worker 2 of 2: exit status 137" || s.Response.Max() > 4100 {
			t.Errorf("got %+v", s)
		}
		want := []progress{
			{6500 * time.Millisecond, load.Snapshot{Elapsed: time.Second, Requests: 4, P99: 9007 * time.Microsecond}},
			{16500 * time.Millisecond, load.Snapshot{Elapsed: 2 * time.Second, Requests: 6, P99: 9007 * time.Microsecond}},
			{16500 * time.Millisecond, load.Snapshot{Elapsed: 3 * time.Second, Requests: 7, P99: 9007 * time.Microsecond}},
		}
		for i := range all {
			if i >= len(want) || all[i].at != want[i].at || all[i].Elapsed != want[i].Elapsed || all[i].Requests != want[i].Requests || all[i].P99 != want[i].P99 {
				t.Errorf("got %+v, want %+v", all, want)
				break
			}
		}
		if len(all) != 3 || all[1].Last.Requests != 2 || all[1].Last.Max != 3.001 {
			t.Errorf("got %+v", all)
		}
	})
}

// TestWorkersThatMakeNoSense has the second worker do something odd. It is lost, with a reason, and nothing of it counts.
func TestWorkersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	ready := func(then func(ctx context.Context, say func(message)) error) script {
		return func(ctx context.Context, orders <-chan order, say func(message)) error {
			say(message{Hello: &hello{protocol, 1}})
			say(message{Ack: &ack{(<-orders).Number, time.Now()}})
			return then(ctx, say)
		}
	}
	clock := func(of func(order) ack) script {
		return func(ctx context.Context, orders <-chan order, say func(message)) error {
			say(message{Hello: &hello{protocol, 1}})
			a := of(<-orders)
			say(message{Ack: &a})
			<-ctx.Done()
			return errors.New("killed")
		}
	}
	for name, test := range map[string]struct {
		worker script
		want   string
	}{
		"another protocol": {func(ctx context.Context, _ <-chan order, say func(message)) error {
			say(message{Hello: &hello{7, 1}})
			<-ctx.Done()
			return nil
		}, "speaks version 7 of the protocol"},
		"a clock that is ahead":  {clock(func(o order) ack { return ack{o.Number, time.Now().Add(1500 * time.Millisecond)} }), "its clock is 1.5s ahead of this machine's"},
		"a clock that is behind": {clock(func(o order) ack { return ack{o.Number, time.Now().Add(-1500 * time.Millisecond)} }), "its clock is 1.5s behind this machine's"},
		"a zero clock":           {clock(func(o order) ack { return ack{Order: o.Number} }), " behind this machine's"},
		"no such order":          {clock(func(order) ack { return ack{2, time.Now()} }), "it confirmed order 2, but the last one given was 1"},
		"a second is missing": {ready(func(ctx context.Context, say func(message)) error {
			all, r := of([]int64{1}, []int64{2})
			say(message{Second: all[1]})
			<-ctx.Done()
			say(message{Second: all[0]})
			say(message{Second: all[1]})
			say(message{Result: r})
			return nil
		}), "its measurements of second 1 are missing"},
		"the last second is missing": {ready(func(_ context.Context, say func(message)) error {
			all, r := of([]int64{1}, []int64{2})
			say(message{Second: all[0]})
			say(message{Result: r})
			return nil
		}), "its figures do not agree: 1 of 2 seconds with 1 of 2 requests, 2 response times of 2"},
		"a time is missing": {ready(func(_ context.Context, say func(message)) error {
			all, r := of([]int64{1})
			r.Unanswered = 1
			say(message{Second: all[0]})
			say(message{Result: r})
			return nil
		}), "its figures do not agree: 1 of 1 seconds with 1 of 1 requests, 1 response times of 2"},
		"no histogram": {ready(func(_ context.Context, say func(message)) error {
			_, r := of()
			r.Lag = "HISTF"
			say(message{Result: r})
			return nil
		}), "a histogram of its result: "},
		"a garbled second": {ready(func(_ context.Context, say func(message)) error {
			all, r := of([]int64{1})
			all[0].Response = "garbled"
			say(message{Second: all[0]})
			say(message{Result: r})
			return nil
		}), "its measurements of second 1 cannot be used: "},
		"another kind of histogram": {ready(func(_ context.Context, say func(message)) error {
			all, r := of([]int64{1})
			r.Service = larger()
			say(message{Second: all[0]})
			say(message{Result: r})
			return nil
		}), "its result cannot be used: load: a histogram has 1 times that are out of the range"},
		"stopped": {ready(func(_ context.Context, say func(message)) error {
			all, r := of([]int64{1})
			r.Partial, r.Stopped = true, true
			say(message{Second: all[0]})
			say(message{Result: r})
			return errors.New("exit status 130")
		}), "it was stopped before its end: exit status 130"},
		"nothing": {ready(func(context.Context, func(message)) error { return nil }), "it ended without a result"},
		"no end": {ready(func(ctx context.Context, _ func(message)) error {
			<-ctx.Done()
			return errors.New("still running")
		}), "it had no result 30s after everything should have been over: still running"},
		"no hello": {func(ctx context.Context, _ <-chan order, _ func(message)) error {
			<-ctx.Done()
			return errors.New("image cannot be pulled")
		}, "it was not ready within 5m0s: image cannot be pulled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := stage(t.Context(), t, &scripts{scripts: []script{measures(0, []int64{1000}), test.worker}}, load.Watch{})
				if err != nil {
					t.Fatal(err)
				}
				want := "50 % of the requests are missing from all figures: worker 2 of 2: "
				if got := s.PartialReason(); !s.Partial || !strings.HasPrefix(got, want) || !strings.Contains(got, test.want) || s.Requests != 1 || s.Response.TotalCount() != 1 {
					t.Errorf("got %d requests, %q, want something with %q", s.Requests, got, test.want)
				}
			})
		})
	}
}

// TestOrdersThatDoNotArrive gives up workers that do not get the order to start, and those that do not stop.
func TestOrdersThatDoNotArrive(t *testing.T) {
	t.Parallel()
	t.Run("start", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			deaf := func(ctx context.Context, _ <-chan order, say func(message)) error {
				say(message{Hello: &hello{protocol, 1}})
				<-ctx.Done()
				return nil
			}
			s, err := stage(t.Context(), t, &scripts{
				scripts: []script{measures(0, []int64{1000}), deaf},
				send: func(index int, _ order) error {
					if index == 1 {
						return errors.New("forbidden")
					}
					return nil
				},
			}, load.Watch{})
			if want := "worker 2 of 2: could not start it: forbidden"; err != nil || !strings.Contains(s.PartialReason(), want) || s.Requests != 1 {
				t.Errorf("got %+v, %v, want %q", s, err, want)
			}
		})
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			obeys := func(_ context.Context, orders <-chan order, say func(message)) error {
				say(message{Hello: &hello{protocol, 0}})
				say(message{Ack: &ack{(<-orders).Number, time.Now()}})
				if o := <-orders; !o.Stop {
					t.Errorf("got %+v", o)
				}
				all, r := of([]int64{1000})
				r.Partial, r.Stopped = true, true
				say(message{Second: all[0]})
				say(message{Result: r})
				return errors.New("exit status 130")
			}
			stubborn := func(ctx context.Context, orders <-chan order, say func(message)) error {
				say(message{Hello: &hello{protocol, 1}})
				say(message{Ack: &ack{(<-orders).Number, time.Now()}})
				<-ctx.Done()
				return errors.New("still running")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
			defer cancel()
			began := time.Now()
			s, err := stage(ctx, t, &scripts{scripts: []script{obeys, stubborn}}, load.Watch{})
			if want := "worker 2 of 2: it did not stop within 15s: still running"; err != nil || !strings.Contains(s.PartialReason(), want) || !s.Partial || s.Requests != 1 {
				t.Errorf("got %+v, %v, want %q", s, err, want)
			}
			if took := time.Since(began); took != 22*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	})
}

// TestOrdersAreRepeated has an order be lost a few times, and always.
func TestOrdersAreRepeated(t *testing.T) {
	t.Parallel()
	for losses, want := range map[int]string{
		0:   "",
		3:   "",
		10:  "", // the worker takes it late
		100: "50 % of the requests are missing from all figures: worker 2 of 2: it never confirmed the order to start",
	} {
		synctest.Test(t, func(t *testing.T) {
			given := 0
			hard := func(ctx context.Context, orders <-chan order, say func(message)) error {
				say(message{Hello: &hello{protocol, 1}})
				for {
					select {
					case o := <-orders:
						if given++; given <= losses {
							continue // as if it had not come
						}
						if want := given; o.Number != want || o.Lead != 5*time.Second-time.Duration(given-1)*time.Second {
							t.Errorf("after %d losses it got %+v", losses, o)
						}
						again := make(chan order, 1)
						again <- o
						return measures(1, []int64{2000})(ctx, again, say)
					case <-ctx.Done():
						return nil
					}
				}
			}
			s, err := stage(t.Context(), t, &scripts{scripts: []script{measures(0, []int64{1000}), hard}}, load.Watch{})
			if err != nil || s.PartialReason() != want {
				t.Errorf("after %d losses: got %q, %v, want %q", losses, s.PartialReason(), err, want)
			}
		})
	}
}

// TestClocksThatDiffer has clocks that are a little off, or acknowledgements that take long.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-900 * time.Millisecond, 900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(_ context.Context, orders <-chan order, say func(message)) error {
				say(message{Hello: &hello{protocol, 1}})
				o := <-orders
				a := ack{o.Number, time.Now().Add(off)}
				lapse(4 * time.Second) // until it is heard
				say(message{Ack: &a})
				lapse(time.Until(o.Start) + time.Second)
				all, r := of([]int64{2000})
				say(message{Second: all[0]})
				say(message{Result: r})
				return nil
			}
			s, err := stage(t.Context(), t, &scripts{scripts: []script{measures(0, []int64{1000}), slow}}, load.Watch{})
			if err != nil || s.PartialReason() != "" || s.Requests != 2 {
				t.Errorf("off by %s: got %q, %v", off, s.PartialReason(), err)
			}
		})
	}
}

// TestLease has workers hear of the coordinator often enough while they work, and stop when they do not.
func TestLease(t *testing.T) {
	t.Parallel()
	t.Run("renewed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			heard := 0
			lasting := func(ctx context.Context, orders <-chan order, say func(message)) error {
				say(message{Hello: &hello{protocol, 0}})
				o := <-orders
				say(message{Ack: &ack{o.Number, time.Now()}})
				over := time.After(time.Until(o.Start) + 70*time.Second)
				for {
					select {
					case o := <-orders:
						if heard++; o.Stop || !o.Start.IsZero() {
							t.Errorf("got %+v", o)
						}
					case <-over:
						all, r := of([]int64{1000})
						say(message{Second: all[0]})
						say(message{Result: r})
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
			s, err := stage(t.Context(), t, &scripts{scripts: []script{lasting}}, load.Watch{})
			if err != nil || s.Requests != 1 || heard < 3 || heard > 4 {
				t.Errorf("it heard of the coordinator %d times in 70 s; got %+v, %v", heard, s, err)
			}
		})
	})
	t.Run("over", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			orders := make(chan order)
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			go Input{orders: orders}.obey(ctx, stop)
			for range 3 {
				lapse(lease - time.Second)
				orders <- order{}
			}
			lapse(lease - time.Second)
			if ctx.Err() != nil {
				t.Errorf("it stopped too early: %v", context.Cause(ctx))
			}
			lapse(2 * time.Second)
			if !errors.Is(context.Cause(ctx), errForsaken) {
				t.Errorf("it stopped by %v", context.Cause(ctx))
			}
		})
	})
}

// TestLeftBehind returns the figures with an error about what could not be removed.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripts{scripts: []script{measures(0, []int64{1000})}, end: errors.New("a Job is left")}
		summary, err := stage(t.Context(), t, s, load.Watch{})
		if err == nil || err.Error() != "a Job is left" || summary.Requests != 1 || !s.ended {
			t.Errorf("got %+v, %v", summary, err)
		}
	})
}

// TestStartIsCommon gives all workers the same start, which is the one of the result.
func TestStartIsCommon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := func(ctx context.Context, orders <-chan order, say func(message)) error {
			lapse(time.Minute) // its image is pulled
			return measures(1, []int64{2000})(ctx, orders, say)
		}
		ready := time.Now().Add(time.Minute)
		starts := make(chan time.Time, 2)
		s := &scripts{scripts: []script{measures(0, []int64{1000}), late}, send: func(_ int, o order) error {
			if o.Lead != 5*time.Second {
				t.Errorf("the lead is %s", o.Lead)
			}
			starts <- o.Start
			return nil
		}}
		summary, err := stage(t.Context(), t, s, load.Watch{})
		if err != nil || summary.Partial || summary.Requests != 2 || len(summary.Seconds) != 1 {
			t.Errorf("got %+v, %v", summary, err)
		}
		for range 2 {
			if start := <-starts; !start.Equal(ready.Add(5 * time.Second)) {
				t.Errorf("it starts at %s, want 5s after %s", start, ready)
			}
		}
	})
}
