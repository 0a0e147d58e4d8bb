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
	"github.com/crdconform/crdconform/internal/kube"
)

// inventory is what was there before a migration. An object takes its name, 52 bytes, and 8 more for each served version.
type inventory struct {
	revision string // of the list

	names    strings.Builder // one after the other, sorted
	ends     []uint32        // of the names
	uids     [][16]byte      // hashes of the UIDs
	wrote    []uint64        // resource versions
	rewrote  []uint64        // to which the migrator brought these, as it says; 0 if it did not, or somebody else wrote in between
	newest   []uint32        // when managed fields last changed, in seconds since 1970
	owned    []uint64        // hashes of who owns which fields
	contents [][]uint64      // hashes, by the version in served, and then by object; 0 if the object changed meanwhile
	elder    bits            // objects that are stored at another version than the storage version
	unknown  bits            // objects of which nobody knows at which version they are stored
	legible  bool            // both are read from etcd
	dying    bits            // objects that are being deleted

	generations []uint32 // metadata.generation

	owners   owners          // by the hashes in owned
	managers map[string]bool // that wrote to any object

	examples map[string]*unstructured.Unstructured // an object at each served version, the first; none if there is no object
}

// bits are a bit for each object.
type bits []uint64

func newBits(n int) bits { return make(bits, n/64+1) }

func (b bits) set(n int) { b[n/64] |= 1 << (n % 64) }

func (b bits) has(n int) bool { return b != nil && b[n/64]&(1<<(n%64)) != 0 }

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

// seen is an object as it was listed.
type seen struct {
	key     string
	uid     [16]byte
	wrote   uint64
	content uint64
	dying   bool
	owned   ownership
	newest  uint32 // of its managed fields
	at      string // the version that it is stored at, as the API server remembers it

	generation uint32
}

// inventory reads all objects at every served version, and at which versions they are stored.
func (p *Proof) inventory(ctx context.Context) (*inventory, error) {
	i := &inventory{owners: newOwners(), managers: map[string]bool{}, examples: map[string]*unstructured.Unstructured{}}
	var all []seen
	revision, err := p.each(ctx, p.served[0], "", func(object *unstructured.Unstructured) error {
		i.example(p.served[0], object)
		s := p.glance(p.served[0], object)
		s.owns(object)
		i.owners.add(s.owned)
		for _, o := range s.owned.all {
			i.managers[o.manager] = true
		}
		s.newest, s.owned.all = s.owned.newest(), nil
		if p.options.StoredAt != nil {
			s.at = p.options.StoredAt(metaOf(object))
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	i.revision = revision
	slices.SortFunc(all, func(a, b seen) int { return strings.Compare(a.key, b.key) })
	i.take(all, len(p.served), p.storage)
	for v, version := range p.served[1:] {
		contents := i.contents[v+1]
		if _, err := p.each(ctx, version, revision, func(object *unstructured.Unstructured) error {
			i.example(version, object)
			key, wrote := kube.Key(object.GetNamespace(), object.GetName()), number(object.GetResourceVersion())
			if n := i.find(key); n >= 0 && i.wrote[n] == wrote {
				contents[n] = hash(p.filled(version, object), p.annotation())
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("at %s: %w", version, err)
		}
	}
	return i, p.elders(ctx, i)
}

// metaOf is the metadata of an object that shows at which version it is stored.
func metaOf(object *unstructured.Unstructured) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{ResourceVersion: object.GetResourceVersion(), CreationTimestamp: object.GetCreationTimestamp(), ManagedFields: object.GetManagedFields()}
}

// take takes over what was seen at the first of some versions, sorted.
func (i *inventory) take(all []seen, versions int, storage string) {
	i.dying, i.elder, i.unknown = newBits(len(all)), newBits(len(all)), newBits(len(all))
	i.rewrote, i.contents = make([]uint64, len(all)), make([][]uint64, versions)
	for v := range i.contents {
		i.contents[v] = make([]uint64, len(all))
	}
	for n, s := range all {
		i.names.WriteString(s.key)
		i.ends = append(i.ends, uint32(i.names.Len()))
		i.uids, i.wrote = append(i.uids, s.uid), append(i.wrote, s.wrote)
		i.newest, i.owned, i.generations = append(i.newest, s.newest), append(i.owned, s.owned.hash), append(i.generations, s.generation)
		i.contents[0][n] = s.content
		if s.dying {
			i.dying.set(n)
		}
		switch s.at {
		case storage:
		case "":
			i.unknown.set(n)
		default:
			i.elder.set(n)
		}
	}
}

func (i *inventory) example(version string, object *unstructured.Unstructured) {
	if i.examples[version] == nil {
		i.examples[version] = object.DeepCopy()
	}
}

// elders notes which objects are stored at another version than the storage version, if etcd can be read.
func (p *Proof) elders(ctx context.Context, i *inventory) error {
	if p.options.Storage == nil {
		return nil
	}
	elder, legible := newBits(i.len()), true
	err := p.eachStored(ctx, func(s storedAs) {
		if s.version == "" {
			legible = false
		}
		if n := i.find(s.key); n >= 0 && s.version != p.storage {
			elder.set(n)
		}
	})
	if err == nil && legible {
		i.elder, i.unknown, i.legible = elder, nil, true
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
	return storedAs{kube.Key(fields[1].String(), fields[2].String()), schema.FromAPIVersionAndKind(fields[0].String(), "").Version}
}

// filled fills in the defaults of a version, at which an object was read: any write stores them, so they say nothing about the migration.
func (p *Proof) filled(version string, object *unstructured.Unstructured) map[string]any {
	p.defaults[version](object.Object)
	return object.Object
}

// glance reduces an object that was read at a version to what is compared, but for its owners.
func (p *Proof) glance(version string, object *unstructured.Unstructured) seen {
	return seen{
		key: kube.Key(object.GetNamespace(), object.GetName()), uid: uidOf(object), wrote: number(object.GetResourceVersion()),
		content: hash(p.filled(version, object), p.annotation()), dying: object.GetDeletionTimestamp() != nil,
		generation: uint32(object.GetGeneration()), //nolint:gosec // only differences count
	}
}

// owns adds the owners.
func (s *seen) owns(object *unstructured.Unstructured) {
	s.owned = ownershipOf(object.Object)
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

// hash is one of the content of an object.
func hash(object map[string]any, annotation string) uint64 {
	encoded, err := json.Marshal(content(object, annotation)) // keys are sorted
	if err != nil {
		return 0 // it came from JSON
	}
	sum := sha256.Sum256(encoded)
	return binary.BigEndian.Uint64(sum[:8])
}

// content is an object without what the API server writes and without an annotation.
func content(object map[string]any, annotation string) map[string]any {
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		return object
	}
	object, meta = maps.Clone(object), maps.Clone(meta)
	object["metadata"] = meta
	delete(meta, "resourceVersion")
	delete(meta, "managedFields")
	delete(meta, "generation") // see differs
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, annotation)
		meta["annotations"] = annotations
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	return object
}
