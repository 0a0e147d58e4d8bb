package corpus

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Leaves returns the paths of an object's scalars, nulls, and empty maps and lists, sorted as they are met; those of
// apiVersion, kind and metadata are left out.
func Leaves(object *unstructured.Unstructured) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(object.Object)) {
		if !isMeta(key) {
			paths = appendLeaves(paths, fieldpath.Child("", key), object.Object[key])
		}
	}
	return paths
}

func appendLeaves(paths []string, path string, value any) []string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			paths = appendLeaves(paths, fieldpath.Child(path, key), value[key])
		}
		if len(value) > 0 {
			return paths
		}
	case []any:
		for i, item := range value {
			paths = appendLeaves(paths, fieldpath.Item(path, i), item)
		}
		if len(value) > 0 {
			return paths
		}
	}
	return append(paths, path)
}

// isMeta reports whether it is a field of an object that every kind has.
func isMeta(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata"
}

// Has reports whether the schema has a field for a path, or accepts any there. Metadata is in every schema.
func (s *Schema) Has(path string) bool {
	n := s.root
	for i, next := range fieldpath.Split(path) {
		switch {
		case i == 0 && isMeta(next.Key), n != nil && (n.preserve || n.shallow):
			return true
		case next.List:
			n = n.item()
		default:
			n = n.child(next.Key)
		}
		if n == nil {
			return false
		}
	}
	return true
}

// Place returns a path with [*] in place of every index, and ['*'] in place of every key of a map whose keys are up to users.
// Paths with the same place are of one field.
func (s *Schema) Place(path string) string {
	if s == nil {
		return fieldpath.Generalize(path)
	}
	all := fieldpath.Split(path)
	n := s.root
	for i, next := range all {
		all[i].At = -1
		if next.List {
			n = n.item()
			continue
		}
		if below := n.child(next.Key); n != nil && below != nil && below == n.entries {
			all[i].Key = "*"
		}
		n = n.child(next.Key)
	}
	return fieldpath.Join(all)
}
