// Package apiserver measures what a conversion webhook costs the clients of an API server: how often a request makes the
// server call the webhook, how long requests take while many are made, what part of that is the webhook's, how long the first
// LIST takes after the server's cache was lost, and how long it would take with more objects.
//
// The webhook is reached through a proxy in this process that counts, so that any webhook can be measured as it is. An API server
// in this process, its clients and the proxy share a machine; so what is told of one version is to be compared with what is told
// of the other, by the same run.
package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
)

// Part is something that a run measures.
type Part string

// The parts, in the order in which they are measured.
const (
	PartBudget Part = "budget" // webhook calls for each verb
	PartLoad   Part = "load"   // requests and watches, as many as clients can make
	PartRelist Part = "relist" // what the first LIST costs after the cache was lost, by prediction; PartCold confirms it
	PartCold   Part = "cold"   // the first LIST after the cache was lost, as it is
)

// Options say what to measure. Cluster, Definition, Webhook and Objects are needed; the rest has defaults.
type Options struct {
	// Cluster is the API server. It must not have the definition. When it has a method Restart(context.Context) error, by
	// which the API server comes back on the same data, as that of cluster/embedded has, the first LIST after a restart is
	// measured too.
	Cluster cluster.Cluster

	// Definition is installed for the run, and removed after it. Where it says that the webhook is does not matter.
	Definition *corpus.Definition

	// Webhook is where the webhook is, as it can be reached from this process.
	Webhook wire.Endpoint

	// Objects are samples of the definition, at any of its versions. Those that the API server or the webhook refuses are
	// left out, with a note. What is created are copies with names of their own.
	Objects []*unstructured.Unstructured

	// Version is the version at which clients ask, beside the storage version. It is the first one served besides if empty.
	Version string

	// Parts are what is measured: all if empty.
	Parts []Part

	// Seeded is how many objects there are: 1000 if 0.
	Seeded int

	// Duration is how long each load lasts: 5 s if 0. There are 15 of them unless options say otherwise.
	Duration time.Duration

	// Concurrency is how many clients make requests at a time, one load after the other: 1 and 10 if empty.
	Concurrency []int

	// WriteRate is how many writes a second a watch sees: 50 if 0.
	WriteRate float64

	// Repeat is how often the calls of a verb are counted, of which the most is told: 5 if 0.
	Repeat int

	// Namespace is where namespaced objects are created: "default" if empty.
	Namespace string

	// RequestTimeout is how long a client waits for a response: 60 s if 0, as long as API servers take for a request.
	RequestTimeout time.Duration

	// Patience is how long a client goes on asking for a LIST that the API server does not give: 2 min if 0.
	Patience time.Duration

	// Bounds are the upper bounds on webhook calls: what DefaultBounds returns if empty.
	Bounds []Bounds

	// Service is how long the webhook takes by itself. It is measured if nil.
	Service *Service

	// Capacity has the numbers of objects to predict the first LIST for: 1000, 5000, 20,000 and 100,000 if empty.
	Capacity []int
}

const (
	defaultSeeded         = 1000
	defaultDuration       = 5 * time.Second
	defaultWriteRate      = 50
	defaultRepeat         = 5
	defaultRequestTimeout = 60 * time.Second
	defaultPatience       = 2 * time.Minute
)

func (o Options) completed() (Options, error) {
	o.Parts = orDefault(o.Parts, PartBudget, PartLoad, PartRelist, PartCold)
	o.Seeded = cmp.Or(o.Seeded, defaultSeeded)
	o.Duration = cmp.Or(o.Duration, defaultDuration)
	o.Concurrency = orDefault(o.Concurrency, 1, 10)
	o.WriteRate = cmp.Or(o.WriteRate, defaultWriteRate)
	o.Repeat = cmp.Or(o.Repeat, defaultRepeat)
	o.Namespace = cmp.Or(o.Namespace, "default")
	o.RequestTimeout = cmp.Or(o.RequestTimeout, defaultRequestTimeout)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	o.Capacity = orDefault(o.Capacity, 1000, 5000, 20_000, 100_000)
	if len(o.Bounds) == 0 {
		var err error
		if o.Bounds, err = DefaultBounds(); err != nil {
			return o, err
		}
	}
	return o, o.validate()
}

func orDefault[T any](given []T, otherwise ...T) []T {
	if len(given) == 0 {
		return otherwise
	}
	return given
}

func (o Options) validate() error {
	switch {
	case o.Cluster == nil:
		return errors.New("there is no API server to measure; give a cluster")
	case o.Definition == nil:
		return errors.New("there is no CustomResourceDefinition; give the one whose objects the webhook converts")
	case len(o.Objects) == 0:
		return errors.New("there are no objects to create; give samples, or generate some")
	case o.Seeded < 1 || o.Duration < 0 || o.WriteRate < 0 || o.Repeat < 0 || o.RequestTimeout < 0 || o.Patience < 0:
		return errors.New("a number of objects, a duration, a rate or a number of repetitions is less than 0")
	case slices.ContainsFunc(o.Concurrency, func(n int) bool { return n < 1 }):
		return fmt.Errorf("a concurrency of %v: there has to be 1 client at least", o.Concurrency)
	case slices.ContainsFunc(o.Capacity, func(n int) bool { return n < 1 }):
		return fmt.Errorf("a capacity of %v: there has to be 1 object at least", o.Capacity)
	}
	for _, part := range o.Parts {
		if !slices.Contains([]Part{PartBudget, PartLoad, PartRelist, PartCold}, part) {
			return fmt.Errorf("there is no part %q; there are %s, %s, %s and %s", part, PartBudget, PartLoad, PartRelist, PartCold)
		}
	}
	_, _, err := o.versions()
	return err
}

// versions returns the storage version and the version at which clients ask besides.
func (o Options) versions() (storage, other string, err error) {
	var served []string
	for _, v := range o.Definition.CRD.Spec.Versions {
		if v.Storage {
			storage = v.Name
			if !v.Served {
				return "", "", fmt.Errorf("the definition %s does not serve its storage version %s, so the cost of a conversion has nothing to be compared with; serve it for the measurement", o.Definition.Name(), v.Name)
			}
		} else if v.Served {
			served = append(served, v.Name)
		}
	}
	switch {
	case len(served) == 0:
		return "", "", fmt.Errorf("the definition %s serves one version only, so nothing is converted", o.Definition.Name())
	case o.Version == "":
		return storage, served[0], nil
	case !slices.Contains(served, o.Version):
		return "", "", fmt.Errorf("the definition %s does not serve %q beside its storage version; give one of %q", o.Definition.Name(), o.Version, served)
	}
	return storage, o.Version, nil
}

// run is a run under way.
type run struct {
	Options

	progress   func(string)
	storage    string   // version
	other      string   // version
	served     []string // versions, the storage version first
	definition *apiextensionsv1.CustomResourceDefinition
	proxy      *proxy
	api        *api
	templates  []template
	minor      string        // of Kubernetes
	unreadable error         // why the metrics cannot be read; nil until that failed
	applied    atomic.Int64  // objects under load so far, so that each apply changes something
	slowest    time.Duration // that the API server took to go over to a change of the definition
	result     Result
}

// Run installs the definition, measures, and removes the definition with all that was created. The progress function, if there
// is one, is told in a few words what goes on. When the context ends, Run stops, removes what it created, and returns what was
// measured so far, marked as partial. An error says why something could not be measured at all, or is left behind; the result
// has what could be measured.
func Run(ctx context.Context, o Options, progress func(string)) (Result, error) {
	o, err := o.completed()
	if err != nil {
		return Result{}, fmt.Errorf("load through the API server: %w", err)
	}
	r := &run{Options: o, progress: progress}
	if progress == nil {
		r.progress = func(string) {}
	}
	if err = r.run(ctx); err != nil {
		err = fmt.Errorf("load through the API server: %w", err)
	}
	return r.result, err
}

func (r *run) run(ctx context.Context) (err error) {
	if err = r.connect(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.proxy.close()) }()
	defer r.api.close()
	if err = r.install(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.remove(context.WithoutCancel(ctx))) }()
	err = r.measure(ctx)
	if ctx.Err() != nil {
		// Whatever went wrong then went wrong for that.
		r.result.Partial, err = true, nil
	}
	return err
}

// measure waits for the definition, creates the objects, and measures part by part.
func (r *run) measure(ctx context.Context) error {
	if err := r.established(ctx); err != nil {
		return err
	}
	if err := r.seed(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		Part

		measure func(context.Context) error
	}{
		{PartBudget, r.budget},
		{PartLoad, r.load},
		{PartRelist, r.relist},
		{PartCold, r.cold},
	} {
		if !slices.Contains(r.Parts, part.Part) {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.Part, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// connect starts the proxy and asks the API server for its version.
func (r *run) connect(ctx context.Context) error {
	var err error
	if r.storage, r.other, err = r.versions(); err != nil {
		return err
	}
	r.served = []string{r.storage}
	for _, v := range r.Definition.CRD.Spec.Versions {
		if v.Served && !v.Storage {
			r.served = append(r.served, v.Name)
		}
	}
	if r.api, err = newAPI(r.Cluster.Config(), r.Definition.CRD, r.Namespace, r.RequestTimeout); err != nil {
		return err
	}
	version, err := r.api.documents.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the %s cluster for its version: %w", r.Cluster.Name(), err)
	}
	r.minor = minorOf(version)
	r.result = Result{
		Cluster: r.Cluster.Name(), Version: version.GitVersion, WatchCache: r.Cluster.WatchCache(), Definition: r.Definition.Name(),
		StorageVersion: r.storage, OtherVersion: r.other, Served: len(r.served),
	}
	r.proxy, err = startProxy(ctx, r.Cluster, r.Webhook)
	return err
}

// note adds a sentence to the result.
func (r *run) note(format string, arguments ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, arguments...))
}
