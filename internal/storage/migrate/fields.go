package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/crdconform/crdconform/internal/kube"
)

// mended is the managed fields of an object in which no version is named that is not served or to be dropped.
type mended struct {
	entries []metav1.ManagedFieldsEntry
	orphans []Orphans
}

// namesDropped reports whether managed fields of an object name a version that is not served, or the one to be dropped.
func (m *migration) namesDropped(object *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(object.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return m.isDropped(entry.APIVersion) })
}

func (m *migration) isDropped(apiVersion string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && gv.Group == m.crd.Spec.Group && (gv.Version == m.options.Drop || !slices.Contains(m.served, gv.Version))
}

// mend rewrites managed fields that name a version which goes. A field stays with its manager if it is at the same place with the
// same content at the storage version. Others are where only the conversion knows: they are nobody's until they are written again.
// To give them to somebody would be worse, since a field that its only owner does not apply is removed.
func (m *migration) mend(ctx context.Context, object *metav1.PartialObjectMetadata) (*mended, error) {
	now, err := m.contentAt(ctx, m.served[0], object)
	if err != nil {
		return nil, err
	}
	to := schema.GroupVersion{Group: m.crd.Spec.Group, Version: m.served[0]}.String()
	did := &mended{}
	former := map[string]content{}
	for _, entry := range object.ManagedFields {
		if !m.isDropped(entry.APIVersion) {
			did.entries = join(did.entries, entry)
			continue
		}
		gv, err := schema.ParseGroupVersion(entry.APIVersion)
		if err != nil {
			return nil, err
		}
		if _, known := former[gv.Version]; !known {
			if former[gv.Version], err = m.formerAt(ctx, gv.Version, object, now); err != nil {
				return nil, err
			}
		}
		kept, lost := carry(fieldsOf(entry), former[gv.Version], now)
		if len(lost) > 0 {
			did.orphans = append(did.orphans, Orphans{entry.Manager, gv.Version, lost, 1, kube.Key(object.Namespace, object.Name)})
		}
		if kept.Empty() {
			continue
		}
		entry.APIVersion = to
		if entry.FieldsV1, err = encoded(kept); err != nil {
			return nil, err
		}
		did.entries = join(did.entries, entry)
	}
	if len(did.entries) == 0 {
		did.entries = []metav1.ManagedFieldsEntry{seed(object.ManagedFields[0], to)}
	}
	return did, nil
}

// mendable reads what mend reads, and the write of the object does not: the object at versions that go.
func (m *migration) mendable(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	var read []string
	for _, entry := range object.ManagedFields {
		gv, err := schema.ParseGroupVersion(entry.APIVersion)
		if err != nil || !m.isDropped(entry.APIVersion) || gv.Version == m.listedAt || !slices.Contains(m.served, gv.Version) || slices.Contains(read, gv.Version) {
			continue
		}
		if _, err := m.contentAt(ctx, gv.Version, object); err != nil {
			return err
		}
		read = append(read, gv.Version)
	}
	return nil
}

// seed is an entry about nothing that matters. Without any entry, the first client that applies would share all fields with a
// manager before-first-apply, and could never remove one.
func seed(entry metav1.ManagedFieldsEntry, apiVersion string) metav1.ManagedFieldsEntry {
	entry.APIVersion, entry.FieldsV1 = apiVersion, metav1.NewFieldsV1(`{"f:metadata":{"f:name":{}}}`)
	return entry
}

// contentAt reads an object at a version. The error is a conflict if it is not what it was.
func (m *migration) contentAt(ctx context.Context, version string, object *metav1.PartialObjectMetadata) (map[string]any, error) {
	raw, err := body(m.rest.Get().AbsPath(m.path(version, object)).Do(ctx))
	if err != nil {
		return nil, err
	}
	read := &unstructured.Unstructured{}
	if err := read.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	if read.GetResourceVersion() != object.ResourceVersion || read.GetUID() != object.UID {
		return nil, apierrors.NewConflict(m.resource(version).GroupResource(), object.Name, errChanged)
	}
	return read.Object, nil
}

// content is that of an object at a version, or what is known of it.
type content struct {
	object map[string]any
	whole  bool
}

// formerAt returns the content of an object at a version that goes. If the version is not served, only without a webhook are its
// fields those of other versions; otherwise no more than the metadata is known, which is the same at all versions.
func (m *migration) formerAt(ctx context.Context, version string, object *metav1.PartialObjectMetadata, now map[string]any) (content, error) {
	if slices.Contains(m.served, version) {
		object, err := m.contentAt(ctx, version, object)
		return content{object, true}, err
	}
	if conversion := m.crd.Spec.Conversion; conversion == nil || conversion.Strategy == apiextensionsv1.NoneConverter {
		return content{now, true}, nil
	}
	return content{map[string]any{"metadata": now["metadata"]}, false}, nil
}

// errChanged says that an object is not what it was.
var errChanged = errors.New("it has changed since it was listed")

func fieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil || set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return &fieldpath.Set{}
	}
	return set
}

func encoded(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := set.ToJSON()
	return metav1.NewFieldsV1(string(raw)), err
}

// join adds an entry, to that of the same manager if there is one: API servers keep one of both otherwise.
func join(entries []metav1.ManagedFieldsEntry, entry metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i, other := range entries {
		if other.Manager == entry.Manager && other.Operation == entry.Operation && other.APIVersion == entry.APIVersion && other.Subresource == entry.Subresource {
			if both, err := encoded(fieldsOf(other).Union(fieldsOf(entry))); err == nil {
				entries[i].FieldsV1 = both
				return entries
			}
		}
	}
	return append(entries, entry)
}

// carry returns the fields of a set that are at the same place with the same content at both versions, and the paths of the others.
// What is at neither is in nobody's way.
func carry(set *fieldpath.Set, former content, now map[string]any) (kept *fieldpath.Set, lost []string) {
	kept = &fieldpath.Set{}
	set.Iterate(func(path fieldpath.Path) {
		path = path.Copy()
		before, was := at(former.object, path)
		after, is := at(now, path)
		switch {
		case is && was && (isParent(set, path) || reflect.DeepEqual(before, after)):
			kept.Insert(path)
		case is || was || !former.whole:
			lost = append(lost, path.String())
		}
	})
	return kept, lost
}

// isParent reports whether a set has fields below a path, beside the path itself: then who owns the path owns no more than that it is
// there.
func isParent(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}

// at returns what is at a path of an object.
func at(in any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		var found bool
		if in, found = child(in, element); !found {
			return nil, false
		}
	}
	return in, true
}

func child(in any, element fieldpath.PathElement) (any, bool) {
	switch {
	case element.FieldName != nil:
		fields, is := in.(map[string]any)
		if !is {
			return nil, false
		}
		one, found := fields[*element.FieldName]
		return one, found
	case element.Key != nil:
		return find(in, func(item any) bool { return hasKey(item, *element.Key) })
	case element.Value != nil:
		return find(in, func(item any) bool { return value.Equals(value.NewValueInterface(item), *element.Value) })
	case element.Index != nil:
		items, is := in.([]any)
		if !is || *element.Index < 0 || *element.Index >= len(items) {
			return nil, false
		}
		return items[*element.Index], true
	}
	return nil, false
}

func find(in any, wanted func(any) bool) (any, bool) {
	items, is := in.([]any)
	if !is {
		return nil, false
	}
	i := slices.IndexFunc(items, wanted)
	if i < 0 {
		return nil, false
	}
	return items[i], true
}

// hasKey reports whether an item of a list has the values of a key.
func hasKey(item any, key value.FieldList) bool {
	fields, is := item.(map[string]any)
	return is && !slices.ContainsFunc(key, func(f value.Field) bool {
		one, found := fields[f.Name]
		return !found || !value.Equals(value.NewValueInterface(one), f.Value)
	})
}

// patch replaces the managed fields of an object that is as it was read.
func (d *mended) patch(object *metav1.PartialObjectMetadata) ([]byte, error) {
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/uid", "value": object.UID},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": object.ResourceVersion},
		{"op": "replace", "path": "/metadata/managedFields", "value": d.entries},
	})
}
