// Package rehearsal upgrades a cluster of the run from one release of a user's software to the next, with the user's objects in it. It
// takes the steps that users take, one after another, and looks at every object after each of them; then it goes the way back. What is
// stored is written to etcd directly, so that the objects are as they were. Everything else goes through the API server.
//
// A leg takes the steps, with parts that can be read one at a time: definitions installs what a release is, intake brings objects in, rollout
// replaces the webhook, reader and writer read and write the objects, stored migrates them, and returning goes the way back. They share api,
// which asks and judges nothing, and record, which judges and performs no I/O: judge.go, findings.go and the comparisons of content.go.
package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Release is what a user installs: definitions, and what converts their objects.
type Release struct {
	Name        string // for messages, such as v1.4/crds
	Definitions []dump.Definition

	// Build converts the objects. It is nil if nothing does, or nobody says what.
	Build Build

	// Assumed are the names of definitions that get a conversion stanza, since their manifests have none and others say that they are
	// converted by Build.
	Assumed []string

	// Shipped says that the manifests are those that users install, and not what something is still to be added to.
	Shipped bool

	// Apply names the files to apply, for commands that people repeat, such as "-f v1.4/crds".
	Apply string
}

// Build is a build of a conversion webhook that can be started.
type Build interface {
	// Start starts it for an API server. Unless at is nil, it calls at as soon as it knows how definitions refer to it: before the build runs if it can,
	// and again if that changes.
	Start(ctx context.Context, api cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (*Webhook, error)

	// Starts reports whether Start starts something. What runs already is only connected to.
	Starts() bool

	// Acts reports whether it is a client of the API server itself, as operators are.
	Acts() bool
}

// Webhook is a build that runs.
type Webhook struct {
	Endpoint wire.Endpoint                // where it is called from here; HTTP2 says whether it can be used
	Alive    func() error                 // why it no longer runs; nil if that is not known
	Usage    func() (process.Usage, bool) // what it uses; nil if that is not known
	Stop     func(context.Context) error

	// Revive starts it again if it has ended, and returns how it did, and whether that was before a time. It is nil if nothing starts it again.
	Revive func(ctx context.Context, since time.Time) (before bool, ended error)
}

// Way is how definitions are installed.
type Way string

// The ways.
const (
	Apply      Way = "apply"       // kubectl apply
	ServerSide Way = "server-side" // kubectl apply --server-side
	Replace    Way = "replace"     // kubectl create, and kubectl replace after that
)

// Ways returns all ways, the one that is most used first.
func Ways() []Way { return []Way{Apply, ServerSide, Replace} }

// Plan is what to rehearse.
type Plan struct {
	// Releases are the old ones, the oldest first, and the new one.
	Releases []Release

	// Objects are those that the cluster has before the first upgrade.
	Objects *Objects

	// Cluster starts a cluster of the run. It is called for each leg, and the function stops it.
	Cluster func(ctx context.Context) (cluster.Cluster, func(context.Context) error, error)

	// Way is how definitions are installed.
	Way Way

	// Lossy says why a loss at a version is known and right, if it is. It may be nil.
	Lossy func(kind *apiextensionsv1.CustomResourceDefinition, version, path string) (reason string, known bool)

	// Selects reports whether a requirement is to be judged. It may be nil.
	Selects func(requirement.ID) bool

	// Seed is of all random choices.
	Seed int64

	// Dir is a folder for temporary files.
	Dir string

	// CollectTimeout is how long a garbage collector may take: two minutes if it is 0.
	CollectTimeout time.Duration

	// Progress may be nil.
	Progress Progress
}

// Progress gets the progress of a rehearsal.
type Progress interface {
	// Rehearsing says that a leg begins.
	Rehearsing(from, to string)

	// Note reports what goes on, such as the title of a step that begins.
	Note(text string)

	// Stepped says what came of a step.
	Stepped(reports.LegStep)
}

// Storage is the etcd of a cluster, as the rehearsal writes to it.
type Storage interface {
	cluster.Storage

	Put(ctx context.Context, key cluster.Key, data []byte) error
	EachStored(ctx context.Context, group, resource string, visit func(cluster.Stored)) error
	Client() (*clientv3.Client, error)
}

// Outcome is what came of a rehearsal.
type Outcome struct {
	Legs    []reports.Leg
	Results []reports.Result
	Notes   []string
}

// IDs returns the requirements of rehearsals, in the order of the catalogue.
func IDs() []requirement.ID {
	var all []requirement.ID
	for _, r := range requirement.All() {
		if r.ID.Area() == Area {
			all = append(all, r.ID)
		}
	}
	return all
}

// Area is the chapter of the requirements.
const Area = "upgrade"

// Run rehearses the upgrades between all consecutive releases and, if there are more than two, the one from the oldest to the newest. The
// outcome is as far as it came. The error says what kept it from going on, other than the context.
func Run(ctx context.Context, p Plan) (Outcome, error) {
	o := Outcome{}
	objects := p.Objects
	last := len(p.Releases) - 1
	for i := range last {
		next, err := p.leg(ctx, &o, upgrade{from: p.Releases[i], to: p.Releases[i+1], objects: objects, carries: i+1 < last})
		if objects != p.Objects {
			err = errors.Join(err, objects.Close())
		}
		if err != nil || ctx.Err() != nil {
			return o, errors.Join(err, next.Close())
		}
		objects = next
	}
	err := objects.Close()
	if last > 1 && err == nil && ctx.Err() == nil {
		var next *Objects
		next, err = p.leg(ctx, &o, upgrade{from: p.Releases[0], to: p.Releases[last], objects: p.Objects})
		err = errors.Join(err, next.Close())
	}
	return o, err
}

// leg rehearses one upgrade on a cluster of its own, and returns the objects as they are stored after it.
func (p *Plan) leg(ctx context.Context, o *Outcome, u upgrade) (_ *Objects, err error) {
	if len(p.Releases) > 2 {
		u.subject = u.from.Name + " to " + u.to.Name
	}
	if p.Progress != nil {
		p.Progress.Rehearsing(u.from.Name, u.to.Name)
	}
	l, err := newLeg(p, u) //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return nil, err
	}
	if u.objects == nil {
		l.record.skipAll(fmt.Sprintf("the upgrade to %s did not get far enough to leave objects for the next one", u.from.Name))
		l.conclude(ctx, o)
		return nil, nil //nolint:nilnil // the next upgrade cannot be rehearsed either
	}
	api, stop, err := p.Cluster(ctx)
	if err != nil {
		l.conclude(ctx, o)
		return nil, err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	err = l.run(ctx, api)
	l.conclude(ctx, o)
	return l.carried, err
}

// kind is a definition of both releases, or of one.
type kind struct {
	name     string
	group    string
	plural   string
	kind     string
	scoped   bool // namespaced
	index    int  // in the leg
	old, new *side
	book     *book
	stored   map[string]int // objects by the version that they were brought in at
	objects  int
	applied  map[string][]string // objects by the version at which kubectl last applied them
	bare     int                 // objects whose managed fields are not known

	made       []made          // objects that the rehearsal created
	unreadable map[string]bool // objects that could not be read before the upgrade
	invalid    map[string]bool // objects that the old schema refuses, and that could not be applied before the upgrade

	// stopped is the requirement that keeps the definition from being looked at any further; empty if none does.
	stopped requirement.ID

	way Way // how it is installed
}

// side is a definition as one of the releases has it.
type side struct {
	given    map[string]any // the manifest as the user has it
	manifest map[string]any // and with the conversion stanza that is assumed, if any
	typed    *apiextensionsv1.CustomResourceDefinition
	// The schemas. Those that cannot be compiled, such as the ones of v1beta1 that say nothing, allow everything.
	definition *corpus.Definition // nil if it cannot be compiled
	why        error              // why not

	unnamed bool     // it is shipped without a conversion stanza, which something adds later
	stored  []string // status.storedVersions of the user's cluster; nil if they are not known
}

// served returns the served versions, in the definition's order.
func (s *side) served() []string {
	if s == nil {
		return nil
	}
	return kube.ServedVersions(s.typed)
}

// versions returns all versions.
func (s *side) versions() []string {
	if s == nil {
		return nil
	}
	var all []string
	for _, v := range s.typed.Spec.Versions {
		all = append(all, v.Name)
	}
	return all
}

func (s *side) has(version string) bool { return slices.Contains(s.versions(), version) }

// storage returns the storage version.
func (s *side) storage() string { return kube.StorageVersion(s.typed) }

// assumed reports whether the conversion stanza is assumed: the user's manifest has none.
func (s *side) assumed() bool {
	_, found, _ := unstructured.NestedFieldNoCopy(s.given, "spec", "conversion")
	return s.converts() && !found
}

// converts reports whether objects are converted by a webhook.
func (s *side) converts() bool {
	if s == nil {
		return false
	}
	c := s.typed.Spec.Conversion
	return c != nil && c.Strategy == apiextensionsv1.WebhookConverter
}

// status reports whether a version has the status as a subresource.
func (s *side) status(version string) bool { return s.subresources(version).Status != nil }

func (s *side) subresources(version string) apiextensionsv1.CustomResourceSubresources {
	for _, v := range s.typed.Spec.Versions {
		if v.Name == version && v.Subresources != nil {
			return *v.Subresources
		}
	}
	return apiextensionsv1.CustomResourceSubresources{}
}

// newSide reads a definition of a release.
func newSide(release Release, d dump.Definition) (*side, error) {
	assumed := slices.Contains(release.Assumed, d.Name)
	s := &side{typed: d.DeepCopy(), unnamed: assumed && release.Shipped, stored: slices.Clone(d.Status.StoredVersions)}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.Manifest, &s.manifest); err != nil {
		return nil, fmt.Errorf("%s: definition %s: %w", d.From, d.Name, err)
	}
	clean(s.manifest)
	s.given = runtime.DeepCopyJSON(s.manifest)
	if assumed {
		s.typed.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook:  &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1", "v1beta1"}},
		}
		conversion := map[string]any{"strategy": "Webhook", "webhook": map[string]any{"conversionReviewVersions": []any{"v1", "v1beta1"}}}
		spec, _ := s.manifest["spec"].(map[string]any)
		spec["conversion"] = conversion // a definition has a spec, or it is not read
	}
	s.definition, s.why = corpus.NewDefinition(s.typed.DeepCopy())
	return s, nil
}

// wasApplied gives an old definition the annotation that kubectl apply left when it applied the manifest at v1beta1: what that does not
// mention, no later apply removes.
func (s *side) wasApplied(original []byte) error {
	if original == nil || (&unstructured.Unstructured{Object: s.manifest}).GetAnnotations()[kube.LastApplied] != "" {
		return nil
	}
	var manifest map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(original, &manifest); err != nil {
		return err
	}
	clean(manifest)
	raw, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	for _, m := range []map[string]any{s.manifest, s.given} {
		if err := unstructured.SetNestedField(m, string(raw)+"\n", "metadata", "annotations", kube.LastApplied); err != nil {
			return err
		}
	}
	return nil
}

// clean takes from a manifest what the API server writes.
func clean(manifest map[string]any) {
	delete(manifest, "status")
	meta, ok := manifest["metadata"].(map[string]any)
	if !ok {
		return
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "finalizers", "ownerReferences", "selfLink"} {
		delete(meta, field)
	}
}
