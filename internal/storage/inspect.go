package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
)

// Options say where to look.
type Options struct {
	// Source is where stored bytes can be read. It may be nil.
	Source Source

	// Drop is the version that is asked about, if it is one: it is not used to read, so that the API server does not count that as
	// somebody who still asks for it, and all that blocks it is kept in Inventory.Spool if KeepAll is set.
	Drop    string
	KeepAll bool

	// Flags say which cluster it is, for commands that mend something, such as "--context staging". It may be empty.
	Flags string

	// Looked are flags that say where else versions may be named, for commands that look again.
	Looked string

	// PageSize is how many objects are listed at a time; 500 if 0.
	PageSize int64

	// Skip are resources that are not looked at for owner references, such as secrets or leases.coordination.k8s.io.
	Skip []string

	// Own leaves out everything but the objects of the definitions, so that neither owner references nor releases of Helm are looked for.
	Own bool

	// AuditLog is what was read of an audit log, or nil.
	AuditLog *AuditLog

	// Manifests are what was read of the user's files, or nil.
	Manifests *Manifests

	// Progress gets how many objects of a resource were seen. It may be nil.
	Progress func(resource string, objects int64)
}

// NoDefinitionError says that the cluster has no such definition.
type NoDefinitionError struct{ Name string }

func (e *NoDefinitionError) Error() string {
	return fmt.Sprintf("the cluster has no definition %s; \"kubectl get crd\" lists those that it has, by names such as crontabs.stable.example.com", e.Name)
}

// inspector is one look at a cluster.
type inspector struct {
	options     Options
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	discovery   discovery.DiscoveryInterface
	objects     dynamic.Interface
	metadata    metadata.Interface
	raw         rest.Interface // for what is no resource
	host        string

	inventory *Inventory
	upstream  map[*Definition]*apiextensionsv1.CustomResourceDefinition
	readAt    map[*Definition]schema.GroupVersionResource // what objects are listed at; none if no version is served
	owners    map[schema.GroupKind]*Definition
	tellers   map[*Definition]teller
	fromEtcd  map[*Definition]bool // whether everything of the objects is read from etcd
	book      *book
}

// Inspect looks at definitions, by name, in the cluster of a configuration, and at everything that names their versions. It sends
// nothing but GET requests. The error is a NoDefinitionError if a definition is not there. What cannot be looked at is no error, but
// a gap of the inventory. The spool has all that blocks the version options.Drop, with options.KeepAll; the caller closes it.
func Inspect(ctx context.Context, config *rest.Config, names []string, options Options) (*Inventory, *Spool, error) {
	i := &inspector{
		options: options, inventory: &Inventory{Flags: options.Flags, Looked: options.Looked}, host: config.Host,
		upstream: map[*Definition]*apiextensionsv1.CustomResourceDefinition{}, readAt: map[*Definition]schema.GroupVersionResource{},
		owners: map[schema.GroupKind]*Definition{}, tellers: map[*Definition]teller{}, fromEtcd: map[*Definition]bool{},
		book: &book{counts: *newCounts(), pending: newCounts()},
	}
	if i.options.PageSize == 0 {
		i.options.PageSize = 500
	}
	if err := i.connect(config); err != nil {
		return nil, nil, err
	}
	if err := i.look(ctx, names); err != nil {
		return nil, nil, errors.Join(err, i.book.spool.Close())
	}
	return i.inventory, i.book.spool, nil
}

func (i *inspector) connect(config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	clients, err := kube.Connect(config)
	if err != nil {
		return err
	}
	i.discovery, i.definitions, i.raw = clients.Discovery, clients.Definitions.Client, clients.Discovery.RESTClient()
	i.objects, i.metadata = clients.Objects, clients.Metadata
	return nil
}

// look looks at everything.
func (i *inspector) look(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := i.define(ctx, name); err != nil {
			return err
		}
	}
	if i.options.KeepAll {
		var err error
		if i.book.spool, err = newSpool(place{i.inventory.Definitions[0], i.options.Drop}); err != nil {
			return err
		}
	}
	for _, d := range i.inventory.Definitions {
		if err := i.storedOf(ctx, d); err != nil {
			return err
		}
	}
	if err := i.everything(ctx); err != nil {
		return err
	}
	if err := i.manifests(); err != nil {
		return err
	}
	for _, d := range i.inventory.Definitions {
		i.sum(d)
		i.requests(ctx, d)
		for _, v := range d.Versions {
			v.Plan = i.inventory.plan(d, v)
		}
		if err := i.unchanged(ctx, d); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// define looks at a definition itself.
func (i *inspector) define(ctx context.Context, name string) error {
	if slices.ContainsFunc(i.inventory.Definitions, func(d *Definition) bool { return d.Name == name }) {
		return nil
	}
	crd, err := i.definitions.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &NoDefinitionError{name}
	case apierrors.IsForbidden(err):
		return fmt.Errorf("the user may not read the definition %s; %s gives the right", name, i.right("get", "customresourcedefinitions.apiextensions.k8s.io", err))
	case err != nil:
		return fmt.Errorf("reading the definition %s: %w", name, err)
	}
	d := &Definition{
		Name: name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Plural: crd.Spec.Names.Plural, UID: string(crd.UID), Generation: crd.Generation,
		Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, StoredVersions: crd.Status.StoredVersions,
	}
	for _, v := range crd.Spec.Versions {
		d.Versions = append(d.Versions, &Version{
			Name: v.Name, Defined: true, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated,
			Listed: slices.Contains(d.StoredVersions, v.Name), First: map[Kind][]Blocker{},
		})
	}
	switch {
	case crd.DeletionTimestamp == nil:
	case i.options.Drop != "":
		return fmt.Errorf("%s is being deleted with all its objects, so there is no telling what is safe; \"kubectl get crd %s -o yaml\" shows the finalizers that it waits for", name, name)
	default:
		d.Gaps = append(d.Gaps, Gap{What: name, Why: "the definition is being deleted"})
	}
	i.inventory.Definitions = append(i.inventory.Definitions, d)
	i.upstream[d] = crd
	i.owners[schema.GroupKind{Group: d.Group, Kind: d.Kind}] = d
	if version := i.readable(d); version != "" {
		i.readAt[d] = schema.GroupVersionResource{Group: d.Group, Version: version, Resource: d.Plural}
	}
	return nil
}

// readable returns the version at which objects are read: the storage version, since fewest of them are converted then, or else one
// that is served and that nobody counts who asks for it, if there is one.
func (i *inspector) readable(d *Definition) string {
	best, rank := "", -1
	for _, v := range d.Versions {
		if !v.Served {
			continue
		}
		r := 0
		if v.Name != i.options.Drop {
			r += 4
		}
		if !v.Deprecated {
			r += 2
		}
		if v.Storage {
			r++
		}
		if r > rank {
			best, rank = v.Name, r
		}
	}
	return best
}

// storedOf finds out how the versions of stored objects are known, and reads the objects if that is from etcd.
func (i *inspector) storedOf(ctx context.Context, d *Definition) error {
	source := i.options.Source
	if source != nil {
		same, err := belongs(ctx, source, d)
		switch {
		case errors.Is(err, errEncrypted):
			d.Notes = append(d.Notes, fmt.Sprintf("etcd was not used: %v.", err))
		case err != nil:
			return fmt.Errorf("%s: %w", source.basis().place(), err)
		case !same:
			d.Notes = append(d.Notes, source.basis().place()+" was not used: the definition has changed since; give a new one.")
		default:
			if err := i.readStored(ctx, d); err != nil || i.tellers[d].bytes {
				return err
			}
		}
	}
	found, err := i.history(ctx, d)
	i.tellers[d] = found
	return err
}

// place says what a source is.
func (b Basis) place() string {
	if b == Snapshot {
		return "the snapshot"
	}
	return "etcd"
}

// readStored reads the stored objects of a definition. Without an error, the teller says whether that was possible.
func (i *inspector) readStored(ctx context.Context, d *Definition) error {
	source := i.options.Source
	live := source.basis() == Etcd
	resource := d.Resource()
	seen := int64(0)
	if err := i.book.mark(); err != nil {
		return err
	}
	var unread []Gap
	err := source.each(ctx, source.key(d.Group, d.Plural)+"/", func(key string, data []byte) error {
		if seen++; seen%i.options.PageSize == 0 {
			i.progress(resource, seen)
		}
		v, err := parse(data)
		if errors.Is(err, errEncrypted) {
			return err
		}
		if err != nil {
			i.book.pending.objects[d]++
			i.book.pending.unknown[d]++
			if len(unread) < Shown {
				unread = append(unread, Gap{What: key, Why: fmt.Sprintf("what is stored cannot be read: %v", err)})
			}
			return nil
		}
		o := stored{v.Metadata, v.version()}
		if err := i.storedAt(d, &o, source.basis()); err != nil || !live {
			return err
		}
		return i.names(d, resource, &o)
	}, func() error { seen, unread = 0, nil; return i.book.back() })
	if errors.Is(err, errEncrypted) {
		d.Notes = append(d.Notes, fmt.Sprintf("%s was not used: %v.", source.basis().place(), err))
		return i.book.back()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", source.basis().place(), err)
	}
	i.progress(resource, seen)
	d.Gaps = append(d.Gaps, unread...)
	i.book.keep()
	i.tellers[d], i.fromEtcd[d] = teller{bytes: true}, live
	return nil
}

func (i *inspector) progress(resource string, n int64) {
	if i.options.Progress != nil {
		i.options.Progress(resource, n)
	}
}

// unchanged makes sure that a definition is as it was at the beginning.
func (i *inspector) unchanged(ctx context.Context, d *Definition) error {
	crd, err := i.definitions.Get(ctx, d.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("the definition %s was deleted while crdconform looked", d.Name)
	}
	if err != nil {
		return fmt.Errorf("reading the definition %s again: %w", d.Name, err)
	}
	switch {
	case string(crd.UID) != d.UID:
		return fmt.Errorf("the definition %s was replaced while crdconform looked (its UID was %s and is %s); run the command again", d.Name, d.UID, crd.UID)
	case crd.Generation != d.Generation:
		return fmt.Errorf("the definition %s changed while crdconform looked (its generation was %d and is %d); run the command again", d.Name, d.Generation, crd.Generation)
	case !slices.Equal(crd.Status.StoredVersions, d.StoredVersions):
		return fmt.Errorf("status.storedVersions of %s changed while crdconform looked (it was %v and is %v); run the command again", d.Name, d.StoredVersions, crd.Status.StoredVersions)
	}
	return nil
}

// sum puts what was entered into a definition.
func (i *inspector) sum(d *Definition) {
	d.Objects, d.Unknown, d.Bases = i.book.objects[d], i.book.unknown[d], i.book.bases[d]
	if older := i.book.older[d]; older > 0 {
		d.Notes = append(d.Notes, visible.Count(older, "object is", "objects are")+" older than the definition: one of the same name left them behind when it was deleted.")
	}
	if only := i.tellers[d].promised; only != "" && d.Unknown > 0 && i.book.older[d] == 0 {
		i.book.stored[place{d, only}] += d.Unknown
		i.book.based(d, Promise, d.Unknown)
		d.Unknown, d.Bases = 0, i.book.bases[d]
	}
	named := map[string]bool{}
	for at, kinds := range i.book.blockers {
		for kind := range kinds {
			if at.definition == d && kind != LastApplied && kind != HelmRelease && kind != Manifest { // these break nothing that is there
				named[at.version] = true
			}
		}
	}
	for at := range i.book.stored {
		if at.definition == d {
			named[at.version] = true
		}
	}
	for _, version := range d.StoredVersions {
		named[version] = true
	}
	var gone []string
	for version := range named {
		if d.Version(version) == nil {
			gone = append(gone, version)
		}
	}
	slices.Sort(gone)
	for _, version := range gone {
		d.Versions = append(d.Versions, &Version{Name: version, Listed: slices.Contains(d.StoredVersions, version)})
	}
	for _, v := range d.Versions {
		at := place{d, v.Name}
		v.Stored, v.First = i.book.stored[at], i.book.first[at]
		v.ManagedFields, v.OwnerReferences = i.book.blockers[at][ManagedFields], i.book.blockers[at][OwnerReference]
		v.LastApplied, v.HelmReleases, v.Manifests = i.book.blockers[at][LastApplied], i.book.blockers[at][HelmRelease], i.book.blockers[at][Manifest]
	}
}
