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

// Objects may have more at the first version of a pair than a client sees at the second. Webhooks keep that in annotations, and an edit at
// the second version must not make them forget it.

// forgotten returns the values that the second version of a pair cannot hold, and that are gone at the first one after a change of something
// else at the second. What a change does by itself is what it does without what the webhook noted in annotations.
func (ed *editing) forgotten(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, read []trip, changes []edit, written []trip) []finding {
	schema, hidden, seen := ed.definition.schemaOf(pair.From), ed.hidden(ctx, pair, objects, read, changes), map[string]bool{}
	var findings []finding
	for j, e := range changes {
		before, after := read[e.origin].back.object, written[j].there
		if before == nil || after.object == nil || len(hidden[e.origin]) == 0 {
			continue
		}
		was, is := tallied(schema, before), tallied(schema, after.object)
		for _, path := range hidden[e.origin] {
			place := schema.Place(path)
			value, _ := corpus.Value(before, path)
			if seen[place] || !is.lacks(place, fmt.Sprint(value), was) || ed.losses.declared(pair, path) || !ed.forgets(ctx, pair, objects[e.origin], e, before, path) {
				continue
			}
			seen[place] = true
			message := fmt.Sprintf("%s after %s was changed at %s, which does not show the first", corpus.Loss{Path: path, Before: value}, e.path, pair.To)
			x := after.x
			x.before = &read[e.origin].there.x
			way := fmt.Sprintf("%s, changed there -> %s", pair, pair.From)
			when := fmt.Sprintf("after %s was changed at %s", ed.definition.schemaOf(pair.To).Pattern(e.path), pair.To)
			findings = append(findings, finding{e.origin, way, place, message, none, x, effect{sort: "lost", kept: true, when: when}})
		}
	}
	return findings
}

// hidden returns, by the index of the object, the places with values that come back at the first version of a pair only because of what the
// webhook noted.
func (ed *editing) hidden(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, read []trip, changes []edit) map[int][]string {
	var origins []int
	var plain []*unstructured.Unstructured
	for _, e := range changes {
		if len(origins) > 0 && origins[len(origins)-1] == e.origin || len(e.read.GetAnnotations()) <= len(objects[e.origin].GetAnnotations()) {
			continue
		}
		origins, plain = append(origins, e.origin), append(plain, withoutNotes(e.read, objects[e.origin]))
	}
	schema, hidden := ed.definition.schemaOf(pair.From), map[int][]string{}
	for i, o := range ed.talk.convert(ctx, reverse(pair), plain) {
		before := read[origins[i]].back.object
		if o.object == nil || before == nil {
			continue
		}
		was, is := tallied(schema, before), tallied(schema, o.object)
		for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: before}) {
			if value, _ := corpus.Value(before, path); !corpus.IsEmpty(value) && is.lacks(schema.Place(path), fmt.Sprint(value), was) {
				hidden[origins[i]] = append(hidden[origins[i]], path)
			}
		}
	}
	return hidden
}

// withoutNotes is an object without the annotations that the original did not have.
func withoutNotes(object, original *unstructured.Unstructured) *unstructured.Unstructured {
	plain := object.DeepCopy()
	plain.SetAnnotations(original.GetAnnotations())
	return plain
}

// tally counts the values of an object by place and text.
type tally map[string]map[string]int

func tallied(schema *corpus.Schema, object map[string]any) tally {
	t := tally{}
	for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: object}) {
		place := schema.Place(path)
		if t[place] == nil {
			t[place] = map[string]int{}
		}
		value, _ := corpus.Value(object, path)
		t[place][fmt.Sprint(value)]++
	}
	return t
}

// lacks reports whether there are fewer values at a place than in another tally, and fewer of one: another value, or the same at another
// index, is another matter.
func (t tally) lacks(place, text string, before tally) bool {
	all, allBefore := 0, 0
	for _, n := range t[place] {
		all += n
	}
	for _, n := range before[place] {
		allBefore += n
	}
	return all < allBefore && t[place][text] < before[place][text]
}

// forgets reports whether a hidden value is gone because of an edit that has nothing to do with it. It may have if the edit shows in the
// same list, all of which a webhook may replace, if the other version shows the value, if the edit removes what the value is in, if what it
// replaces has such a value in it in other objects, or if the value does not come back either from an object that had both from the start.
func (ed *editing) forgets(ctx context.Context, pair corpus.Pair, original *unstructured.Unstructured, e edit, before map[string]any, path string) bool {
	schema := ed.definition.schemaOf(pair.From)
	value, _ := corpus.Value(before, path)
	lacks := func(before, after map[string]any) bool {
		return tallied(schema, after).lacks(schema.Place(path), fmt.Sprint(value), tallied(schema, before))
	}
	plain := ed.talk.convert(ctx, reverse(pair), []*unstructured.Unstructured{withoutNotes(e.read, original), withoutNotes(e.object, original)})
	again := ed.talk.convert(ctx, reverse(pair), []*unstructured.Unstructured{e.read})[0]
	alone := ed.talk.convert(ctx, reverse(pair), []*unstructured.Unstructured{e.object})[0]
	if plain[0].object == nil || plain[1].object == nil || again.object == nil || alone.object == nil ||
		lacks(before, again.object) || !lacks(before, alone.object) || ed.shows(ctx, pair, original, path) || ed.holds(ctx, pair, e.path, path) {
		return false
	}
	does := apart(schema, plain[0].object, plain[1].object)
	edited, kept := original.DeepCopy(), &unstructured.Unstructured{Object: before} // kept is what the edit leaves of it
	list, inItem := itemOf(path)
	for _, l := range does {
		if inItem && fieldpath.Within(schema.Place(l.Path), schema.Place(list)) {
			return false
		}
		gone := corpus.Vacant(plain[1].object, l.Path)
		if fieldpath.Within(path, gone) { // what the edit removes is gone with all in it
			return false
		}
		if _, found := corpus.Value(plain[1].object, l.Path); !found {
			kept = corpus.Without(kept, gone)
		}
		at := whereOf(edited.Object, plain[0].object, l.Path)
		if at == "" || fieldpath.Within(path, at) || fieldpath.Within(at, path) {
			return false
		}
		if to, found := corpus.Value(plain[1].object, l.Path); found {
			edited = corpus.With(edited, at, to)
		} else {
			edited = corpus.Without(edited, at)
		}
	}
	if len(does) == 0 || !lacks(kept.Object, alone.object) || tallied(schema, edited.Object)[schema.Place(path)][fmt.Sprint(value)] == 0 || len(schema.Problems(edited.Object)) > 0 {
		return false
	}
	t := ed.journeys.roundTrip(ctx, pair, []*unstructured.Unstructured{edited})[0]
	return t.back.object != nil && !lacks(edited.Object, t.back.object)
}

// shows reports whether the second version of a pair shows a value of an object under another name, as a range of addresses shows a subnet.
// Then it is not hidden from clients of that version, and what takes its place after an edit holds it.
func (ed *editing) shows(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, path string) bool {
	_, has := corpus.Value(object.Object, path)
	return has && len(ed.survivors.shown(ctx, pair, object, path)) > 0
}

// mostHolding is how many objects are asked about to learn what holds a value.
const mostHolding = 6

// holds reports whether a field of the second version of a pair has in it what is at a path of the first, as a cron expression has the minute, although
// it may not in the object at hand: one that has both the parts and the raw text.
func (ed *editing) holds(ctx context.Context, pair corpus.Pair, field, path string) bool {
	asked := 0
	for _, object := range ed.stock.each(ctx, pair.From) {
		if _, has := corpus.Value(object.Object, path); !has {
			continue
		}
		if asked++; asked > mostHolding {
			return false
		}
		if slices.ContainsFunc(ed.survivors.shown(ctx, pair, object, path), func(at string) bool { return fieldpath.Within(at, field) }) {
			return true
		}
	}
	return false
}

// itemOf returns the outermost list that a path leads into, and whether there is one.
func itemOf(path string) (list string, found bool) {
	steps := fieldpath.Split(path)
	at := slices.IndexFunc(steps, func(s fieldpath.Step) bool { return s.List })
	if at < 0 {
		return "", false
	}
	return fieldpath.Join(steps[:at]), true
}

// whereOf returns the path at which an object has what another has at a path: the same one, or that of another item of the list with the same
// value, since the object may have more items. It is empty if there is none.
func whereOf(object, other map[string]any, path string) string {
	value, found := corpus.Value(other, path)
	list, inItem := itemOf(path)
	if !inItem {
		return path
	}
	items, _ := corpus.Value(object, list)
	length, _ := items.([]any)
	for i := range length {
		steps := fieldpath.Split(path)
		steps[len(fieldpath.Split(list))].At = i
		at := fieldpath.Join(steps)
		if here, isThere := corpus.Value(object, at); found && isThere && reflect.DeepEqual(here, value) {
			return at
		}
	}
	return ""
}
