package resource

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// effect is what an edit does to objects without a history at a version.
type effect struct {
	after  map[string]any
	places []string // of what becomes another value

	// partial are the places where the object has more, or otherwise, than the version of the edit can hold: what is there after the edit is up
	// to the webhook, which may merge both, but for that the edit shows.
	partial []string
}

// touches reports whether any of some places is at a path, above it or below it. Lists are a whole: their items may move.
func touches(places []string, path string) bool {
	path = listOf(path)
	return slices.ContainsFunc(places, func(place string) bool {
		return path == place || strings.HasPrefix(path, place+".") || strings.HasPrefix(place, path+".")
	})
}

// changed returns the places of what two objects have differently at a version. What one of them lacks is a place as a whole, since the other may
// have more there than is known: the entry of a map with all of its fields, or a part of the object.
func (r *round) changed(version string, before, after map[string]any) []string {
	schema, was, is := r.definition.Schema(version), r.fields(version, before), r.fields(version, after)
	var places []string
	for _, l := range schema.Losses(was, is) {
		places = append(places, listOf(corpus.Vacant(is, l.Path)))
	}
	for _, l := range schema.Losses(is, was) {
		places = append(places, listOf(corpus.Vacant(was, l.Path)))
	}
	return places
}

// listOf is a path up to the first list, or key of a map, in it.
func listOf(path string) string {
	list, _, _ := strings.Cut(path, "[")
	return list
}

// effects asks the webhook for an object before and after an edit, without the annotations in which it keeps what was, and returns what the
// edit does at each version. It is false when the webhook does not convert these. What the object really is at each version shows what it
// has beyond that.
func (r *round) effects(ctx context.Context, version string, before, after map[string]any, now map[string]*unstructured.Unstructured) (map[string]effect, bool) {
	stored := r.shown(ctx, version, r.storage, []*unstructured.Unstructured{r.bare(version, before), r.bare(version, after)})
	effects := map[string]effect{}
	for _, at := range r.served() {
		shown := r.shown(ctx, r.storage, at, stored)
		if shown == nil {
			r.require(context.Cause(ctx), "asking the webhook")
			return nil, false
		}
		was, is := shown[0].DeepCopy().Object, shown[1].DeepCopy().Object
		schema := r.definition.Schema(at)
		schema.Prepare(was)
		schema.Prepare(is)
		effects[at] = effect{after: r.fields(at, is), places: r.changed(at, was, is), partial: r.changed(at, was, now[at].Object)}
	}
	return effects, true
}

// bare is an object at a version with nothing but a name and fields.
func (r *round) bare(version string, fields map[string]any) *unstructured.Unstructured {
	o := r.crd.Object(version, r.placed(&unstructured.Unstructured{Object: fields}))
	o.SetKind(r.definition.CRD.Spec.Names.Kind)
	o.SetName("edited")
	return o
}
