// Package notes keeps in annotations what a version of an object has no field for.
package notes

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Keep writes a note into the annotation of a name, and removes the annotation when the note is a zero value. The map of
// annotations is replaced, never written to: other objects may share it. It fails when the note has no JSON form.
func Keep(meta *metav1.ObjectMeta, name string, note any) error {
	if reflect.ValueOf(note).IsZero() {
		drop(meta, name)
		return nil
	}
	raw, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("annotation %s: %w", name, err)
	}
	meta.Annotations = maps.Clone(meta.Annotations)
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[name] = string(raw)
	return nil
}

// Take reads a note, removes its annotation, and reports whether there was one. What somebody else wrote into the annotation
// and cannot be read is removed likewise: an object that can be converted no more would be worse.
func Take(meta *metav1.ObjectMeta, name string, note any) bool {
	raw, found := meta.Annotations[name]
	drop(meta, name)
	return found && json.Unmarshal([]byte(raw), note) == nil
}

func drop(meta *metav1.ObjectMeta, name string) {
	if _, found := meta.Annotations[name]; !found {
		return
	}
	meta.Annotations = maps.Clone(meta.Annotations)
	delete(meta.Annotations, name)
}

// Find returns the item that belongs to place i of a list: the one at that place if it is the same, or else the first that
// is, or else a zero value.
func Find[T any](items []T, i int, same func(T) bool) T {
	if i < len(items) && same(items[i]) {
		return items[i]
	}
	for _, item := range items {
		if same(item) {
			return item
		}
	}
	var none T
	return none
}
