package rehearsal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/kube"
)

// Objects are the objects of a cluster, in a file: they need not fit into memory.
type Objects struct {
	// Stored are status.storedVersions of definitions, by name, as far as they were found among the objects.
	Stored map[string][]string

	definitions map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition
	file        *os.File
	out         *bufio.Writer
	end         int64
	all         []entry
	seen        map[identity]int // in all
}

// entry is an object in the file.
type entry struct {
	definition      *apiextensionsv1.CustomResourceDefinition
	namespace, name string
	version         string // of its apiVersion
	order           int64  // by which it was written
	offset          int64
	length          int32
	stored          bool // it is as etcd has it
	generated       bool // it is from no cluster
	bare            bool // it is from a cluster, without the managed fields that it has there
	from            string
}

type identity struct {
	definition      *apiextensionsv1.CustomResourceDefinition
	namespace, name string
}

// NewObjects returns a collection of objects of some definitions, without any yet. The folder is for its file.
func NewObjects(dir string, definitions []dump.Definition) (*Objects, error) {
	file, err := os.OpenFile(filepath.Join(dir, "objects-"+uuid.NewString()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	o := &Objects{
		Stored: map[string][]string{}, definitions: map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{},
		file: file, out: bufio.NewWriterSize(file, 1<<20), seen: map[identity]int{},
	}
	for i := range definitions {
		d := &definitions[i].CustomResourceDefinition
		o.definitions[schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}] = d
		if len(d.Status.StoredVersions) > 0 {
			o.Stored[d.Name] = d.Status.StoredVersions
		}
	}
	return o, nil
}

const definitionKind = "CustomResourceDefinition"

// Len returns how many objects there are.
func (o *Objects) Len() int { return len(o.all) }

// Add adds an object of a source. Edit changes it first; it may be nil.
func (o *Objects) Add(object dump.Object, edit func(*unstructured.Unstructured) error) error {
	if object.Group == apiextensionsv1.GroupName && object.Kind == definitionKind {
		return o.learn(object)
	}
	d := o.definitions[schema.GroupKind{Group: object.Group, Kind: object.Kind}]
	if d == nil {
		return fmt.Errorf("%s: no definition has its group and kind", object.From)
	}
	if !slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == object.Version }) {
		return fmt.Errorf("%s: %s %s is at the version %s, which the old definition does not have (want %s); as the old release, give the one that the objects come from",
			object.From, object.Kind, kube.Key(object.Namespace, object.Name), object.Version, strings.Join((&side{typed: d}).versions(), ", "))
	}
	u := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(object.JSON, &u.Object); err != nil {
		return fmt.Errorf("%s: %w", object.From, err)
	}
	e := entry{definition: d, namespace: object.Namespace, name: object.Name, version: object.Version, stored: object.Stored, generated: object.Generated, from: object.From}
	if err := e.placed(u); err != nil {
		return fmt.Errorf("%s: %s %s %w", object.From, object.Kind, object.Name, err)
	}
	if err := parseManagedFields(u); err != nil {
		return fmt.Errorf("%s: %s %s: %w; remove the entry, or export the objects again", object.From, object.Kind, kube.Key(e.namespace, e.name), err)
	}
	if edit != nil {
		if err := edit(u); err != nil {
			return err
		}
	}
	e.bare = !object.Stored && u.GetResourceVersion() != "" && len(u.GetManagedFields()) == 0
	e.order = orderOf(u)
	if object.Stored {
		e.order = int64(-len(o.all)) // a snapshot has the newest first
	}
	raw, err := storable(u, len(o.all))
	if err != nil {
		return fmt.Errorf("%s: %w", object.From, err)
	}
	if object.Stored && edit == nil {
		raw = object.JSON // byte for byte
	}
	return o.put(e, raw)
}

// learn takes what the status of a definition says.
func (o *Objects) learn(object dump.Object) error {
	var d struct {
		Status struct {
			StoredVersions []string `json:"storedVersions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(object.JSON, &d); err != nil {
		return fmt.Errorf("%s: definition %s: %w", object.From, object.Name, err)
	}
	for _, known := range o.definitions {
		if known.Name == object.Name && len(d.Status.StoredVersions) > 0 {
			o.Stored[object.Name] = d.Status.StoredVersions
		}
	}
	return nil
}

// put adds the bytes of an object.
func (o *Objects) put(e entry, raw []byte) error {
	this := identity{e.definition, e.namespace, e.name}
	if at, twice := o.seen[this]; twice {
		return fmt.Errorf("%s: %s %s is there already at %s; leave one of them out", e.from, e.definition.Spec.Names.Kind, kube.Key(e.namespace, e.name), o.all[at].from)
	}
	o.seen[this] = len(o.all)
	e.offset, e.length = o.end, int32(len(raw))
	o.end += int64(len(raw))
	o.all = append(o.all, e)
	_, err := o.out.Write(raw)
	return err
}

// Complete puts the objects into the order in which they were written. None can be added after that.
func (o *Objects) Complete() error {
	o.seen = nil
	slices.SortStableFunc(o.all, func(a, b entry) int { return cmp.Compare(a.order, b.order) })
	return o.out.Flush()
}

// read returns the bytes of an object. They are valid until the next call with the same buffer.
func (o *Objects) read(e entry, buffer *bytes.Buffer) ([]byte, error) {
	buffer.Reset()
	if _, err := io.Copy(buffer, io.NewSectionReader(o.file, e.offset, int64(e.length))); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// Close removes the file. It may be called again.
func (o *Objects) Close() error {
	if o == nil || o.file == nil {
		return nil
	}
	file := o.file
	o.file = nil
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// placed makes sure that an object has a namespace if its definition is namespaced, and none if it is not. Manifests leave the default
// namespace out.
func (e *entry) placed(u *unstructured.Unstructured) error {
	namespaced := e.definition.Spec.Scope == apiextensionsv1.NamespaceScoped
	switch {
	case !namespaced && e.namespace != "":
		return fmt.Errorf("is in the namespace %s, but the scope of the old definition is Cluster; as the old release, give the one that the objects come from", e.namespace)
	case namespaced && e.namespace == "":
		e.namespace = metav1.NamespaceDefault
		u.SetNamespace(e.namespace)
	}
	return nil
}

// orderOf returns the resource version, 0 if there is none.
func orderOf(u *unstructured.Unstructured) int64 {
	version, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// storable returns an object as API servers store it. What manifests lack it gets: a UID, and when it was created.
func storable(u *unstructured.Unstructured, n int) ([]byte, error) {
	unstructured.RemoveNestedField(u.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(u.Object, "metadata", "selfLink")
	missing := func(value any, field string) {
		if _, found, err := unstructured.NestedFieldNoCopy(u.Object, "metadata", field); err == nil && !found {
			_ = unstructured.SetNestedField(u.Object, value, "metadata", field) // metadata is a map, or the object would have no name
		}
	}
	missing(uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s/%s/%s/%d", u.GetAPIVersion(), u.GetNamespace(), u.GetName(), n)).String(), "uid")
	missing("2020-01-01T00:00:00Z", "creationTimestamp")
	missing(int64(1), "generation")
	return json.Marshal(u.Object)
}

// parseManagedFields reports what is wrong with managed fields.
func parseManagedFields(u *unstructured.Unstructured) error {
	list, found, err := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	if err != nil || !found || list == nil {
		return err
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return err
	}
	var entries []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(raw, &entries); err != nil {
		return fmt.Errorf("metadata.managedFields cannot be parsed: %w", err)
	}
	for i, e := range entries {
		if _, err := schema.ParseGroupVersion(e.APIVersion); err != nil {
			return fmt.Errorf("metadata.managedFields[%d].apiVersion of the manager %q cannot be parsed: %w", i, e.Manager, err)
		}
		if e.FieldsV1 == nil {
			continue
		}
		if err := (&fieldpath.Set{}).FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			reason, _, _ := strings.Cut(err.Error(), ", error found in") // what follows repeats the fields
			return fmt.Errorf("metadata.managedFields[%d].fieldsV1 of the manager %q cannot be parsed: %s", i, e.Manager, reason)
		}
	}
	return nil
}

// Collect adds the objects of a source to those of others.
func (o *Objects) Collect(ctx context.Context, source string, options dump.Options, edit func(*unstructured.Unstructured) error) (dump.Summary, error) {
	var wanted []apiextensionsv1.CustomResourceDefinition
	for _, d := range o.definitions {
		wanted = append(wanted, *d)
	}
	options.Definitions = true
	return dump.Read(ctx, source, wanted, options, func(object dump.Object) error { return o.Add(object, edit) })
}

// keep adds an object as it is stored, unless the rehearsal has created it.
func (o *Objects) keep(d *apiextensionsv1.CustomResourceDefinition, stored cluster.Stored) error {
	fields := gjson.GetManyBytes(stored.Data, "metadata.namespace", "metadata.name")
	if strings.HasPrefix(fields[1].String(), madeSuffix) {
		return nil
	}
	e := entry{
		definition: d, namespace: fields[0].String(), name: fields[1].String(), version: versionOf(stored.Data), order: stored.Revision, stored: true,
		from: d.Spec.Names.Kind + " " + kube.Key(fields[0].String(), fields[1].String()) + " of the release before",
	}
	return o.put(e, stored.Data)
}

// versionOf is the version that an object is stored at.
func versionOf(data []byte) string {
	return schema.FromAPIVersionAndKind(gjson.GetBytes(data, "apiVersion").String(), "").Version
}
