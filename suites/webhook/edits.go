package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

const (
	// editedObjects and editsPerObject bound how many changes are tried at each pair of versions, and as many removals.
	editedObjects  = 6
	editsPerObject = 12

	// editTries is for how many objects a place is tried that no valid change was found for.
	editTries = 2
)

// edit is an object that a client has changed at one place.
type edit struct {
	object *unstructured.Unstructured // as the client writes it
	origin int                        // the object that the client read was converted from: index into what was checked
	path   string                     // the place
}

// edits is the property of objects to keep what a client changes at the other version. An object at the second version of
// the pair comes from the first, as it does for a client, is changed in one field or loses it, and goes back and forth.
func (p *prober) edits() property {
	return property{objects: p.edited, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		others := p.styled(ctx, pair.To, corpus.Plain, editedObjects)
		tried := map[string]int{}
		var changes, removals []edit
		for i, o := range p.convert(ctx, pair, objects) {
			if o.object == nil || p.spent() {
				continue
			}
			converted := restored(objects[i], o.object)
			changes = append(changes, p.changes(pair.To, i, converted, others, tried)...)
			removals = append(removals, p.removals(pair.To, i, converted, tried)...)
		}
		return append(p.undone(ctx, pair, changes), p.returned(ctx, pair, objects, removals)...)
	}}
}

// undone returns the changes that did not survive the way to the first version of a pair and back.
func (p *prober) undone(ctx context.Context, pair corpus.Pair, changes []edit) []finding {
	other, usual := reverse(pair), p.usual(ctx)
	var findings []finding
	for j, t := range p.roundTrip(ctx, other, objectsOf(changes)) {
		if t.back.object == nil {
			continue
		}
		for _, l := range p.lost(other, changes[j].object.Object, t.back.object) {
			if l.After == nil || strings.HasPrefix(l.Path, "metadata.") {
				continue // what is lost whole is lost without any change too, and metadata is the webhook's
			}
			f := finding{changes[j].origin, there(other), p.schemaOf(other.From).Place(l.Path), l.String(), partOf(l), t.back.x}
			if usual[f.place()] || !p.losesAlone(ctx, other, changes[j].object, f) {
				continue // it is lost without any change too, or because of the others in the request
			}
			f.trip = fmt.Sprintf("%s, changed there -> %s -> %s", pair, pair.From, pair.To)
			findings = append(findings, f)
		}
	}
	return findings
}

// returned returns the removed values that are there again after the way to the first version of a pair and back, unless they come
// without what the webhook keeps in annotations, too: then it derives or adds them. Those that come because of the others in
// the request do not count either.
func (p *prober) returned(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, removals []edit) []finding {
	other := reverse(pair)
	var findings []finding
	for j, t := range p.roundTrip(ctx, other, objectsOf(removals)) {
		e := removals[j]
		if t.back.object == nil {
			continue
		}
		value, isBack := corpus.Value(t.back.object, e.path)
		if !isBack || isEmpty(value) || p.declared(other, e.path) || p.declared(pair, e.path) {
			continue
		}
		plain := e.object.DeepCopy()
		plain.SetAnnotations(objects[e.origin].GetAnnotations())
		alone, _ := p.returns(ctx, other, e.object, e.path)
		always, known := p.returns(ctx, other, plain, e.path)
		if !alone || always || !known {
			continue
		}
		message := corpus.Loss{Path: e.path, After: value, Added: true}.String()
		way := fmt.Sprintf("%s, removed there -> %s -> %s", pair, pair.From, pair.To)
		findings = append(findings, finding{e.origin, way, p.schemaOf(other.From).Place(e.path), message, none, t.back.x})
	}
	return findings
}

// returns reports whether an object that is asked for alone comes back with something at a path, if it comes back.
func (p *prober) returns(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, path string) (something, back bool) {
	t := p.roundTrip(ctx, pair, []*unstructured.Unstructured{object})[0]
	value, _ := corpus.Value(t.back.object, path)
	return !isEmpty(value), t.back.object != nil
}

func objectsOf(edits []edit) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(edits))
	for _, e := range edits {
		objects = append(objects, e.object)
	}
	return objects
}

// isEmpty reports whether a value means the same as none.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return value == false || value == int64(0) || value == float64(0)
}

// losesAlone reports whether an object loses the same when it is asked for alone.
func (p *prober) losesAlone(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, f finding) bool {
	t := p.roundTrip(ctx, pair, []*unstructured.Unstructured{object})[0]
	return t.back.object != nil && slices.ContainsFunc(p.lost(pair, object.Object, t.back.object), func(l corpus.Loss) bool { return p.schemaOf(pair.From).Place(l.Path) == f.path })
}

// edited returns the objects to change.
func (p *prober) edited(ctx context.Context, version string) []*unstructured.Unstructured {
	all := p.all(ctx, version)
	return all[:min(len(all), editedObjects)]
}

// changes returns edits of an object that give one leaf the value that some other object has there. Each place is changed once.
func (p *prober) changes(version string, origin int, object *unstructured.Unstructured, others []*unstructured.Unstructured, tried map[string]int) []edit {
	var edits []edit
	schema := p.schemaOf(version)
	problems := schema.Problems(object.Object)
	for _, path := range corpus.Leaves(object) {
		place := "changed " + fieldpath.Generalize(path)
		if tried[place] >= editTries || len(edits) == editsPerObject || !corpus.MaySolve(problems, path) {
			continue
		}
		tried[place]++
		for _, other := range others {
			variant, different := corpus.Exchange(object, other, path)
			if different && len(schema.Problems(variant.Object)) == 0 {
				tried[place] = editTries
				edits = append(edits, edit{variant, origin, path})
				break
			}
		}
	}
	return edits
}

// removals returns edits of an object that remove one leaf that API servers give no default. Each place is removed once.
func (p *prober) removals(version string, origin int, object *unstructured.Unstructured, tried map[string]int) []edit {
	var edits []edit
	schema := p.schemaOf(version)
	for _, path := range corpus.Leaves(object) {
		place := "removed " + fieldpath.Generalize(path)
		value, _ := corpus.Value(object.Object, path)
		if tried[place] >= editTries || len(edits) == editsPerObject || isEmpty(value) {
			continue
		}
		tried[place]++
		variant := corpus.Without(object, path)
		schema.Prepare(variant.Object)
		if _, isDefault := corpus.Value(variant.Object, path); !isDefault && len(schema.Problems(variant.Object)) == 0 {
			tried[place] = editTries
			edits = append(edits, edit{variant, origin, path})
		}
	}
	return edits
}
