package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// owner is an entry of managed fields.
type owner struct {
	manager, operation, subresource string
	version                         string // as in apiVersion
	fields                          string // JSON
	time                            string // RFC 3339
}

// name is what entries of one owner have in common, whatever their versions.
func (o owner) name() string { return o.manager + "\x00" + o.operation + "\x00" + o.subresource }

// ownership is who owns which fields of an object.
type ownership struct {
	all  []owner
	hash uint64 // without the times
}

// ownershipOf reads managed fields.
func ownershipOf(object map[string]any) ownership {
	metadata, _ := object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var o ownership
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		text := func(name string) string { s, _ := fields[name].(string); return s }
		encoded, err := json.Marshal(fields["fieldsV1"]) // keys are sorted
		if err != nil {
			continue // it came from JSON
		}
		o.all = append(o.all, owner{text("manager"), text("operation"), text("subresource"), text("apiVersion"), string(encoded), text("time")})
	}
	o.hash = hashOf(o.text())
	return o
}

// text is what the hash is of.
func (o ownership) text() string {
	lines := make([]string, 0, len(o.all))
	for _, one := range o.all {
		lines = append(lines, strings.Join([]string{one.name(), one.version, one.fields}, "\x00"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// hashOf is one that is not 0.
func hashOf(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return max(1, binary.BigEndian.Uint64(sum[:8]))
}

// newest is the time of the entry that changed last.
func (o ownership) newest() uint32 {
	newest := uint32(0)
	for _, one := range o.all {
		newest = max(newest, seconds(one.time))
	}
	return newest
}

func seconds(text string) uint32 {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return uint32(max(0, at.Unix()))
}

// owners are different ownerships. Most objects of a definition have one of few.
type owners struct {
	all   map[uint64][]owner
	bytes int
}

// maxOwners is how many bytes of different ownerships are kept, at most.
const maxOwners = 16 << 20

func newOwners() owners { return owners{all: map[uint64][]owner{}} }

// add keeps an ownership while there is room.
func (o *owners) add(one ownership) {
	if _, known := o.all[one.hash]; known || o.bytes > maxOwners {
		return
	}
	o.all[one.hash] = one.all
	for _, entry := range one.all {
		o.bytes += 100 + len(entry.fields)
	}
}

// ancient is the manager for which API servers join the oldest entries when there are many.
const ancient = "ancient-changes"

// unlike says what is different between two ownerships that a migration must keep alike; nothing if all is well. Entries at versions
// that go may lose fields, or be at another version afterwards. Nobody may own more than before, except for what nobody owned and the schema
// has a default for: anybody who writes the object stores that.
func unlike(before, after []owner, goes func(version string) bool, crd *apiextensionsv1.CustomResourceDefinition) string {
	isAncient := func(o owner) bool { return o.manager == ancient }
	switch {
	case len(before) == 0: // the API server makes entries up at the first apply
		return ""
	case slices.ContainsFunc(after, isAncient) && !slices.ContainsFunc(before, isAncient):
		return ""
	case len(after) == 0:
		return "no managed fields at all, so that the next apply takes everything for its own"
	}
	was, is := setsOf(before, nil), setsOf(after, nil)
	owned := &fieldpath.Set{}
	for _, set := range was {
		owned = owned.Union(set)
	}
	for _, o := range after {
		stored := func(path fieldpath.Path) bool { return !owned.Has(path) && hasDefault(crd, o.version, path) }
		if more := difference(is[o.name()], was[o.name()], stored); more != "" {
			return fmt.Sprintf("%s owns %s, too", o.manager, more)
		}
	}
	stay := setsOf(before, goes)
	for _, o := range before {
		if less := difference(stay[o.name()], is[o.name()], nil); less != "" {
			return fmt.Sprintf("%s does not own %s any more", o.manager, less)
		}
	}
	return ""
}

// setsOf returns the fields of each owner, without those at some versions.
func setsOf(entries []owner, without func(version string) bool) map[string]*fieldpath.Set {
	sets := map[string]*fieldpath.Set{}
	for _, o := range entries {
		if without != nil && without(o.version) {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(strings.NewReader(o.fields)) != nil {
			continue
		}
		if other := sets[o.name()]; other != nil {
			set = set.Union(other)
		}
		sets[o.name()] = set
	}
	return sets
}

// hasDefault reports whether the schema of a version, as in apiVersion, has a default for a field, or for one that it is in.
func hasDefault(crd *apiextensionsv1.CustomResourceDefinition, apiVersion string, path fieldpath.Path) bool {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Schema != nil && crd.Spec.Group+"/"+v.Name == apiVersion
	})
	if i < 0 {
		return false
	}
	at := crd.Spec.Versions[i].Schema.OpenAPIV3Schema
	for _, step := range path {
		switch {
		case at == nil:
			return false
		case step.FieldName == nil && at.Items != nil:
			at = at.Items.Schema
		case step.FieldName == nil:
			return false
		default:
			if field, known := at.Properties[*step.FieldName]; known {
				at = &field
			} else if at.AdditionalProperties != nil {
				at = at.AdditionalProperties.Schema
			} else {
				return false
			}
		}
		if at != nil && at.Default != nil {
			return true
		}
	}
	return false
}

// difference shows the first fields that are in one set only, but for some. The name is nobody's to give up: an entry with nothing else is there so
// that there is one.
func difference(in, notIn *fieldpath.Set, but func(fieldpath.Path) bool) string {
	if in == nil {
		return ""
	}
	if notIn == nil {
		notIn = &fieldpath.Set{}
	}
	rest := in.Difference(notIn).Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "name")))
	var paths []string
	rest.Iterate(func(path fieldpath.Path) {
		if but == nil || !but(path) {
			paths = append(paths, path.String())
		}
	})
	if len(paths) == 0 {
		return ""
	}
	return names(paths, len(paths))
}
