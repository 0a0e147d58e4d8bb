package corpus

import (
	"maps"
	"slices"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Astray is a value that an item of a list has after something was done to an object, and that another item of the list had before.
type Astray struct {
	Loss

	Item string // what the item is known by
}

// Astray returns the values that have come to another item of a list. Items are known by the keys of list maps, or by a field that is there for
// that; where there is nothing of the kind, it is not known.
func (s *Schema) Astray(before, after map[string]any) []Astray {
	was := map[string]knownItem{}
	for _, item := range s.items(before) {
		was[item.key] = item
	}
	var astray []Astray
	for _, item := range s.items(after) {
		own, known := was[item.key]
		if !known {
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(item.values)) {
			value := item.values[path]
			mine, had := own.values[path]
			if IsEmpty(value) || equal(mine, value) {
				continue
			}
			for key, other := range was {
				if key != item.key && other.list == item.list && equal(other.values[path], value) {
					astray = append(astray, Astray{Loss{Path: below(own.path, path), Before: mine, After: value, Added: !had}, item.key})
					break
				}
			}
		}
	}
	return astray
}

// InItem returns a value of an item that is known by something, and whether there is such an item.
func (s *Schema) InItem(object map[string]any, a Astray) (value any, found bool) {
	for _, item := range s.items(object) {
		if item.key == a.Item {
			steps := fieldpath.Split(a.Path)
			return item.values[fieldpath.Join(steps[len(fieldpath.Split(item.path)):])], true
		}
	}
	return nil, false
}

// knownItem is an item of a list that is known by something in it.
type knownItem struct {
	list, key string         // with what the items around it are known by
	path      string         // where it is
	values    map[string]any // its leaves by their paths in it, without those of items in it that are known as well
}

// items returns the items of an object that are known by something in them.
func (s *Schema) items(object map[string]any) []knownItem {
	var found []knownItem
	var visit func(n *node, path string, around *knownItem, value any)
	visit = func(n *node, path string, around *knownItem, value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				if path != "" || !isMeta(key) {
					visit(n.child(key), fieldpath.Child(path, key), around, value[key])
				}
			}
		case []any:
			keys := n.keysOf(value)
			for i, inner := range value {
				item := around
				if keys != nil {
					list := around.key + "\n" + fieldpath.Generalize(path)
					item = &knownItem{list, list + "\n" + keys[i], fieldpath.Item(path, i), map[string]any{}}
					found = append(found, *item)
				}
				visit(n.item(), fieldpath.Item(path, i), item, inner)
			}
		default:
			if around.values != nil {
				steps := fieldpath.Split(path)
				around.values[fieldpath.Join(steps[len(fieldpath.Split(around.path)):])] = value
			}
		}
	}
	visit(s.root, "", &knownItem{}, object)
	return found
}

// below is a path that goes on with another.
func below(path, on string) string {
	return fieldpath.Join(slices.Concat(fieldpath.Split(path), fieldpath.Split(on)))
}

// keysOf returns what each item of a list is known by, nil if they cannot be distinguished.
func (n *node) keysOf(list []any) []string {
	if n == nil || n.items == nil || len(n.items.properties) == 0 {
		return nil
	}
	if n.listType == "map" {
		var keys []string
		for _, item := range list {
			key, _ := n.identity(item)
			keys = append(keys, key)
		}
		if _, distinct := n.positions(list); distinct {
			return keys
		}
		return nil
	}
	for _, name := range []string{"name", "id", "key", "type"} {
		var keys []string
		for _, item := range list {
			fields, _ := item.(map[string]any)
			if key, is := fields[name].(string); is && n.items.required[name] && key != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		if len(keys) == len(list) {
			return keys
		}
	}
	return nil
}
