package proof

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/cluster"
)

// inventory is what was there before a migration. An object takes its name, 28 bytes, and 8 more for each served version.
type inventory struct {
	names    strings.Builder // one after the other, sorted
	ends     []uint32        // of the names
	uids     [][16]byte      // hashes of the UIDs
	wrote    []uint64        // resource versions
	contents [][]uint64      // hashes, by the version in served, and then by object; 0 if the object changed meanwhile
	elder    []uint64        // a bit for each object that is stored at another version than the storage version; nil if nobody knows

	examples map[string]*unstructured.Unstructured // an object at each served version, the first; none if there is no object
}

func (i *inventory) len() int { return len(i.ends) }

func (i *inventory) name(n int) string {
	begin := uint32(0)
	if n > 0 {
		begin = i.ends[n-1]
	}
	return i.names.String()[begin:i.ends[n]]
}

// find returns which object has a name, or -1.
func (i *inventory) find(name string) int {
	n := sort.Search(i.len(), func(n int) bool { return i.name(n) >= name })
	if n == i.len() || i.name(n) != name {
		return -1
	}
	return n
}

func (i *inventory) isElder(n int) bool { return i.elder != nil && i.elder[n/64]&(1<<(n%64)) != 0 }

// split returns the namespace and the name of an object.
func split(key string) (string, string) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return "", key
	}
	return namespace, name
}

// seen is an object as it was listed.
type seen struct {
	key     string
	uid     [16]byte
	wrote   uint64
	content uint64
}

// inventory reads all objects at every served version, and at which versions they are stored.
func (p *Proof) inventory(ctx context.Context) (*inventory, error) {
	i := &inventory{examples: map[string]*unstructured.Unstructured{}, contents: make([][]uint64, len(p.served))}
	var all []seen
	revision, err := p.each(ctx, p.served[0], "", func(object *unstructured.Unstructured) error {
		i.example(p.served[0], object)
		all = append(all, p.see(object))
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b seen) int { return strings.Compare(a.key, b.key) })
	for _, s := range all {
		i.names.WriteString(s.key)
		i.ends = append(i.ends, uint32(i.names.Len()))
		i.uids, i.wrote, i.contents[0] = append(i.uids, s.uid), append(i.wrote, s.wrote), append(i.contents[0], s.content)
	}
	for v, version := range p.served[1:] {
		contents := make([]uint64, i.len())
		i.contents[v+1] = contents
		if _, err := p.each(ctx, version, revision, func(object *unstructured.Unstructured) error {
			i.example(version, object)
			s := p.see(object)
			if n := i.find(s.key); n >= 0 && i.wrote[n] == s.wrote {
				contents[n] = s.content
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("at %s: %w", version, err)
		}
	}
	return i, p.elders(ctx, i)
}

func (i *inventory) example(version string, object *unstructured.Unstructured) {
	if i.examples[version] == nil {
		i.examples[version] = object.DeepCopy()
	}
}

// elders notes which objects are stored at another version than the storage version.
func (p *Proof) elders(ctx context.Context, i *inventory) error {
	if p.options.Storage == nil {
		return nil
	}
	elder := make([]uint64, i.len()/64+1)
	legible := true
	err := p.eachStored(ctx, func(s storedAs) {
		if s.version == "" {
			legible = false
		}
		if n := i.find(s.key); n >= 0 && s.version != p.storage {
			elder[n/64] |= 1 << (n % 64)
		}
	})
	if err == nil && legible {
		i.elder = elder
	}
	return err
}

// storedAs is an object in etcd.
type storedAs struct {
	key     string
	version string // empty if it cannot be read: it may be encrypted, or be no JSON
}

// eachStored reads etcd, some objects at a time where the cluster can do that.
func (p *Proof) eachStored(ctx context.Context, visit func(storedAs)) error {
	pages, paged := p.options.Storage.(interface {
		EachStored(ctx context.Context, group, resource string, visit func(cluster.Stored)) error
	})
	if paged {
		return pages.EachStored(ctx, p.crd.Spec.Group, p.crd.Spec.Names.Plural, func(stored cluster.Stored) { visit(read(stored)) })
	}
	all, err := p.options.Storage.StoredAll(ctx, p.crd.Spec.Group, p.crd.Spec.Names.Plural)
	if err != nil {
		return fmt.Errorf("reading etcd: %w", err)
	}
	for _, stored := range all {
		visit(read(stored))
	}
	return nil
}

func read(stored cluster.Stored) storedAs {
	if !gjson.ValidBytes(stored.Data) {
		return storedAs{}
	}
	fields := gjson.GetManyBytes(stored.Data, "apiVersion", "metadata.namespace", "metadata.name")
	return storedAs{keyOf(fields[1].String(), fields[2].String()), schema.FromAPIVersionAndKind(fields[0].String(), "").Version}
}

// see reduces an object to what is compared.
func (p *Proof) see(object *unstructured.Unstructured) seen {
	return seen{keyOf(object.GetNamespace(), object.GetName()), uidOf(object), number(object.GetResourceVersion()), hash(object.Object, p.annotation())}
}

// number is a resource version as the number that it is with etcd, or 0.
func number(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func uidOf(object metav1.Object) [16]byte {
	sum := sha256.Sum256([]byte(object.GetUID()))
	return [16]byte(sum[:16])
}

// hash is one of the content of an object, without what the API server writes and without an annotation.
func hash(object map[string]any, annotation string) uint64 {
	object = maps.Clone(object)
	if meta, ok := object["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		delete(meta, "resourceVersion")
		delete(meta, "managedFields")
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			annotations = maps.Clone(annotations)
			delete(annotations, annotation)
			meta["annotations"] = annotations
			if len(annotations) == 0 {
				delete(meta, "annotations")
			}
		}
		object["metadata"] = meta
	}
	encoded, err := json.Marshal(object) // keys are sorted
	if err != nil {
		return 0 // it came from JSON
	}
	sum := sha256.Sum256(encoded)
	return binary.BigEndian.Uint64(sum[:8])
}
