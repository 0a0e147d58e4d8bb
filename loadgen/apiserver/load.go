package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// load has clients list, read, watch and apply, at the storage version and at the other.
func (r *run) load(ctx context.Context) error {
	if err := r.warm(ctx); err != nil && ctx.Err() == nil {
		r.note("the cache of the API server is not filled, which shows in the load: %v", err)
	}
	for _, verb := range []Verb{List, Get, WatchEvent, Apply} {
		if verb == WatchEvent {
			if err := r.watchLoad(ctx); err != nil {
				return err
			}
			continue
		}
		for _, version := range []string{r.storage, r.other} {
			for _, concurrency := range r.Concurrency {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				r.loaded(ctx, verb, version, concurrency)
			}
		}
	}
	return nil
}

// loaded adds one load to the result.
func (r *run) loaded(ctx context.Context, verb Verb, version string, concurrency int) {
	r.progress(fmt.Sprintf("%s at %s, %d at a time", verb, version, concurrency))
	request, err := r.request(verb, version, concurrency)
	if err != nil {
		r.note("%s at %s, %d at a time, is left out: %v", verb, version, concurrency, err)
		return
	}
	before := r.metrics(ctx)
	counted := r.proxy.count()
	l := r.loop(ctx, concurrency, r.client(request))
	answered := r.metrics(ctx)
	r.settle(ctx)
	seen := counted()
	settled := r.metrics(ctx)
	l.Verb, l.Version, l.Converted, l.Webhook = verb, version, version != r.storage, seen
	if l.Requests > 0 {
		l.CallsPerRequest = float64(seen.Calls) / float64(l.Requests)
	}
	l.Share = r.share(before, answered, settled, map[Verb]string{List: "LIST", Get: "GET", Apply: "APPLY"}[verb], version, recorded(l.Times.Histogram), seen)
	if l.Requests+l.Unanswered > 0 {
		r.result.Load = append(r.result.Load, l)
	}
}

// client makes a client's requests.
func (r *run) client(request request) func(ctx context.Context, client, n int) error {
	return func(ctx context.Context, client, n int) error {
		q, check, err := request(client, n)
		if err != nil {
			return err
		}
		body, err := r.api.do(ctx, q)
		if err == nil && check != nil {
			err = check(body)
		}
		return err
	}
}

// request is what a client asks for the n-th time. It returns what to ask, and a check of the response.
type request func(client, n int) (ask, func([]byte) error, error)

func (r *run) request(verb Verb, version string, concurrency int) (request, error) {
	object := func(client, n int) int { return (client + n*concurrency) % r.Seeded }
	if verb == Get {
		return func(client, n int) (ask, func([]byte) error, error) {
			return ask{path: r.api.path(version, nameOf("object", object(client, n)))}, nil, nil
		}, nil
	}
	if verb == List {
		return func(int, int) (ask, func([]byte) error, error) {
			return ask{path: r.api.path(version)}, r.complete, nil
		}, nil
	}
	for _, t := range r.templates {
		if version == r.other && t.err != nil {
			return nil, fmt.Errorf("there is nothing to apply, since an object cannot be read at %s: %w", version, t.err)
		}
	}
	return func(client, n int) (ask, func([]byte) error, error) {
		i := object(client, n)
		q, err := r.apply(version, "crdconform-"+version, r.seeded(i).at(r, version, nameOf("object", i)), int(r.applied.Add(1)))
		return q, nil, err
	}, nil
}

// complete tells whether a list has all objects. It may have one more that could not be deleted.
func (r *run) complete(body []byte) error {
	l, err := parseList(body)
	if err == nil && len(l.Items) < r.Seeded {
		err = fmt.Errorf("the list has %d of %d objects", len(l.Items), r.Seeded)
	}
	return err
}

// failures adds up failed requests by status. It is safe for use by many goroutines.
type failures struct {
	mu  sync.Mutex
	all map[int]*Failure
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := statusOf(err)
	if f.all == nil {
		f.all = map[int]*Failure{}
	}
	if f.all[status] == nil {
		f.all[status] = &Failure{Status: status, First: err.Error()}
	}
	f.all[status].Count++
}

// sorted are the failures by status.
func (f *failures) sorted() []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sorted []Failure
	for _, failure := range f.all {
		sorted = append(sorted, *failure)
	}
	slices.SortFunc(sorted, func(a, b Failure) int { return cmp.Compare(a.Status, b.Status) })
	return sorted
}

// count is how many there are.
func (f *failures) count() uint64 {
	n := uint64(0)
	for _, failure := range f.sorted() {
		n += failure.Count
	}
	return n
}

// grace is how long requests may go on after the end of a load, at least.
const grace = time.Second

// loop has clients make requests for the duration, each one after the other. Those that are under way then may take as long
// again before they are given up.
func (r *run) loop(ctx context.Context, concurrency int, one func(ctx context.Context, client, n int) error) Load {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := Load{Concurrency: concurrency}
	times := newHistogram()
	var failed failures
	var mu sync.Mutex // of l and times
	var all sync.WaitGroup
	began := time.Now()
	stop := time.AfterFunc(r.Duration+max(r.Duration, grace), func() { cancel(errGivenUp) })
	defer stop.Stop()
	for client := range concurrency {
		all.Go(func() {
			for n := 0; time.Since(began) < r.Duration && ctx.Err() == nil; n++ {
				sent := time.Now()
				err := one(ctx, client, n)
				took := time.Since(sent)
				mu.Lock()
				record(times, took)
				if ctx.Err() != nil && err != nil {
					l.Unanswered++
					mu.Unlock()
					return
				}
				l.Requests++
				mu.Unlock()
				if err != nil {
					failed.add(err)
					// A client that is refused at once would do nothing but ask.
					pause(ctx, refusedPause)
				}
			}
		})
	}
	all.Wait()
	l.Seconds = time.Since(began).Seconds()
	l.Times, l.Failures, l.Failed = timesOf(times), failed.sorted(), failed.count()
	l.RequestsPerSecond = float64(l.Requests) / l.Seconds
	return l
}

var errGivenUp = errors.New("given up at the end of the load")

// refusedPause is how long a client waits after a failure.
const refusedPause = 10 * time.Millisecond

// recorded is the sum of a histogram's times, in seconds.
func recorded(h *hdrhistogram.Histogram) float64 { return h.Mean() * float64(h.TotalCount()) / 1e6 }
