package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/loadgen"
)

// watchLoad writes at a constant rate at the storage version, and sees when watches at both versions show it.
func (r *run) watchLoad(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	r.progress(fmt.Sprintf("watching %d writes a second at %s and %s", writeRate, r.storage, r.other))
	now, err := r.list(ctx, kube.Request{Path: r.clients.Path(r.storage)})
	if err != nil {
		return fmt.Errorf("listing the objects at %s: %w", r.storage, err)
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var both []*follower
	var following sync.WaitGroup
	for _, version := range []string{r.storage, r.other} {
		f := &follower{run: r, version: version, seen: map[string]time.Time{}, from: now.Metadata.ResourceVersion}
		both = append(both, f)
		following.Go(func() { f.follow(reading) })
	}
	counted := r.proxy.count()
	w := r.write(ctx)
	for _, f := range both {
		f.await(ctx, w.due, r.patience())
	}
	stop()
	following.Wait()
	seen := counted()
	for _, f := range both {
		result := f.result(w)
		result.Converted, result.Rate, result.Webhook = f.version != r.storage, writeRate, seen
		r.result.Watch = append(r.result.Watch, result)
	}
	return nil
}

// patience is how long to wait for what requests cause: for the next event of a watch, and for calls of the webhook to be over.
func (r *run) patience() time.Duration { return max(r.Duration, r.Settings.Grace) }

// written are writes.
type written struct {
	due      map[string]time.Time // when the write that made a resource version was due
	failures failures
}

// write patches objects at the storage version, at the rate and for the duration.
func (r *run) write(ctx context.Context) *written {
	w := &written{due: map[string]time.Time{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	began := time.Now()
	free := make(chan struct{}, 64)
	for i := range int(r.Duration.Seconds() * writeRate) {
		due := began.Add(time.Duration(float64(i) / writeRate * float64(time.Second)))
		if pause.For(ctx, time.Until(due)) != nil {
			break
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			object, err := r.one(ctx, r.patch(r.storage, nameOf("object", i%r.Seeded), i))
			if err != nil {
				if ctx.Err() == nil {
					w.failures.add(err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			w.due[object.GetResourceVersion()] = due
		})
	}
	all.Wait()
	return w
}

// follower watches at a version, and begins again where the API server ends the watch.
type follower struct {
	run     *run
	version string

	mu       sync.Mutex
	from     string               // resource version of the last event; empty to begin with what there is
	seen     map[string]time.Time // when an event came, by resource version
	last     time.Time            // when the last one came
	reopened uint64
	failures failures
}

// follow follows until the context ends.
func (f *follower) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.once(ctx)
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		f.reopened++
		if kube.StatusOf(err) == http.StatusGone {
			// What was missed is lost, but for the last write to each object, which the new watch begins with.
			f.from = ""
		}
		f.mu.Unlock()
		if err != nil {
			f.failures.add(err)
		}
		_ = pause.For(ctx, again)
	}
}

// once follows one watch to its end.
func (f *follower) once(ctx context.Context) error {
	f.mu.Lock()
	from := f.from
	f.mu.Unlock()
	w, err := f.run.watch(ctx, f.version, from)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		came, err := event(w)
		if err != nil {
			return err
		}
		now := time.Now()
		f.mu.Lock()
		f.from, f.last = came, now
		if _, before := f.seen[f.from]; !before {
			f.seen[f.from] = now
		}
		f.mu.Unlock()
	}
}

// await waits until the events of all writes came, or none came for a while.
func (f *follower) await(ctx context.Context, writes map[string]time.Time, patience time.Duration) {
	began := time.Now()
	for ctx.Err() == nil {
		f.mu.Lock()
		missing := 0
		for resourceVersion := range writes {
			if _, came := f.seen[resourceVersion]; !came {
				missing++
			}
		}
		waiting := time.Since(latest(began, f.last))
		f.mu.Unlock()
		if missing == 0 || waiting > patience {
			return
		}
		_ = pause.For(ctx, poll)
	}
}

// result compares what came with what was written.
func (f *follower) result(w *written) loadgen.Watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	times := histogram.New()
	result := loadgen.Watch{Version: f.version, Writes: uint64(len(w.due)), WritesFailed: w.failures.count(), Reopened: f.reopened}
	for resourceVersion, due := range w.due {
		came, there := f.seen[resourceVersion]
		if !there {
			result.Lost++
			continue
		}
		result.Events++
		histogram.Record(times, came.Sub(due))
	}
	result.Times = histogram.Times(times)
	result.Failures = append(w.failures.sorted(), f.failures.sorted()...)
	return result
}
