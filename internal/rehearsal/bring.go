package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// bring installs the old release, brings the objects in as they were, and notes what they show.
func (l *leg) bring(ctx context.Context) error {
	old := slices.DeleteFunc(slices.Clone(l.kinds), func(k *kind) bool { return k.old == nil })
	for _, k := range old {
		if err := l.bringDefinition(ctx, k); err != nil {
			return err
		}
	}
	if l.oldHook.build != nil && slices.ContainsFunc(old, func(k *kind) bool { return k.old.converts() }) {
		if err := l.startFor(ctx, &l.oldHook, old, (*kind).oldSide); err != nil {
			return fmt.Errorf("the old webhook does not start: %w", err)
		}
	}
	if err := l.bringObjects(ctx); err != nil {
		return err
	}
	for _, k := range old {
		if err := l.open(ctx, k); err != nil {
			return err
		}
	}
	for _, k := range l.upgraded() {
		if k.old == nil {
			l.record.skipWithoutObjects(k, "the old release has no such definition")
			l.record.spare(requirement.UpgradeBackDefinitions, k, "the old release has no such definition")
		} else if k.objects == 0 {
			l.record.skipWithoutObjects(k, "there are no objects of it")
		}
	}
	return nil
}

// skipWithoutObjects notes that nothing about objects can be judged.
func (r *record) skipWithoutObjects(k *kind, why string) {
	for _, id := range IDs() {
		if !strings.HasPrefix(string(id), Area+".definitions.") && id != requirement.UpgradeWebhookStarts && id != requirement.UpgradeBackDefinitions {
			r.spare(id, k, "%s", why)
		}
	}
}

// bringDefinition installs the old definition of a kind, in the way in which it can be.
func (l *leg) bringDefinition(ctx context.Context, k *kind) error {
	manifest, column, err := l.manifestOf(k.old, nil)
	if err != nil {
		return err
	}
	ways := append([]Way{l.Way}, Ways()...)
	var first error
	for _, way := range ways {
		_, err = l.installOld(ctx, k, way, manifest)
		if err == nil {
			k.way = way
			break
		}
		if ctx.Err() != nil || !isAbout(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("the API server refuses the old definition %s: %s", k.name, said(first))
	case k.way != l.Way:
		l.record.note("%s of the old definition %s fails, so it is installed by %s: %s", l.Way.command(), k.name, k.way.command(), said(first))
	}
	if err := l.install.effective(ctx, k.old, column); err != nil {
		return err
	}
	if k.old.stored == nil {
		return nil
	}
	if err := l.install.trim(ctx, k.name, k.old.stored); err != nil {
		if !isAbout(err) {
			return err
		}
		l.record.note("status.storedVersions of %s could not be set to that of your cluster, %s: %s", k.name, strings.Join(k.old.stored, ", "), said(err))
		k.old.stored = nil
	}
	return nil
}

// oldSide and newSide return what a definition is in a release; nil for a new one that is not looked at any further.
func (k *kind) oldSide() *side { return k.old }

func (k *kind) newSide() *side {
	if k.stopped != "" {
		return nil
	}
	return k.new
}

// point has the definitions of a release name a webhook, or nobody if it is nil.
func (a *api) point(ctx context.Context, kinds []*kind, of func(*kind) *side, client *apiextensionsv1.WebhookClientConfig) error {
	for _, k := range kinds {
		if s := of(k); s != nil && s.converts() {
			if err := a.put(ctx, k, s, client); err != nil {
				return fmt.Errorf("the webhook of %s: %w", k.name, err)
			}
		}
	}
	return nil
}

// Bring brings the definitions of a release and objects into a cluster, as a rehearsal does in the beginning. It returns how many objects
// there are then.
func Bring(ctx context.Context, p *Plan, c cluster.Cluster, release Release, objects *Objects) (int, error) {
	l, err := newLeg(p, release, release, objects, "", false) //nolint:contextcheck // definitions are validated without waiting for anything
	if err != nil {
		return 0, err
	}
	if l.api, err = connect(c); err != nil {
		return 0, err
	}
	for _, k := range l.kinds {
		if err := l.bringDefinition(ctx, k); err != nil {
			return 0, err
		}
	}
	if err := l.bringObjects(ctx); err != nil {
		return 0, err
	}
	n := 0
	for _, k := range l.kinds {
		n += k.objects
	}
	return n, nil
}

// bringObjects writes the objects to etcd, in the order in which they were written before.
func (l *leg) bringObjects(ctx context.Context) error {
	kinds := map[string]*kind{}
	for _, k := range l.kinds {
		kinds[k.name] = k
	}
	if err := l.namespaces(ctx); err != nil {
		return err
	}
	orphans, err := l.orphans(ctx)
	if err != nil {
		return err
	}
	var buffer bytes.Buffer
	cut := 0
	for _, e := range l.sources.all {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := kinds[e.definition.Name]
		if k == nil || k.old == nil {
			continue
		}
		raw, err := l.sources.read(e, &buffer)
		if err != nil {
			return err
		}
		if orphans != nil {
			var fewer bool
			if raw, fewer, err = withoutForeignOwners(raw, orphans); err != nil {
				return fmt.Errorf("%s: %w", e.from, err)
			}
			if fewer {
				cut++
			}
		}
		if err := l.storage.Put(ctx, cluster.Key{Group: k.group, Resource: k.plural, Namespace: e.namespace, Name: e.name}, raw); err != nil {
			return fmt.Errorf("bringing in %s: %w", e.from, err)
		}
		k.objects++
		if e.bare {
			k.bare++
		}
		if applied := gjson.Get(gjson.GetBytes(raw, "metadata.annotations."+strings.ReplaceAll(kube.LastApplied, ".", `\.`)).String(), "apiVersion").String(); applied != "" {
			_, version, _ := strings.Cut(applied, "/")
			k.applied[version] = append(k.applied[version], kube.Key(e.namespace, e.name))
		}
		k.stored[e.version]++
	}
	if cut > 0 {
		l.record.note("%d objects were brought in without owner references to objects that are not among them: the garbage collector of this cluster would delete them", cut)
	}
	return nil
}

// namespaces creates the namespaces of the objects, where a cluster has namespaces.
func (l *leg) namespaces(ctx context.Context) error {
	at := l.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if _, err := at.List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
		return nil
	}
	made := map[string]bool{"": true}
	for _, e := range l.sources.all {
		if made[e.namespace] {
			continue
		}
		made[e.namespace] = true
		one := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		one.SetName(e.namespace)
		if _, err := at.Create(ctx, one, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the namespace %s: %w", e.namespace, err)
		}
	}
	return nil
}

// collects reports whether the cluster collects garbage.
func (a *api) collects(ctx context.Context) bool {
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	_, err := a.objects.Resource(leases).Namespace(metav1.NamespaceSystem).Get(ctx, "kube-controller-manager", metav1.GetOptions{})
	return err == nil
}

// orphans returns the UIDs of the objects if the cluster would collect those whose owners are not there, or else nil.
func (l *leg) orphans(ctx context.Context) (map[string]bool, error) {
	if !l.collects(ctx) {
		return nil, nil //nolint:nilnil // there is no garbage collector
	}
	uids := map[string]bool{}
	var buffer bytes.Buffer
	for _, e := range l.sources.all {
		raw, err := l.sources.read(e, &buffer)
		if err != nil {
			return nil, err
		}
		uids[gjson.GetBytes(raw, "metadata.uid").String()] = true
	}
	return uids, nil
}

// withoutForeignOwners takes owner references off an object whose owners are not among some UIDs.
func withoutForeignOwners(raw []byte, uids map[string]bool) (_ []byte, fewer bool, err error) {
	object := &unstructured.Unstructured{}
	if err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object.Object); err != nil {
		return nil, false, err
	}
	owners := object.GetOwnerReferences()
	kept := slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool { return !uids[string(owner.UID)] })
	if len(kept) == len(owners) {
		return raw, false, nil
	}
	object.SetOwnerReferences(kept)
	raw, err = json.Marshal(object.Object)
	return raw, true, err
}

// open has the API server store the objects of a kind at the storage version as far as they were not stored at another, and notes what
// they show at every version.
func (l *leg) open(ctx context.Context, k *kind) error {
	var names []string
	for _, e := range l.sources.all {
		if e.definition.Name == k.name {
			names = append(names, kube.Key(e.namespace, e.name))
		}
	}
	var err error
	if k.book, err = newBook(l.Dir, names); err != nil {
		return err
	}
	if err := l.settle(ctx, k); err != nil {
		return err
	}
	if k.objects == 0 {
		return nil
	}
	return l.baseline(ctx, k)
}

// converts reports whether what a release stores can be read at all versions.
func (h *hook) converts(s *side) bool { return !s.converts() || h.running != nil }

// settle writes objects at the storage version that are not known to be stored at another.
func (l *leg) settle(ctx context.Context, k *kind) error {
	storage, served := k.old.storage(), k.old.served()
	var left []string
	versions := map[string]string{}
	for _, e := range l.sources.all {
		if e.definition.Name == k.name && !e.stored && e.version != storage {
			name := kube.Key(e.namespace, e.name)
			left, versions[name] = append(left, name), e.version
		}
	}
	if len(left) == 0 {
		return l.union(ctx, k)
	}
	if !l.oldHook.converts(k.old) || len(served) == 0 {
		l.record.note("%d objects of %s are stored at the version that they were given at, which is not the storage version %s, since nothing converts them", len(left), k.name, storage)
		return l.union(ctx, k)
	}
	failures, err := l.each(ctx, left, func(ctx context.Context, object string) (func() error, error) {
		version := versions[object]
		if !slices.Contains(served, version) {
			version = served[0]
		}
		at, name := l.at(k, version, object)
		// The API server drops a write that changes nothing, unless it would store it at another version.
		_, err := at.Patch(ctx, name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{FieldManager: fieldManager})
		if err != nil {
			return nil, err
		}
		return func() error {
			k.stored[versions[object]]--
			k.stored[storage]++
			return nil
		}, nil
	})
	if err != nil {
		return err
	}
	if len(failures) > 0 {
		l.record.note("%d objects of %s could not be brought to the storage version %s, such as %s: %s", len(failures), k.name, storage, failures[0].object, said(failures[0].err))
	}
	return l.union(ctx, k)
}

// fieldManager is that of writes of the rehearsal itself.
const fieldManager = "crdconform-rehearsal"

// union makes sure that status.storedVersions has all versions that objects are stored at.
func (l *leg) union(ctx context.Context, k *kind) error {
	for version, n := range k.stored {
		if n == 0 {
			delete(k.stored, version)
		}
	}
	listed, err := l.install.storedVersions(ctx, k.name)
	if err != nil {
		return err
	}
	all := slices.Clone(listed)
	for _, version := range k.old.versions() {
		if k.stored[version] > 0 && !slices.Contains(all, version) {
			all = append(all, version)
		}
	}
	if len(all) > len(listed) {
		if err := l.install.trim(ctx, k.name, all); err != nil {
			return err
		}
	}
	for _, version := range k.old.stored {
		if k.stored[version] == 0 && version != k.old.storage() {
			l.record.note("status.storedVersions of %s in your cluster has %s, at which none of these objects is stored", k.name, version)
		}
	}
	return nil
}

// baseline notes what the objects show at every version, and which cannot be read. If nothing converts them, that is the one that they are
// stored at.
func (l *leg) baseline(ctx context.Context, k *kind) error {
	id, versions, converted := requirement.UpgradeObjectsReadable, k.old.served(), l.oldHook.converts(k.old)
	if !converted {
		l.record.skip(id, k, "nothing is known that converts the objects of the old release; give its webhook")
		l.record.note("the objects of %s were read before the upgrade only at the version that they are stored at, since the webhook of the old release was not given", k.name)
		versions = slices.DeleteFunc(versions, func(version string) bool { return version != k.old.storage() })
	}
	unreadable := map[string]bool{}
	for _, version := range versions {
		var suspect []*unstructured.Unstructured
		unlisted, failures, err := l.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
			if s := k.old.schema(version); s != nil && len(invalid(object.Object, nil, s)) > 0 {
				suspect = append(suspect, object.DeepCopy())
			}
			return k.book.enter(page{before, version}, object)
		})
		if err != nil {
			return err
		}
		if err := l.refusedBefore(ctx, k, version, suspect); err != nil {
			return err
		}
		if !converted {
			continue
		}
		l.record.tried(id, k, len(k.book.names))
		l.record.unread(k, version, id, failures, unlisted, "even before the upgrade")
		for _, f := range failures {
			unreadable[f.object] = true
		}
	}
	k.unreadable = unreadable
	return nil
}
