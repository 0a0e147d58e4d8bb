package resource

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// What an edit at one version does at another is up to the webhook where that one has more than the first can say. What it must not do is undo the
// edit, or take away what has nothing to do with it.

// isElsewhere reports whether what an edit should have brought to a place is in another one that the edit has changed, and the object had nothing there
// before: of a field and its successor, a client may have set but one.
func (r *round) isElsewhere(l corpus.Loss, before, after map[string]any, changed []string) bool {
	if _, had := corpus.Value(before, l.Path); had || l.After != nil {
		return false
	}
	return slices.ContainsFunc(corpus.Leaves(&unstructured.Unstructured{Object: after}), func(path string) bool {
		value, _ := corpus.Value(after, path)
		return reflect.DeepEqual(value, l.Before) && touches(changed, path)
	})
}

// keepsOrder reports whether all that is not as expected is that the items of a list which were there before are in the order that they had, and the
// version of the edit has no list there that would say another one.
func (r *round) keepsOrder(l corpus.Loss, before map[string]any, edited *unstructured.Unstructured) bool {
	value, _ := corpus.Value(before, l.Path)
	was, isList := value.([]any)
	is, _ := l.After.([]any)
	if _, ordered := valueAt[[]any](edited, l.Path); !isList || ordered || !l.Reordered() {
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

// valueAt returns the value at a path of an object if it is of a type.
func valueAt[T any](object *unstructured.Unstructured, path string) (T, bool) {
	value, _ := corpus.Value(object.Object, path)
	of, is := value.(T)
	return of, is
}

// mostHolding is how many objects are asked about to learn what holds a value.
const mostHolding = 6

// replaces reports whether one of some edits at a version replaces a field which has in it what is at a path of another version, as a cron expression
// has the minute. Another object may show that although the one at hand does not.
func (r *round) replaces(ctx context.Context, version string, edits []edit, at, path string) bool {
	schema := r.definition.Schema(at)
	var all []*unstructured.Unstructured
	for _, donor := range r.donors(ctx, at) {
		whole := r.bare(at, r.fields(at, donor.Object))
		if _, has := corpus.Value(whole.Object, path); has && len(all) < 2*mostHolding {
			all = append(all, whole, corpus.Only(whole, path)) // what is beside it may hide it
		}
	}
	for _, whole := range all {
		for _, other := range append(schema.Altered(whole, path), corpus.Without(whole, path)) {
			if schema.Prepare(other.Object); len(schema.Problems(other.Object)) > 0 {
				continue
			}
			was, is := r.shown(ctx, at, version, whole), r.shown(ctx, at, version, other)
			if was == nil || is == nil {
				continue
			}
			for _, place := range r.changed(version, was.Object, is.Object) {
				if slices.ContainsFunc(edits, func(e edit) bool { return fieldpath.Within(place, strings.Join(e.path, ".")) }) {
					return true
				}
			}
		}
	}
	return false
}

// shown returns what an object of one version is at another; nil if the webhook does not convert it.
func (r *round) shown(ctx context.Context, from, at string, object *unstructured.Unstructured) *unstructured.Unstructured {
	for _, next := range []string{r.storage, at} {
		if next == from {
			continue
		}
		converted, _ := r.convertAll(ctx, next, []*unstructured.Unstructured{object})
		if converted == nil {
			return nil
		}
		from, object = next, converted[0]
	}
	return object
}
