package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Exchange returns a copy of an object that has another object's value at a path. It is false when one of them has no
// value there, or both have the same.
func Exchange(object, other *unstructured.Unstructured, path string) (*unstructured.Unstructured, bool) {
	way := fieldpath.Split(path)
	before, here := fieldpath.Value(object.Object, way)
	value, there := fieldpath.Value(other.Object, way)
	if !here || !there || len(way) == 0 || reflect.DeepEqual(before, value) {
		return nil, false
	}
	return With(object, path, value), true
}

// Altered returns copies of an object with another value at a path, which may not be valid.
func (s *Schema) Altered(object *unstructured.Unstructured, path string) []*unstructured.Unstructured {
	n, before := s.at(fieldpath.Split(path)), any(nil)
	if before, _ = Value(object.Object, path); n == nil || before == nil {
		return nil
	}
	values := append(slices.Clone(n.enum), n.others()...)
	switch before := before.(type) {
	case string:
		values = append(values, before+"x", strings.TrimSuffix(before, "x"))
	case int64:
		values = append(values, before+1, before-1)
	}
	var variants []*unstructured.Unstructured
	for _, value := range values {
		if value != nil && !IsZero(value) && n.accepts(value) && !reflect.DeepEqual(value, before) {
			variants = append(variants, With(object, path, value))
		}
	}
	return variants
}

// All returns every value that the schema allows at a path: the members of an enum, or true and false. It is empty where there are more.
func (s *Schema) All(path string) []any {
	n := s.at(fieldpath.Split(path))
	switch {
	case n == nil:
		return nil
	case n.enum == nil && n.kind == boolean:
		return []any{true, false}
	}
	return slices.DeleteFunc(slices.Clone(n.enum), func(value any) bool { return value == nil || !n.accepts(value) })
}

// Value returns the value at a path, and whether there is one.
func Value(object map[string]any, path string) (any, bool) {
	return fieldpath.Value(object, fieldpath.Split(path))
}

// Without returns a copy of an object without what is at a path. An item of a list leaves no gap.
func Without(object *unstructured.Unstructured, path string) *unstructured.Unstructured {
	way := fieldpath.Split(path)
	less := object.DeepCopy()
	without(less.Object, way[:len(way)-1], way[len(way)-1:])
	return less
}

// With returns a copy of an object that has another value at a path where it has one.
func With(object *unstructured.Unstructured, path string, value any) *unstructured.Unstructured {
	changed := object.DeepCopy()
	fieldpath.Put(changed.Object, fieldpath.Split(path), runtime.DeepCopyJSONValue(value))
	return changed
}

// Only returns a copy of an object that has, beside its apiVersion, kind and metadata, nothing but what is at a path. Of a
// list that the path goes through it has one item, and the whole of that.
func Only(object *unstructured.Unstructured, path string) *unstructured.Unstructured {
	only := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range object.Object {
		if isMeta(field) {
			only.Object[field] = value
		}
	}
	way := fieldpath.Split(path)
	if first := slices.IndexFunc(way, func(s fieldpath.Step) bool { return s.List }); first >= 0 {
		way = way[:first+1]
	}
	if value, found := fieldpath.Value(object.Object, way); found {
		lead(only.Object, way, value)
	}
	return only.DeepCopy()
}

// lead puts a value into a map at the end of some steps, of which only the last may be into a list.
func lead(fields map[string]any, way []fieldpath.Step, value any) {
	switch {
	case len(way) == 1:
		fields[way[0].Key] = value
	case way[1].List:
		fields[way[0].Key] = []any{value}
	default:
		inner := map[string]any{}
		fields[way[0].Key] = inner
		lead(inner, way[1:], value)
	}
}

// Multiply returns n objects: the given ones over and over, each with a name and a UID of its own.
func Multiply(objects []*unstructured.Unstructured, n int) []*unstructured.Unstructured {
	batch := make([]*unstructured.Unstructured, 0, n)
	for i := range n {
		object := objects[i%len(objects)].DeepCopy()
		object.SetName(numbered(object.GetName(), i))
		_ = unstructured.SetNestedField(object.Object, uid(object, i), "metadata", "uid")
		batch = append(batch, object)
	}
	return batch
}

// numbered is a name with a number at its end, cut so that API servers still take it.
func numbered(name string, number int) string {
	end := fmt.Sprintf("-%d", number)
	return strings.TrimRight(name[:min(len(name), longestName-len(end))], ".-") + end
}

// Marked returns a copy of an object with a word as the key of a label, of an annotation, and of one more entry in each map that has
// entries, as far as the schema allows that.
func (s *Schema) Marked(object *unstructured.Unstructured, word string) *unstructured.Unstructured {
	marked := object.DeepCopy()
	mark := func(of map[string]string) map[string]string {
		with := map[string]string{word: word}
		maps.Copy(with, of)
		return with
	}
	marked.SetLabels(mark(marked.GetLabels()))
	marked.SetAnnotations(mark(marked.GetAnnotations()))
	if s == nil {
		return marked
	}
	if more := marked.DeepCopy(); s.root.mark(more.Object, word) && len(s.Problems(more.Object)) == 0 {
		return more
	}
	return marked
}

// mark gives each map in a value that has entries one more, and reports whether there is one.
func (n *node) mark(value any, word string) bool {
	found := false
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if n.path == "" && isMeta(key) {
				continue
			}
			if inner := n.child(key); inner != nil {
				found = inner.mark(value[key], word) || found
			}
		}
		if keys := slices.Sorted(maps.Keys(value)); n.entries != nil && len(keys) > 0 && int64(len(keys)) < n.maxFields && n.byName[keys[0]] == nil {
			value[word] = runtime.DeepCopyJSONValue(value[keys[0]])
			found = true
		}
	case []any:
		for _, item := range value {
			if inner := n.item(); inner != nil {
				found = inner.mark(item, word) || found
			}
		}
	}
	return found
}

// Differences returns the differences between two objects: what the second has lost, or else what it has besides.
func (s *Schema) Differences(a, b map[string]any) []Loss {
	if lost := s.Losses(a, b); len(lost) > 0 {
		return lost
	}
	surplus := s.Losses(b, a)
	for i, l := range surplus {
		surplus[i] = Loss{Path: l.Path, Before: l.After, After: l.Before, Added: l.After == nil, Empty: l.Empty, Default: l.Default}
	}
	return surplus
}

// Reordered returns the lists of the types set and map that have the same items in another order, which is no difference otherwise.
func (s *Schema) Reordered(a, b map[string]any) []Loss { return s.root.reordered("", a, b) }

func (n *node) reordered(path string, a, b any) []Loss {
	if n == nil {
		return nil
	}
	var all []Loss
	switch a := a.(type) {
	case map[string]any:
		others, _ := b.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(a)) {
			all = append(all, n.child(key).reordered(fieldpath.Child(path, key), a[key], others[key])...)
		}
	case []any:
		others, _ := b.([]any)
		if n.listType != "" && sameItems(a, b) && !equal(a, b) {
			return []Loss{{Path: path, Before: a, After: b}}
		}
		for i := range min(len(a), len(others)) {
			all = append(all, n.items.reordered(fieldpath.Item(path, i), a[i], others[i])...)
		}
	}
	return all
}

// Apart returns what the second object has lost or has otherwise, and what it has besides.
func (s *Schema) Apart(a, b map[string]any) []Loss {
	lost := s.Losses(a, b)
	all := lost
	for _, l := range s.Losses(b, a) {
		listed := slices.ContainsFunc(lost, func(known Loss) bool { return fieldpath.Within(l.Path, known.Path) })
		if l.After == nil && !listed {
			all = append(all, Loss{Path: l.Path, After: l.Before, Added: true})
		}
	}
	return all
}

// Restored does what API servers do with a converted object: its metadata is the original's but for labels and annotations. The rest is
// shared with the converted object.
func Restored(original *unstructured.Unstructured, converted map[string]any) *unstructured.Unstructured {
	after := &unstructured.Unstructured{Object: maps.Clone(converted)}
	labels, annotations := after.GetLabels(), after.GetAnnotations()
	after.Object["metadata"] = runtime.DeepCopyJSONValue(original.Object["metadata"])
	after.SetLabels(labels)
	after.SetAnnotations(annotations)
	return after
}

// YAML renders an object for people. Characters that YAML cannot hold as they are get escaped.
func YAML(object *unstructured.Unstructured) []byte {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return []byte(err.Error()) // it came from JSON
	}
	var escaped strings.Builder
	for _, r := range string(text) {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	if rendered, err := yaml.JSONToYAML([]byte(escaped.String())); err == nil {
		return rendered
	}
	return append([]byte(escaped.String()), '\n') // which is YAML too
}
