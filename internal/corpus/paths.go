package corpus

import (
	"maps"
	"slices"
	"strings"

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

// Missing returns the paths of the fields that another object has and an object does not have, without what is in lists and below such
// a field, sorted as they are met; those of apiVersion, kind and metadata are left out.
func Missing(object, other *unstructured.Unstructured) []string {
	var paths []string
	var compare func(path string, a, b map[string]any)
	compare = func(path string, a, b map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(b)) {
			if path == "" && isMeta(key) {
				continue
			}
			at := fieldpath.Child(path, key)
			inner, isMap := b[key].(map[string]any)
			within, wasMap := a[key].(map[string]any)
			switch {
			case a[key] == nil:
				paths = append(paths, at)
			case isMap && wasMap:
				compare(at, within, inner)
			}
		}
	}
	compare("", object.Object, other.Object)
	return paths
}

// Given returns the leaves of an object that are not as the defaults have them.
func (s *Schema) Given(object *unstructured.Unstructured) []string {
	bare := object.DeepCopy()
	if s != nil {
		s.root.withoutDefaults(bare.Object)
	}
	return Leaves(bare)
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
func (s *Schema) Has(path string) bool { return s.Lacks(path) == "" }

// Lacks returns the beginning of a path up to the first field that the schema does not have; empty if it has them all.
func (s *Schema) Lacks(path string) string {
	n := s.root
	steps := fieldpath.Split(path)
	for i, next := range steps {
		switch {
		case i == 0 && isMeta(next.Key), n != nil && (n.preserve || n.shallow):
			return ""
		case next.List:
			n = n.item()
		default:
			n = n.child(next.Key)
		}
		if n == nil {
			return fieldpath.Join(steps[:i+1])
		}
	}
	return ""
}

// Vacant returns the widest part of a path that an object does not have; the path itself if it has all of it.
func Vacant(object map[string]any, path string) string {
	steps := fieldpath.Split(path)
	for n := range steps {
		part := fieldpath.Join(steps[:n+1])
		if _, found := Value(object, part); !found {
			return part
		}
	}
	return path
}

// Owned returns the beginning of a path up to the first map that is atomic, of which a manager of server-side apply has the whole or nothing; the path
// if there is none.
func (s *Schema) Owned(path string) string {
	way := fieldpath.Split(path)
	for i := 1; i < len(way); i++ {
		if n := s.at(way[:i]); n != nil && n.atomic {
			return fieldpath.Join(way[:i])
		}
	}
	return path
}

// Pattern returns the place of a path as users write it: with * in place of such a key.
func (s *Schema) Pattern(path string) string {
	return strings.TrimPrefix(strings.ReplaceAll(s.Place(path), "['*']", ".*"), ".")
}

// Describes reports whether the schema says something of a path. It does not of what is below x-kubernetes-preserve-unknown-fields alone,
// unless the field is of a type of Kubernetes that has such a part.
func (s *Schema) Describes(path string) bool {
	way := fieldpath.Split(path)
	return s == nil || len(way) == 0 || isMeta(way[0].Key) || s.at(way) != nil || s.hasTypically(path)
}

// IsRuled reports whether rules in CEL hold at a path or above.
func (s *Schema) IsRuled(path string) bool {
	way := fieldpath.Split(path)
	for i := range len(way) + 1 {
		if n := s.at(way[:i]); n != nil && len(n.rules) > 0 {
			return true
		}
	}
	return false
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
