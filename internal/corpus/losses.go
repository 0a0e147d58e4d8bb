package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Loss is a value that an object does not have any more, or has otherwise, after something was done to it.
type Loss struct {
	// Path is where: spec.list[3].name, and spec.map['example.com/a'] for keys that are more than letters, digits, _ and
	// -. An apostrophe or backslash in a key has a backslash before it.
	Path string

	Before any // nil for null
	After  any // nil for null and for nothing

	// Added says that it was not there before. Before is nil then.
	Added bool

	// Empty says that the value was 0, false or "" and is absent now, and that no other default takes its place. Encoders drop
	// those that leave out what is empty.
	Empty bool
}

// String says what was expected where, and what is there: spec.port: expected 80, got nothing. Long values are cut.
func (l Loss) String() string {
	before, after := "null", "nothing"
	if l.Added {
		before = "nothing"
	}
	if l.Before != nil {
		before = shown(l.Before)
	}
	if l.After != nil {
		after = shown(l.After)
	}
	return fmt.Sprintf("%s: expected %s, got %s", l.Path, before, after)
}

// shown is a value as JSON, of at most 120 bytes.
func shown(value any) string {
	const most = 120
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte(fmt.Sprint(value))
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "..."
	}
	return string(text)
}

// Losses compares an object with what came of it: all fields but metadata, and of that the labels and annotations. What was
// added is no loss, unless to a list. Neither is an empty map or list, or null, in place of nothing, nor the reverse, unless a
// default replaces the missing value.
//
// Values that mean the same are equal: numbers with and without a fraction of zero, times in RFC 3339 at the same
// instant, Go's durations. With a schema, so are quantities, base64 of the same bytes, and lists of the types set and map
// whatever their order.
func (s *Schema) Losses(before, after map[string]any) []Loss {
	var n *node
	if s != nil {
		n = s.root
	}
	lost := compareFields(n, "", visible(before), visible(after))
	for i := range lost {
		// Selectors and controllers ask whether there is a label or an annotation, whatever its value.
		lost[i].Empty = lost[i].Empty && !strings.HasPrefix(lost[i].Path, "metadata.")
	}
	return lost
}

// visible is what conversions must keep of an object.
func visible(object map[string]any) map[string]any {
	fields := maps.Clone(object)
	delete(fields, "metadata")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		fields["metadata"] = map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]}
	}
	return fields
}

// compare compares two values of which the first is there, if only as null.
func compare(n *node, path string, before, after any) []Loss {
	changed := []Loss{{Path: path, Before: before, After: after}}
	switch before := before.(type) {
	case nil:
		return nil
	case map[string]any:
		others, isMap := after.(map[string]any)
		if !isMap && after != nil {
			return changed
		}
		return compareFields(n, path, before, others)
	case []any:
		others, isList := after.([]any)
		if !isList && after != nil {
			return changed
		}
		return compareLists(n, path, before, others)
	}
	if n.same(before, after) {
		return nil
	}
	changed[0].Empty = after == nil && reflect.ValueOf(before).IsZero()
	return changed
}

func compareFields(n *node, path string, before, after map[string]any) []Loss {
	if equal(before, after) {
		return nil
	}
	var lost []Loss
	for _, key := range slices.Sorted(maps.Keys(before)) {
		field, value := n.child(key), before[key]
		other, found := after[key]
		if found && equal(value, other) {
			continue
		}
		if other == nil && (!found || value != nil) && field.replaces(value, found) {
			lost = append(lost, Loss{Path: fieldpath.Child(path, key), Before: value})
			continue
		}
		lost = append(lost, compare(field, fieldpath.Child(path, key), value, other)...)
	}
	return lost
}

// replaces reports whether a default that means something else takes the place of a value that is absent, or null.
func (n *node) replaces(value any, null bool) bool {
	if n == nil || n.def == nil || null && n.nullable {
		return false
	}
	return !reflect.DeepEqual(n.def, value)
}

// compareLists compares lists in order, or by the identity of the items.
func compareLists(n *node, path string, before, after []any) []Loss {
	if n != nil && n.listType != "" && after != nil {
		if lost, ok := compareUnordered(n, path, before, after); ok {
			return lost
		}
	}
	if len(before) != len(after) {
		return []Loss{{Path: path, Before: before, After: nothing(after)}}
	}
	var lost []Loss
	for i := range before {
		lost = append(lost, compare(n.item(), fieldpath.Item(path, i), before[i], after[i])...)
	}
	return lost
}

// nothing is a list as a value that is nil when the list is.
func nothing(list []any) any {
	if list == nil {
		return nil
	}
	return list
}

// compareUnordered compares lists of the types set and map. It is false if items cannot be distinguished.
func compareUnordered(n *node, path string, before, after []any) ([]Loss, bool) {
	positions, ok := n.positions(after)
	_, distinct := n.positions(before)
	if !ok || !distinct {
		return nil, false
	}
	var lost []Loss
	for i, item := range before {
		key, _ := n.identity(item)
		if at, found := positions[key]; found {
			lost = append(lost, compare(n.item(), fieldpath.Item(path, i), item, after[at])...)
		} else {
			lost = append(lost, Loss{Path: fieldpath.Item(path, i), Before: item})
		}
	}
	if len(lost) == 0 && len(after) > len(before) {
		lost = append(lost, Loss{Path: path, Before: before, After: after})
	}
	return lost, true
}

// positions returns where in a list each item is. It is false if items cannot be distinguished.
func (n *node) positions(list []any) (map[string]int, bool) {
	at := make(map[string]int, len(list))
	for i, item := range list {
		key, ok := n.identity(item)
		if _, twice := at[key]; !ok || twice {
			return nil, false
		}
		at[key] = i
	}
	return at, true
}

// zero is what an encoder leaves out of the values that a node has.
func (n *node) zero() any {
	switch n.kind {
	case text:
		return ""
	case integer:
		return int64(0)
	case boolean:
		return false
	default:
		return nil
	}
}

// identity is what identifies an item of a set or a list map.
func (n *node) identity(item any) (string, bool) {
	if n.listType == "set" {
		switch item.(type) {
		case map[string]any, []any:
			return "", false
		}
		return n.items.canonical(item), true
	}
	fields, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	var keys []string
	for _, key := range n.listKeys {
		value, found := fields[key]
		if c := n.items.child(key); !found && c != nil {
			if value = c.def; value == nil {
				value = c.zero() // which encoders leave out
			}
		}
		keys = append(keys, n.items.child(key).canonical(value))
	}
	return strings.Join(keys, "\x00"), true
}
