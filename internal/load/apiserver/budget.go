package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/loadgen"
)

// What numbers of calls are for.
const (
	perRequest = "request"
	perObject  = "object"
	perEvent   = "event"
)

const (
	// still is how long nothing has to pass the proxy for a request to be over, with what it causes later.
	still = 10 * time.Millisecond

	// collection is how many objects a deletion of several has, events how many events a watch, and watches how many
	// watches there are.
	collection = 20
	events     = 5
	watches    = 2
)

// trial is one verb at one version.
type trial struct {
	per string

	// prepare makes ready what is not counted. It may be nil.
	prepare func(ctx context.Context) error

	// ask makes the request. It returns how many objects or events there were.
	ask func(ctx context.Context) (int, error)
}

// budget counts the webhook calls of each verb.
func (r *run) budget(ctx context.Context) error {
	if err := r.warm(ctx); err != nil {
		return err
	}
	for _, version := range []string{r.storage, r.other} {
		still := r.step("counting webhook calls for each verb at " + version)
		b := &budgeted{run: r, version: version}
		for _, verb := range Verbs() {
			still(verb)
			c := b.measured(ctx, verb)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if c != nil {
				r.result.Budget = append(r.result.Budget, r.bounded(*c))
			}
		}
	}
	return nil
}

// warm makes the API server fill its caches. It fails when it does not.
func (r *run) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.Settings.ListPatience)
	defer cancel()
	still := r.step("waiting until the API server has filled its cache")
	for _, version := range r.served {
		for {
			_, err := r.list(ctx, kube.Request{Path: r.clients.Path(version)})
			if err == nil {
				break
			}
			if kube.StatusOf(err) != http.StatusTooManyRequests || pause.For(ctx, again) != nil {
				return fmt.Errorf("listing the objects at %s: %w; nothing more can be measured without that", version, err)
			}
			still(err)
		}
	}
	r.settle(ctx)
	return nil
}

// often is the interval at which progress on a slow step is reported.
const often = 10 * time.Second

// step reports a step as progress. The function that it returns reports how far a slow step is, from time to time.
func (r *run) step(what string) (still func(detail any)) {
	r.progress(what)
	began := time.Now()
	shown := began
	return func(detail any) {
		if time.Since(shown) < often {
			return
		}
		shown = time.Now()
		r.progress(fmt.Sprintf("%s, for %.0f s so far: %v", what, time.Since(began).Seconds(), detail))
	}
}

// settle waits until nothing is under way any more that earlier requests caused, or for a while: a webhook that does not convert
// is asked again and again. Asked for a list as new as possible, an API server first brings the cache of that version up to
// date, for which objects are converted; one without a cache has nothing to do. Nothing is converted for the list itself.
func (r *run) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.patience())
	defer cancel()
	for _, version := range r.served {
		// What fails here fails where it is measured.
		_, _ = r.list(ctx, nothing(r, version))
	}
	for ctx.Err() == nil && !r.proxy.quiet(still) {
		_ = pause.For(ctx, still/2)
	}
}

// nothing is a request for a list of an object that is not there.
func nothing(r *run, version string) kube.Request {
	return kube.Request{Path: r.clients.Path(version), Query: url.Values{"fieldSelector": {"metadata.name=crdconform-none"}}}
}

// bounded compares a number of calls with the bound.
func (r *run) bounded(c loadgen.VerbCalls) loadgen.VerbCalls {
	bounds := boundsOf(r.Settings.Bounds, r.minor, r.Cluster.WatchCache())
	if bounds == nil {
		return c
	}
	table := bounds.Storage
	if c.Converted {
		table = bounds.Other
	}
	bound, known := table[c.Verb]
	if !known {
		return c
	}
	most := bound.of(len(r.served))
	c.Bound, c.BoundFrom = &most, bounds.Minor
	c.Met = c.Error == "" && c.Calls <= most
	return c
}

// budgeted measures the verbs at a version.
type budgeted struct {
	*run

	version string
	n       int      // of objects created so far
	names   []string // of objects to delete
}

// measured measures a verb. It is nil when the definition does not have it.
func (b *budgeted) measured(ctx context.Context, verb Verb) *loadgen.VerbCalls {
	t, there := b.trials()[verb]
	if !there {
		return nil
	}
	c := &loadgen.VerbCalls{Verb: verb, Version: b.version, Converted: b.version != b.storage, Per: t.per}
	for range b.Settings.Repeat {
		seen, n, err := b.once(ctx, t)
		if err != nil {
			c.Error = err.Error()
			break
		}
		c.Samples++
		c.Calls = max(c.Calls, float64(seen.Calls)/float64(n))
		c.ObjectsConverted = max(c.ObjectsConverted, float64(seen.Objects)/float64(n))
	}
	if err := b.clean(ctx); err != nil && c.Error == "" {
		c.Error = err.Error()
	}
	return c
}

// once measures a verb once.
func (b *budgeted) once(ctx context.Context, t trial) (loadgen.Calls, int, error) {
	if t.prepare != nil {
		if err := t.prepare(ctx); err != nil {
			return loadgen.Calls{}, 0, fmt.Errorf("preparing it: %w", err)
		}
	}
	b.settle(ctx)
	counted := b.proxy.count()
	n, err := t.ask(ctx)
	if err != nil {
		return loadgen.Calls{}, 0, err
	}
	b.settle(ctx)
	if n < 1 {
		return loadgen.Calls{}, 0, errors.New("the response is empty")
	}
	return counted(), n, nil
}

// clean deletes what was created. What could not be deleted is tried again the next time.
func (b *budgeted) clean(ctx context.Context) error {
	var errs []error
	var left []string
	for _, name := range b.names {
		if err := b.delete(ctx, b.storage, name); err != nil && kube.StatusOf(err) != http.StatusNotFound {
			errs, left = append(errs, fmt.Errorf("deleting %s: %w", name, err)), append(left, name)
		}
	}
	b.names = left
	return errors.Join(errs...)
}

// name is a new name, of an object that is deleted when the verb was measured.
func (b *budgeted) name() string {
	b.n++
	name := nameOf("budget-"+b.version, b.n)
	b.names = append(b.names, name)
	return name
}

// fresh creates an object at the storage version, which only that is known of.
func (b *budgeted) fresh(ctx context.Context) (*unstructured.Unstructured, error) {
	return b.make(ctx, b.labelled(b.templates[0].at(b.run, b.storage, b.name())))
}

// labelled gives an object the label by which it is deleted with others.
func (b *budgeted) labelled(object *unstructured.Unstructured) *unstructured.Unstructured {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[mark] = b.version
	object.SetLabels(labels)
	return object
}

// existing creates an object and reads it at the version, as a client does that wants to change it.
func (b *budgeted) existing(ctx context.Context) (*unstructured.Unstructured, error) {
	created, err := b.fresh(ctx)
	if err != nil {
		return nil, err
	}
	return b.get(ctx, b.version, created.GetName())
}

// single makes a request of the response to which nothing is needed.
func (b *budgeted) single(ctx context.Context, q kube.Request) (int, error) {
	_, err := b.clients.Do(ctx, q)
	return 1, err
}

// everything makes requests for a list until it is complete. It returns how many objects there were.
func (b *budgeted) everything(ctx context.Context, q kube.Request) (int, error) {
	n := 0
	pages := kube.Pager[*metav1.PartialObjectMetadataList]{List: func(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
		q.Query.Set("continue", options.Continue)
		page := &metav1.PartialObjectMetadataList{}
		body, err := b.clients.Do(ctx, q)
		if err != nil {
			return nil, err
		}
		return page, json.Unmarshal(body, page)
	}}
	err := pages.Each(ctx, func(page *metav1.PartialObjectMetadataList) error {
		n += len(page.Items)
		return nil
	})
	if err == nil && n < b.Seeded {
		err = fmt.Errorf("the list has %d of at least %d objects", n, b.Seeded)
	}
	return n, err
}
