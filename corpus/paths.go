package corpus

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// child is the path of a field or map entry.
func child(path, key string) string {
	if !isPlain(key) {
		return path + "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(key) + "']"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// isPlain tells whether a key needs no brackets in a path.
func isPlain(key string) bool {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$' {
			return false
		}
	}
	return key != ""
}

// index is the path of a list's item.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// step is a part of a path: a key, or an index when list is true, -1 for any.
type step struct {
	key  string
	at   int
	list bool
}

// steps takes a path apart, upstream's too, which have keys in brackets without apostrophes.
func steps(path string) []step {
	var found []step
	for path != "" {
		var next step
		switch {
		case path[0] == '.':
			path = path[1:]
			continue
		case strings.HasPrefix(path, "['"):
			next, path = quoted(path[2:])
		case path[0] == '[':
			next, path = bracketed(path[1:])
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			next, path = step{key: path[:end]}, path[end:]
		}
		found = append(found, next)
	}
	return found
}

// quoted reads a key until the apostrophe that closes it.
func quoted(path string) (step, string) {
	var key strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path):
			i++
			key.WriteByte(path[i])
		case path[i] == '\'':
			return step{key: key.String()}, strings.TrimPrefix(path[i+1:], "]")
		default:
			key.WriteByte(path[i])
		}
	}
	return step{key: key.String()}, ""
}

// bracketed reads an index, * for any, or a key.
func bracketed(path string) (step, string) {
	inside, rest, _ := strings.Cut(path, "]")
	if inside == "*" {
		return step{list: true, at: -1}, rest
	}
	if at, err := strconv.Atoi(inside); err == nil && at >= 0 {
		return step{list: true, at: at}, rest
	}
	return step{key: inside}, rest
}

// joined is the path that steps make, with [*] for any index.
func joined(all []step) string {
	path := ""
	for _, next := range all {
		switch {
		case next.list && next.at < 0:
			path += "[*]"
		case next.list:
			path = index(path, next.at)
		default:
			path = child(path, next.key)
		}
	}
	return path
}

// Generalize returns a path with [*] in the place of every index: spec.list[3].name becomes spec.list[*].name. The keys
// of maps stay, since they look like fields.
func Generalize(path string) string {
	all := steps(path)
	for i := range all {
		all[i].at = -1
	}
	return joined(all)
}

// Leaves returns the paths of an object's scalars, nulls, and empty maps and lists, sorted as they are met; those of
// apiVersion, kind and metadata are left out.
func Leaves(object *unstructured.Unstructured) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(object.Object)) {
		if !isMeta(key) {
			paths = appendLeaves(paths, child("", key), object.Object[key])
		}
	}
	return paths
}

func appendLeaves(paths []string, path string, value any) []string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			paths = appendLeaves(paths, child(path, key), value[key])
		}
		if len(value) > 0 {
			return paths
		}
	case []any:
		for i, item := range value {
			paths = appendLeaves(paths, index(path, i), item)
		}
		if len(value) > 0 {
			return paths
		}
	}
	return append(paths, path)
}

// isMeta tells of a field of an object that every kind has.
func isMeta(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata"
}

// at returns the value that steps lead to.
func at(value any, all []step) (any, bool) {
	for _, next := range all {
		switch container := value.(type) {
		case map[string]any:
			inner, ok := container[next.key]
			if next.list || !ok {
				return nil, false
			}
			value = inner
		case []any:
			if !next.list || next.at < 0 || next.at >= len(container) {
				return nil, false
			}
			value = container[next.at]
		default:
			return nil, false
		}
	}
	return value, true
}

// put replaces the value that steps lead to, which is there. The steps are not empty.
func put(root map[string]any, all []step, value any) {
	last := all[len(all)-1]
	parent, _ := at(root, all[:len(all)-1])
	switch parent := parent.(type) {
	case map[string]any:
		parent[last.key] = value
	case []any:
		parent[last.at] = value
	}
}

// Place returns a path with [*] in the place of every index, and ['*'] in the place of every key of a map whose keys are up to
// users. Paths with the same place are of one field.
func (s *Schema) Place(path string) string {
	if s == nil {
		return Generalize(path)
	}
	all := steps(path)
	n := s.root
	for i, next := range all {
		all[i].at = -1
		if next.list {
			n = n.item()
			continue
		}
		if below := n.child(next.key); n != nil && below != nil && below == n.entries {
			all[i].key = "*"
		}
		n = n.child(next.key)
	}
	return joined(all)
}
