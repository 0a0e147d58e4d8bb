package webhook

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Webhooks note what items of a list have that the other version has no field for. When a client there removes an item, what was noted of it must
// not come to the next one.

// itemTries is for how many objects the first item of a list is removed.
const itemTries = 3

// itemRemovals returns edits of an object that remove the first of several items of a list.
func (ed *editing) itemRemovals(version string, origin int, object *unstructured.Unstructured, tried map[string]int) []edit {
	var edits []edit
	schema := ed.definition.schemaOf(version)
	for _, path := range firstItems(object) {
		place := "first item at " + fieldpath.Generalize(path)
		if tried[place] == itemTries {
			continue
		}
		variant := corpus.Without(object, path)
		if schema.Prepare(variant.Object); len(schema.Problems(variant.Object)) == 0 {
			tried[place]++
			edits = append(edits, ed.edited(version, object, variant, origin, path))
		}
	}
	return edits
}

// firstItems returns the first items of the lists of an object that have several.
func firstItems(object *unstructured.Unstructured) []string {
	var paths []string
	for _, leaf := range corpus.Leaves(object) {
		for i, step := range fieldpath.Split(leaf) {
			if !step.List || step.At != 1 {
				continue
			}
			steps := fieldpath.Split(leaf)[:i+1]
			steps[i].At = 0
			if path := fieldpath.Join(steps); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// astray returns the values that come to another item of a list at the first version of a pair when one was removed at the second, because of
// what the webhook noted: without its notes the item is there too, and has another value.
func (ed *editing) astray(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, read []trip, removals []edit) []finding {
	schema, other, seen := ed.definition.schemaOf(pair.From), reverse(pair), map[string]bool{}
	var findings []finding
	for j, o := range ed.talk.convert(ctx, other, objectsOf(removals)) {
		e := removals[j]
		before := read[e.origin].back.object
		if o.object == nil || before == nil {
			continue
		}
		ed.effort.tried++
		for _, a := range schema.Astray(before, o.object) {
			place := schema.Place(a.Path)
			if seen[place] || ed.losses.declared(pair, a.Path) {
				continue
			}
			alone := ed.talk.convert(ctx, other, []*unstructured.Unstructured{e.object})[0]
			plain := ed.talk.convert(ctx, other, []*unstructured.Unstructured{withoutNotes(e.object, objects[e.origin])})[0]
			if alone.object == nil || plain.object == nil {
				continue
			}
			again, _ := schema.InItem(alone.object, a)
			derived, isThere := schema.InItem(plain.object, a)
			if !isThere || reflect.DeepEqual(derived, a.After) || !reflect.DeepEqual(again, a.After) {
				continue
			}
			seen[place] = true
			message := fmt.Sprintf("%s, which another item had, after %s was removed at %s", a, e.path, pair.To)
			alone.x.before = &read[e.origin].there.x
			way := fmt.Sprintf("%s, removed there -> %s", pair, pair.From)
			findings = append(findings, finding{e.origin, way, place, message, none, alone.x, effect{sort: "changed", noted: true}})
		}
	}
	return findings
}
