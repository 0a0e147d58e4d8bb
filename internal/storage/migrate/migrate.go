// Package migrate rewrites the objects of a definition at its storage version: objects, their managed fields, and at the end the
// stored versions that the definition's status lists. It proves nothing: package proof does.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
)

// Step is a part of a migration.
type Step string

// The steps, in the order in which they are taken.
const (
	// DryRun has the API server try each write without keeping it: admission, validation, conversion and size refuse before
	// anything is written.
	DryRun Step = "dry-run"

	// Objects writes each object at the storage version, with the content that it has.
	Objects Step = "objects"

	// ManagedFields rewrites managed fields that name a version which is not served, or the one to be dropped.
	ManagedFields Step = "managed-fields"

	// StoredVersions takes all versions but the storage version off the status of the definition.
	StoredVersions Step = "stored-versions"
)

// Steps returns all steps, in their order.
func Steps() []Step { return []Step{DryRun, Objects, ManagedFields, StoredVersions} }

// Defaults of Options.
const (
	DefaultPageSize      = 500
	DefaultConcurrency   = 10
	DefaultMaxSize       = 3 << 19 // 1.5 MiB, what etcd takes in one request by default
	DefaultLeaseDuration = 15 * time.Second
	DefaultSettle        = 5 * time.Second
)

// Options say how to migrate.
type Options struct {
	// Steps are those to take; all if empty.
	Steps []Step

	// Drop is a version that managed fields must not name any more, beside those that are not served. It may be empty.
	Drop string

	// PageSize is how many objects are listed at a time, DefaultPageSize if 0.
	PageSize int64

	// Concurrency is how many objects are written at a time, DefaultConcurrency if 0.
	Concurrency int

	// QPS is how many requests are sent in a second at most; no limit of its own if 0.
	QPS float64

	// MaxLatency is the objective of the 99th percentile of the last writes. Beyond it, the migration pauses, and stops in the
	// end. There is none if 0.
	MaxLatency time.Duration

	// MaxSize is how many bytes of JSON an object may have, DefaultMaxSize if 0. It is checked by the dry run.
	MaxSize int

	// Settle is how long ago the definition must have changed: an API server may store objects at the former version until it
	// has seen the change. The migration waits until then; it doesn't if 0.
	Settle time.Duration

	// LeaseNamespace is the namespace of the lease; kube-system, or default where that does not exist, if empty.
	LeaseNamespace string

	// LeaseDuration is how long a lease lasts that nobody renews, DefaultLeaseDuration if 0. API servers want whole seconds.
	LeaseDuration time.Duration

	// State is a file that keeps what another run needs to resume; the lease keeps it if empty.
	State string

	// By is who migrates in place of the steps Objects, ManagedFields and StoredVersions, if it is not nil.
	By Migrator

	// Before is called with the lease, after the dry run and before the first write. Its error ends the migration. It may be nil.
	Before func(context.Context) error

	// Wrote is called after each write that changed what is stored, by several goroutines: the object had a resource version and got
	// another one by that. It may be nil.
	Wrote func(namespace, name, from, to string)

	// Progress is called after each page, and when the migration waits, one call at a time. It may be nil.
	Progress func(Progress)
}

// Progress is how far a migration is.
type Progress struct {
	Step    Step
	Objects int    // that were looked at in this step
	Refused int    // of them
	Waiting string // why nothing is done at the moment, if so
}

// Refusal is an object that was not migrated.
type Refusal struct {
	Step      Step   `json:"step"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"` // what the API server said
}

// String names the object and says why.
func (r Refusal) String() string {
	return fmt.Sprintf("%s: %s", kube.Key(r.Namespace, r.Name), r.Reason)
}

// Orphans are fields that a manager owned at a version which goes, and that nobody owns any more: the conversion renames or changes
// them.
type Orphans struct {
	Manager string   `json:"manager"`
	Version string   `json:"version"` // at which it owned them
	Fields  []string `json:"fields"`  // such as .spec.image
	Objects int      `json:"objects"` // of which it owned these
	Example string   `json:"example"` // namespace and name of one of them
}

// maxOrphans is how many Orphans a Result lists.
const maxOrphans = 100

// Result is what a migration did.
type Result struct {
	Definition string `json:"definition"`
	Storage    string `json:"storage"` // the storage version
	UID        string `json:"uid"`     // of the definition
	Generation int64  `json:"generation"`

	Resumed bool   `json:"resumed"`          // an earlier run had begun
	NoLock  string `json:"noLock,omitempty"` // why nothing kept another migration away

	Tried     int `json:"tried"`     // by the dry run
	Objects   int `json:"objects"`   // that were looked at
	Rewritten int `json:"rewritten"` // by this run: written with the content that they had
	Newer     int `json:"newer"`     // others wrote them since the start
	Behind    int `json:"behind"`    // others wrote them since the start, and they changed when they were written once more at the end: they may have been at another version
	Gone      int `json:"gone"`      // deleted meanwhile
	Mended    int `json:"mended"`    // managed fields were rewritten
	Expired   int `json:"expired"`   // continue tokens that expired; the rest was listed anew

	Orphaned int       `json:"orphaned"`          // objects with fields that lost their owner
	Orphans  []Orphans `json:"orphans,omitempty"` // at most 100

	Refused []Refusal `json:"refused,omitempty"`

	// Changes are what the writes would change that are to change nothing, as the dry run shows of the first objects; at most 100. Harmed
	// counts those that are not the default of a schema.
	Changes []Change `json:"changes,omitempty"`
	Harmed  int      `json:"harmed,omitempty"`

	StoredVersions []string `json:"storedVersions,omitempty"` // of the definition in the end, as far as it was read
	Trimmed        bool     `json:"trimmed"`                  // the stored versions were changed
}

// IncompleteError is the error of a migration that did what it could, and is not complete.
type IncompleteError struct{ Why string }

func (e *IncompleteError) Error() string { return e.Why }

func incomplete(format string, arguments ...any) error {
	return &IncompleteError{fmt.Sprintf(format, arguments...)}
}

// UsageError is an error in what the user asked for.
type UsageError struct{ Why string }

func (e *UsageError) Error() string { return e.Why }

func misused(format string, arguments ...any) error {
	return &UsageError{fmt.Sprintf(format, arguments...)}
}

// migration is one that is in progress.
type migration struct {
	options     Options
	name        string // of the definition
	holder      string // of the lease
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	unpaced     *kube.Once
	everything  kubernetes.Interface
	metadata    metadata.Interface
	rest        rest.Interface
	pace        *pace
	lease       *lease // nil where there are none

	crd     *apiextensionsv1.CustomResourceDefinition // as it was at the start
	storage string                                    // the storage version
	served  []string                                  // versions, the storage version first if it is served
	start   state
	tally   tally

	listedAt string // version at which the page was read whose objects are written

	reporting sync.Mutex
	result    Result
}

// Run migrates the objects of a definition, named as in crontabs.example.com. The error is an IncompleteError if objects were refused
// or the definition changed; what was done is in the result either way. Run may be called again: it completes what an earlier one
// began.
func Run(ctx context.Context, config *rest.Config, definition string, options Options) (Result, error) {
	m, err := connect(config, definition, options)
	if err != nil {
		return Result{Definition: definition}, err
	}
	ctx, m.pace.stop = context.WithCancelCause(ctx)
	defer m.pace.stop(nil)
	err = m.run(ctx)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	return m.result, err
}

func connect(config *rest.Config, definition string, options Options) (*migration, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	m := &migration{options: options, name: definition, tally: tally{wrote: map[uint64]struct{}{}}, result: Result{Definition: definition}}
	host, err := os.Hostname()
	if err != nil {
		host = "crdconform"
	}
	m.holder = host + "_" + uuid.NewString()
	m.pace = newPace(options, func(why string) { m.report(Progress{Waiting: why}) })
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // the pace is ours
	unpaced := rest.CopyConfig(config)
	config.Wrap(m.pace.wrap)
	paced, err1 := kubernetes.NewForConfig(config)
	objects, err2 := metadata.NewForConfig(config)
	everything, err3 := kubernetes.NewForConfig(unpaced)
	clients, err4 := kube.Connect(unpaced)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	m.rest, m.metadata, m.everything, m.definitions, m.unpaced = paced.Discovery().RESTClient(), objects, everything, clients.Definitions.Client, clients.Once
	return m, nil
}

// complete puts the defaults in and reports what is wrong.
func (o *Options) complete() error {
	if len(o.Steps) == 0 {
		o.Steps = Steps()
	}
	for _, step := range o.Steps {
		if !slices.Contains(Steps(), step) {
			return misused("unknown step %q (want dry-run, objects, managed-fields or stored-versions)", step)
		}
	}
	if o.PageSize == 0 {
		o.PageSize = DefaultPageSize
	}
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.MaxSize == 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.LeaseDuration == 0 {
		o.LeaseDuration = DefaultLeaseDuration
	}
	if o.LeaseDuration%time.Second != 0 {
		return misused("the lease must last whole seconds, not %s", o.LeaseDuration)
	}
	return nil
}

func (m *migration) takes(step Step) bool { return slices.Contains(m.options.Steps, step) }

func (m *migration) report(p Progress) {
	m.reporting.Lock()
	defer m.reporting.Unlock()
	if m.options.Progress != nil {
		m.options.Progress(p)
	}
}

func (m *migration) run(ctx context.Context) error {
	if err := m.inspect(ctx); err != nil {
		return err
	}
	if err := m.mayDo(ctx); err != nil {
		return err
	}
	if !m.writes() {
		return m.locked(ctx) // nothing is kept either, not even a lease
	}
	ctx, release, err := m.lock(ctx)
	if err != nil {
		return err
	}
	err = m.locked(ctx)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	return errors.Join(err, release(err == nil))
}

// locked takes the steps, with the lease if they write.
func (m *migration) locked(ctx context.Context) error {
	if err := m.settled(ctx); err != nil {
		return err
	}
	if err := m.resume(); err != nil {
		return err
	}
	if m.takes(DryRun) {
		if err := m.pass(ctx, DryRun); err != nil {
			return err
		}
		if n := len(m.result.Refused); n > 0 {
			return incomplete("%s refused by the dry run; nothing was written", visible.Count(n, "object was", "objects were"))
		}
		if m.result.Harmed > 0 {
			return incomplete("the dry run shows that writing objects as they are changes them, which is the fault of the conversion; nothing was written; mend the webhook, or leave out the step dry-run")
		}
	}
	if !m.writes() {
		return nil
	}
	if m.options.Before != nil {
		if err := m.options.Before(ctx); err != nil {
			return err
		}
	}
	if m.options.By != nil {
		return m.byOthers(ctx)
	}
	return m.migrate(ctx)
}

// writes reports whether any step writes.
func (m *migration) writes() bool {
	return slices.ContainsFunc(m.options.Steps, func(step Step) bool { return step != DryRun })
}

// byOthers has somebody else migrate.
func (m *migration) byOthers(ctx context.Context) error {
	err := m.options.By(ctx, Target{m.name, m.resource(m.storage)})
	before := m.result.StoredVersions
	if _, changed := m.storesAsBefore(ctx); err == nil {
		err = changed
	}
	m.result.Trimmed = !slices.Equal(before, m.result.StoredVersions)
	return err
}

// migrate takes the steps that write.
func (m *migration) migrate(ctx context.Context) error {
	if m.takes(Objects) || m.takes(ManagedFields) {
		if err := m.pass(ctx, Objects); err != nil {
			return err
		}
		if m.takes(Objects) {
			if err := m.pass(ctx, late); err != nil {
				return err
			}
		}
		if n := len(m.result.Refused); n > 0 {
			return incomplete("%s not migrated; status.storedVersions was left as it is", visible.Count(n, "object was", "objects were"))
		}
		if err := m.completed(ctx); err != nil {
			return err
		}
	}
	if m.takes(StoredVersions) {
		return m.trim(ctx)
	}
	return nil
}

// inspect reads the definition and refuses those that cannot be migrated.
func (m *migration) inspect(ctx context.Context) error {
	crd, err := m.read(ctx)
	if err != nil {
		return err
	}
	m.crd = crd
	m.storage, m.served = kube.StorageVersion(crd), kube.ReadableVersions(crd)
	m.result.Storage, m.result.UID, m.result.Generation, m.result.StoredVersions = m.storage, string(crd.UID), crd.Generation, crd.Status.StoredVersions
	if crd.DeletionTimestamp != nil {
		return fmt.Errorf("%s is being deleted", m.name)
	}
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return fmt.Errorf("%s is not Established: the API server does not serve it yet; see its status.conditions", m.name)
	}
	if len(m.served) == 0 {
		return fmt.Errorf("%s serves no version, so its objects can't be read", m.name)
	}
	return m.checkDrop()
}

// checkDrop refuses versions that cannot be dropped.
func (m *migration) checkDrop() error {
	drop, versions := m.options.Drop, versionsOf(m.crd)
	switch {
	case drop == "":
		return nil
	case !slices.Contains(versions, drop):
		return misused("%s has no version %s to drop (want one of %s)", m.name, drop, strings.Join(versions, ", "))
	case drop == m.storage:
		return misused("%s is the storage version of %s and can't be dropped; make another version the storage version first", drop, m.name)
	}
	return nil
}

func versionsOf(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var names []string
	for _, v := range crd.Spec.Versions {
		names = append(names, v.Name)
	}
	return names
}

// trimPatch is what makes the storage version the only stored one, if nothing else changed.
type trimPatch struct {
	Metadata preconditions `json:"metadata"`
	Status   storedStatus  `json:"status"`
}

type storedStatus struct {
	StoredVersions []string `json:"storedVersions"`
}

type preconditions struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

func preconditionsOf(o *metav1.ObjectMeta) preconditions {
	return preconditions{o.UID, o.ResourceVersion}
}
