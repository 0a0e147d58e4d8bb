package resource

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// What an edit at one version does at another is up to the webhook where that one has more than the first can say. What it must not do is undo the
// edit, or take away what has nothing to do with it.

// isElsewhere reports whether the value that an edit, and no other beside it, should have brought to an empty place is in another one that the edit
// changed: of a field and its successor, a client may have set but one.
func isElsewhere(l corpus.Loss, edits []edit, before, after map[string]any, changed []string) bool {
	if _, had := corpus.Value(before, l.Path); had || l.After != nil {
		return false
	}
	written := 0
	for _, e := range edits {
		value := map[string]any{"value": e.value}
		for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: value}) {
			if one, _ := corpus.Value(value, path); reflect.DeepEqual(one, l.Before) {
				written++
			}
		}
	}
	return written == 1 && slices.ContainsFunc(corpus.Leaves(&unstructured.Unstructured{Object: after}), func(path string) bool {
		value, _ := corpus.Value(after, path)
		return reflect.DeepEqual(value, l.Before) && touches(changed, path)
	})
}

// keepsOrder reports whether all that is not as expected is that the items of a list which were there before are in the order that they had, and the
// version of the edit has no list there that gives another order.
func keepsOrder(l corpus.Loss, before map[string]any, edited *unstructured.Unstructured) bool {
	value, _ := corpus.Value(before, l.Path)
	was, _ := value.([]any)
	is, _ := l.After.([]any)
	other, _ := corpus.Value(edited.Object, l.Path)
	if _, ordered := other.([]any); len(was) == 0 || ordered || !l.Reordered() {
		return false
	}
	last := -1
	for _, item := range was {
		at := slices.IndexFunc(is, func(other any) bool { return reflect.DeepEqual(item, other) })
		if at >= 0 && at < last {
			return false
		}
		last = max(last, at)
	}
	return true
}

// mostHolding is how many objects are asked about to learn what holds a value.
const mostHolding = 6

// replaces reports whether one of some edits at a version replaces a field which has in it what is at a path of another version, as a cron expression
// has the minute. Another object may show that although the one at hand does not.
func (r *round) replaces(ctx context.Context, version string, edits []edit, at, path string) bool {
	places := r.holders(ctx, version, at, path)
	return slices.ContainsFunc(edits, func(e edit) bool {
		field := ""
		for _, name := range e.path {
			field = fieldpath.Child(field, name)
		}
		return slices.ContainsFunc(places, func(place string) bool { return fieldpath.Within(place, listOf(field)) })
	})
}

// held is a place of another version than the one that shows it.
type held struct{ version, at, place string }

// holders returns the places of a version that another value at a path of another version changes.
func (r *round) holders(ctx context.Context, version, at, path string) []string {
	schema := r.definition.Schema(at)
	key := held{version, at, schema.Place(path)}
	if known, is := r.holding[key]; is {
		return known
	}
	var places []string
	asked := 0
	for _, donor := range r.donors(ctx, at) {
		whole := r.bare(at, r.fields(at, donor.Object))
		if _, has := corpus.Value(whole.Object, path); !has || asked == mostHolding {
			continue
		}
		asked++
		for _, one := range []*unstructured.Unstructured{whole, corpus.Only(whole, path)} { // what is beside it may hide it
			objects := []*unstructured.Unstructured{one}
			for _, other := range append(schema.Altered(one, path), corpus.Without(one, path)) {
				if schema.Prepare(other.Object); len(schema.Problems(other.Object)) == 0 {
					objects = append(objects, other)
				}
			}
			if ctx.Err() != nil || len(schema.Problems(one.Object)) > 0 {
				continue
			}
			for i, shown := range r.shown(ctx, at, version, objects) {
				if i > 0 {
					places = append(places, r.changed(version, objects[0].Object, shown.Object)...)
				} else {
					objects[0] = shown
				}
			}
		}
	}
	r.holding[key] = places
	return places
}

// shown returns what objects of one version are at another; nil if the webhook does not convert them all.
func (r *round) shown(ctx context.Context, from, at string, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, next := range []string{r.storage, at} {
		if next != from && objects != nil {
			objects, _ = r.convertAll(ctx, next, objects)
			from = next
		}
	}
	return objects
}
