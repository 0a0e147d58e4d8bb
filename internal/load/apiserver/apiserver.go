// Package apiserver measures what a conversion webhook costs the clients of an API server: how often a request makes the
// server call the webhook, how long requests take while many are made, what part of that is the webhook's, how long the first
// LIST takes after the server's cache was lost, and how long it would take with more objects.
//
// The webhook is reached through a proxy in this process that counts, so that any webhook can be measured as it is. An API server
// in this process, its clients and the proxy share a machine; so what is reported of one version is to be compared with what is reported
// of the other, by the same run.
package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// Options say what to measure. Cluster, Definition, Webhook and Objects are needed; the rest has defaults.
type Options struct {
	// Cluster is the API server. It must not have the definition. When it has a method Restart(context.Context) error, by
	// which the API server comes back on the same data, as that of cluster/embedded has, the first LIST after a restart is
	// measured too.
	Cluster cluster.Cluster

	// Definition is installed for the run, and removed after it. Where it says that the webhook is does not matter. Clients
	// ask at its storage version, and at the first one served besides.
	Definition *corpus.Definition

	// Webhook is where the webhook is, as it can be reached from this process.
	Webhook wire.Endpoint

	// Objects are samples of the definition, at any of its versions. Those that the API server refuses, or the webhook does not
	// convert, are left out, with a note. What is created are copies with names of their own.
	Objects []*unstructured.Unstructured

	// Seeded is how many objects there are: 1000 if 0.
	Seeded int

	// Duration is how long each load lasts: 5 s if 0. There are about 15 of them.
	Duration time.Duration

	// Settings are DefaultSettings if nil.
	Settings *Settings
}

func (o Options) validate() error {
	switch {
	case o.Cluster == nil:
		return errors.New("no API server to measure; specify a cluster")
	case o.Definition == nil:
		return errors.New("no CustomResourceDefinition; specify the one whose objects the webhook converts")
	case len(o.Objects) == 0:
		return errors.New("no objects to create; provide samples or generate objects")
	case o.Seeded < 0 || o.Duration < 0:
		return errors.New("the number of objects and the duration must not be negative")
	}
	return nil
}

// Part is something that a run measures.
type Part string

// The parts, in the order in which they are measured.
const (
	PartBudget Part = "calls for each verb"
	PartLoad   Part = "requests and watches, as many as clients can make"
	PartRelist Part = "prediction of the first LIST"
	PartCold   Part = "first LIST"
)

// Settings are what tests make smaller.
type Settings struct {
	Parts          []Part
	Concurrency    []int         // of clients that make requests, one load after the other
	Repeat         int           // how often the calls of a verb are counted, of which the most is reported
	RequestTimeout time.Duration // how long a client waits for a response, as long as API servers take for a request
	Grace          time.Duration // how long requests may go on after the end of a load, at least
	ListPatience   time.Duration // how long a client goes on asking for a LIST that the API server does not give
	Bounds         []Bounds      // on webhook calls
}

// DefaultSettings are those of Options without any.
func DefaultSettings() (*Settings, error) {
	bounds, err := DefaultBounds()
	return &Settings{
		Parts: []Part{PartBudget, PartLoad, PartRelist, PartCold}, Concurrency: []int{1, 10}, Repeat: 5,
		RequestTimeout: time.Minute, Grace: time.Second, ListPatience: 2 * time.Minute, Bounds: bounds,
	}, err
}

const (
	defaultSeeded   = 1000
	defaultDuration = 5 * time.Second

	// writeRate is how many writes a second a watch sees.
	writeRate = 50

	// namespace is where namespaced objects are created.
	namespace = "default"
)

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
	if len(served) == 0 {
		return "", "", fmt.Errorf("the definition %s serves one version only, so nothing is converted", o.Definition.Name())
	}
	return storage, served[0], nil
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
	clients    *fleet.Clients
	crds       kube.Definitions
	templates  []template
	minor      string        // of Kubernetes
	unreadable error         // why the metrics cannot be read; nil until that failed
	applied    atomic.Int64  // objects under load so far, so that each apply changes something
	slowest    time.Duration // that the API server took to go over to a change of the definition
	result     loadgen.Server
}

// newRun is a run that was not begun yet.
func newRun(o Options) (*run, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.Seeded = cmp.Or(o.Seeded, defaultSeeded)
	o.Duration = cmp.Or(o.Duration, defaultDuration)
	if o.Settings == nil {
		defaults, err := DefaultSettings()
		if err != nil {
			return nil, err
		}
		o.Settings = defaults
	}
	r := &run{Options: o}
	var err error
	r.storage, r.other, err = o.versions()
	return r, err
}

// Run installs the definition, measures, and removes the definition with all that was created. The progress function, if there
// is one, gets a few words about what goes on. When the context ends, Run stops, removes what it created, and returns what was
// measured so far, marked as partial. So it does, but for the mark, with an error, as soon as something shows that the webhook
// converts nothing. An error says why something could not be measured at all, or is left behind; the result has what could be
// measured.
func Run(ctx context.Context, o Options, progress func(string)) (loadgen.Server, error) {
	r, err := newRun(o)
	if err != nil {
		return loadgen.Server{}, fmt.Errorf("load through the API server: %w", err)
	}
	return r.whole(ctx, progress)
}

func (r *run) whole(ctx context.Context, progress func(string)) (loadgen.Server, error) {
	r.progress = progress
	if progress == nil {
		r.progress = func(string) {}
	}
	if err := r.run(ctx); err != nil {
		r.result.Ended = err.Error()
		return r.result, fmt.Errorf("load through the API server: %w", err)
	}
	return r.result, nil
}

func (r *run) run(ctx context.Context) (err error) {
	if err = r.connect(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.proxy.close()) }()
	defer r.clients.Close()
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
	for _, one := range []struct {
		Part

		measure func(context.Context) error
	}{
		{PartBudget, r.budget},
		{PartLoad, r.load},
		{PartRelist, r.relist},
		{PartCold, r.cold},
	} {
		if !slices.Contains(r.Settings.Parts, one.Part) {
			continue
		}
		if err := one.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", one.Part, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// connect starts the proxy and asks the API server for its version.
func (r *run) connect(ctx context.Context) error {
	r.served = []string{r.storage}
	for _, v := range r.Definition.CRD.Spec.Versions {
		if v.Served && !v.Storage {
			r.served = append(r.served, v.Name)
		}
	}
	clients, err := kube.Connect(r.Cluster.Config())
	if err != nil {
		return err
	}
	r.clients, r.crds = fleet.New(clients.Once, r.Definition.CRD, namespace, mark, r.Settings.RequestTimeout), clients.Definitions
	version, err := clients.Discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the %s cluster for its version: %w", r.Cluster.Name(), err)
	}
	r.minor = version.Major + "." + strings.TrimRight(version.Minor, "+") // as some distributions write it
	r.result = loadgen.Server{
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
