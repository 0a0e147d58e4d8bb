package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/loadgen"
)

// load has clients list, read, watch and apply, at the storage version and at the other.
func (r *run) load(ctx context.Context) error {
	if err := r.warm(ctx); err != nil {
		return err
	}
	for _, verb := range []Verb{List, Get, WatchEvent, Apply} {
		if verb == WatchEvent {
			if err := r.watchLoad(ctx); err != nil {
				return err
			}
			continue
		}
		for _, version := range []string{r.storage, r.other} {
			for _, concurrency := range r.Settings.Concurrency {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := r.loaded(ctx, verb, version, concurrency); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// loaded adds one load to the result. It fails when all of it did.
func (r *run) loaded(ctx context.Context, verb Verb, version string, concurrency int) error {
	r.progress(fmt.Sprintf("%s at %s, %d at a time", verb, version, concurrency))
	before := r.metrics(ctx)
	counted := r.proxy.count()
	l, waits := r.loop(ctx, concurrency, r.client(r.request(verb, version, concurrency)))
	answered := r.metrics(ctx)
	r.settle(ctx)
	seen := counted()
	settled := r.metrics(ctx)
	if verb == List {
		for i := range waits {
			waits[i].object = "" // all of them
		}
	}
	l.Verb, l.Version, l.Converted, l.Webhook = verb, version, version != r.storage, seen
	if l.Requests > 0 {
		l.CallsPerRequest = float64(seen.Calls) / float64(l.Requests)
	}
	l.Share = r.share(before, answered, settled, map[Verb]string{List: "LIST", Get: "GET", Apply: "APPLY"}[verb], version, seen)
	attribute(&l.Share, waits, r.proxy.passed())
	if l.Requests+l.Unanswered > 0 {
		r.result.Load = append(r.result.Load, l)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // what stopped it is known
	}
	return exhausted(l)
}

// exhausted says why nothing more is to be expected of a webhook after a load; nil when there is no reason. A load in which nothing
// was answered in time is none by itself: a LIST of many objects may take the API server that long.
func exhausted(l loadgen.ServerLoad) error {
	switch {
	case !l.Converted || l.Failed < l.Requests:
		return nil
	case l.Failed > 0:
		return fmt.Errorf("the measurement ends here: all of %d requests of %s at %s failed: %s", l.Requests, l.Verb, l.Version, l.Failures[0].First)
	case l.Webhook.Calls > 0 && l.Webhook.Unanswered == l.Webhook.Calls:
		return fmt.Errorf("%w: none of its %d calls for requests of %s at %s was answered", ErrConvertsNothing, l.Webhook.Calls, l.Verb, l.Version)
	}
	return nil
}

// client makes a client's requests.
func (r *run) client(request request) func(ctx context.Context, client, n int) error {
	return func(ctx context.Context, client, n int) error {
		q, check, err := request(client, n)
		if err != nil {
			return err
		}
		body, err := r.clients.Do(ctx, q)
		if err == nil && check != nil {
			err = check(body)
		}
		return err
	}
}

// request is what a client asks for the n-th time. It returns what to ask, and a check of the response.
type request func(client, n int) (kube.Request, func([]byte) error, error)

func (r *run) request(verb Verb, version string, concurrency int) request {
	object := func(client, n int) int { return r.object(client, n, concurrency) }
	switch verb {
	case Get:
		return func(client, n int) (kube.Request, func([]byte) error, error) {
			return kube.Request{Path: r.clients.Path(version, nameOf("object", object(client, n)))}, nil, nil
		}
	case List:
		return func(int, int) (kube.Request, func([]byte) error, error) {
			return kube.Request{Path: r.clients.Path(version)}, r.complete, nil
		}
	default: // Apply
		return func(client, n int) (kube.Request, func([]byte) error, error) {
			i := object(client, n)
			q, err := r.apply(version, "crdconform-"+version, r.seeded(i).at(r, version, nameOf("object", i)), int(r.applied.Add(1)))
			return q, nil, err
		}
	}
}

// object is the one that a client asks for the n-th time. No two clients ask for the same at a time.
func (r *run) object(client, n, concurrency int) int { return (client + n*concurrency) % r.Seeded }

// complete reports whether a list has all objects. It may have one more that could not be deleted.
func (r *run) complete(body []byte) error {
	l, err := fleet.Listed[struct{}](body)
	if err == nil && len(l.Items) < r.Seeded {
		err = fmt.Errorf("the list has %d of %d objects", len(l.Items), r.Seeded)
	}
	return err
}

// failures adds up failed requests by status. It is safe for use by many goroutines.
type failures struct {
	mu  sync.Mutex
	all map[int]*loadgen.Failure
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := kube.StatusOf(err)
	if f.all == nil {
		f.all = map[int]*loadgen.Failure{}
	}
	if f.all[status] == nil {
		f.all[status] = &loadgen.Failure{Status: status, First: err.Error()}
	}
	f.all[status].Count++
}

// sorted are the failures by status.
func (f *failures) sorted() []loadgen.Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sorted []loadgen.Failure
	for _, failure := range f.all {
		sorted = append(sorted, *failure)
	}
	slices.SortFunc(sorted, func(a, b loadgen.Failure) int { return cmp.Compare(a.Status, b.Status) })
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

// loop has clients make requests for the duration, each one after the other. Those that are under way then may take as long
// again before they are given up. It returns how long each waited, too.
func (r *run) loop(ctx context.Context, concurrency int, one func(ctx context.Context, client, n int) error) (loadgen.ServerLoad, []waited) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := loadgen.ServerLoad{Concurrency: concurrency}
	times := histogram.New()
	var waits []waited
	var failed failures
	var mu sync.Mutex // of l, times and waits
	var all sync.WaitGroup
	began := time.Now()
	stop := time.AfterFunc(r.Duration+max(r.Duration, r.Settings.Grace), func() { cancel(errGivenUp) })
	defer stop.Stop()
	for client := range concurrency {
		all.Go(func() {
			for n := 0; time.Since(began) < r.Duration && ctx.Err() == nil; n++ {
				sent := time.Now()
				err := one(ctx, client, n)
				done := time.Now()
				mu.Lock()
				histogram.Record(times, done.Sub(sent))
				waits = append(waits, waited{nameOf("object", r.object(client, n, concurrency)), span{sent, done}})
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
					_ = pause.For(ctx, refusedPause)
				}
			}
		})
	}
	all.Wait()
	l.Seconds = time.Since(began).Seconds()
	l.Times, l.Failures, l.Failed = histogram.Times(times), failed.sorted(), failed.count()
	l.RequestsPerSecond = float64(l.Requests) / l.Seconds
	return l, waits
}

var errGivenUp = errors.New("given up at the end of the load")

// refusedPause is how long a client waits after a failure.
const refusedPause = 10 * time.Millisecond
