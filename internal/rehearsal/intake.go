package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// intake brings objects in as they were stored, and keeps them as they are stored after the upgrade.
type intake struct {
	part

	hooks   *webhooks
	sources *Objects
	dir     string
}

// bring writes the objects to etcd, in the order in which they were written before.
func (i *intake) bring(ctx context.Context) error {
	kinds := map[string]*kind{}
	for _, k := range i.kinds {
		kinds[k.name] = k
	}
	if err := i.namespaces(ctx); err != nil {
		return err
	}
	orphans, err := i.orphans(ctx)
	if err != nil {
		return err
	}
	var buffer bytes.Buffer
	cut := 0
	for _, e := range i.sources.all {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := kinds[e.definition.Name]
		if k == nil || k.old == nil {
			continue
		}
		raw, err := i.sources.read(e, &buffer)
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
		if err := i.storage.Put(ctx, cluster.Key{Group: k.group, Resource: k.plural, Namespace: e.namespace, Name: e.name}, raw); err != nil {
			return fmt.Errorf("bringing in %s: %w", e.from, err)
		}
		k.objects++
		if e.bare {
			k.bare++
		}
		if applied := gjson.Get(gjson.GetBytes(raw, "metadata.annotations."+strings.ReplaceAll(kube.LastApplied, ".", `\.`)).String(), "apiVersion").String(); applied != "" && !e.generated {
			_, version, _ := strings.Cut(applied, "/")
			k.applied[version] = append(k.applied[version], kube.Key(e.namespace, e.name))
		}
		k.stored[e.version]++
	}
	if cut > 0 {
		i.record.note("%s brought in without owner references to objects that are not there: the garbage collector of this cluster would delete what has them", visible.Count(cut, "object was", "objects were"))
	}
	return nil
}

// namespaces creates the namespaces of the objects, where a cluster has namespaces.
func (i *intake) namespaces(ctx context.Context) error {
	at := i.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if _, err := at.List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
		return nil
	}
	made := map[string]bool{"": true}
	for _, e := range i.sources.all {
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

// orphans returns the UIDs of the objects if the cluster would collect those whose owners are not there, or else nil.
func (i *intake) orphans(ctx context.Context) (map[string]bool, error) {
	if !i.collects(ctx) {
		return nil, nil //nolint:nilnil // there is no garbage collector
	}
	uids := map[string]bool{}
	var buffer bytes.Buffer
	for _, e := range i.sources.all {
		raw, err := i.sources.read(e, &buffer)
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
func (i *intake) open(ctx context.Context, k *kind) error {
	var names []string
	for _, e := range i.sources.all {
		if e.definition.Name == k.name {
			names = append(names, kube.Key(e.namespace, e.name))
		}
	}
	var err error
	if k.book, err = newBook(i.dir, names); err != nil {
		return err
	}
	return i.settle(ctx, k)
}

// settle writes objects at the storage version that are not known to be stored at another.
func (i *intake) settle(ctx context.Context, k *kind) error {
	storage, served := k.old.storage(), k.old.served()
	var left []string
	versions := map[string]string{}
	for _, e := range i.sources.all {
		if e.definition.Name == k.name && !e.stored && e.version != storage {
			name := kube.Key(e.namespace, e.name)
			left, versions[name] = append(left, name), e.version
		}
	}
	if len(left) == 0 {
		return i.union(ctx, k)
	}
	if !i.hooks.old.converts(k.old) || len(served) == 0 {
		i.record.note("%s stored as given and not at the storage version %s, since nothing converts", visible.Count(len(left), "object of "+k.name+" is", "objects of "+k.name+" are"), storage)
		return i.union(ctx, k)
	}
	failures, err := i.each(ctx, left, func(ctx context.Context, object string) (func() error, error) {
		version := versions[object]
		if !slices.Contains(served, version) {
			version = served[0]
		}
		at, name := i.at(k, version, object)
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
		i.record.note("%s of %s could not be brought to the storage version %s, such as %s: %s", visible.Count(len(failures), "object", ""), k.name, storage, failures[0].object, said(failures[0].err))
	}
	return i.union(ctx, k)
}

// union makes sure that status.storedVersions has all versions that objects are stored at.
func (i *intake) union(ctx context.Context, k *kind) error {
	for version, n := range k.stored {
		if n == 0 {
			delete(k.stored, version)
		}
	}
	listed, err := i.install.storedVersions(ctx, k.name)
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
		if err := i.install.trim(ctx, k.name, all); err != nil {
			return err
		}
	}
	for _, version := range k.old.stored {
		if k.stored[version] == 0 && version != k.old.storage() {
			i.record.note("status.storedVersions of %s in your cluster has %s, at which none of these objects is stored", k.name, version)
		}
	}
	return nil
}

// carry keeps the objects as they are stored now, for the upgrade to the next release.
func (i *intake) carry(ctx context.Context, definitions []dump.Definition) (*Objects, error) {
	carried, err := NewObjects(i.dir, definitions)
	if err != nil {
		return nil, err
	}
	for _, k := range i.kinds.going() {
		d := carried.definitions[schema.GroupKind{Group: k.group, Kind: k.kind}]
		if carried.Stored[k.name], err = i.install.storedVersions(ctx, k.name); err != nil {
			return nil, errors.Join(err, carried.Close())
		}
		var wrong error
		err = i.storage.EachStored(ctx, k.group, k.plural, func(stored cluster.Stored) {
			if wrong == nil {
				wrong = carried.keep(d, stored)
			}
		})
		if err = errors.Join(err, wrong); err != nil {
			return nil, errors.Join(err, carried.Close())
		}
	}
	return carried, carried.Complete()
}

// skipWithoutObjects notes that nothing about objects can be judged.
func (r *record) skipWithoutObjects(k *kind, why string) {
	for _, id := range IDs() {
		if !strings.HasPrefix(string(id), Area+".definitions.") && id != requirement.UpgradeWebhookStarts && id != requirement.UpgradeBackDefinitions {
			r.spare(id, k, "%s", why)
		}
	}
}
