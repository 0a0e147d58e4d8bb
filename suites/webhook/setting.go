package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// settings returns edits of an object that set what it does not have, as some other object has it. Each place is set once. What API
// servers give a default is there for clients.
func (ed *editing) settings(version string, origin int, object *unstructured.Unstructured, others []*unstructured.Unstructured, most int, tried map[string]int) []edit {
	schema := ed.definition.schemaOf(version)
	defaulted := object.DeepCopy()
	schema.Prepare(defaulted.Object)
	var edits []edit
	for _, other := range others {
		for _, path := range corpus.Missing(defaulted, other) {
			place := "set " + fieldpath.Generalize(path)
			if tried[place] >= editTries || len(edits) == most {
				continue
			}
			tried[place]++
			value, _ := corpus.Value(other.Object, path)
			if variant := corpus.With(object, path, value); !corpus.IsEmpty(value) && len(schema.Problems(variant.Object)) == 0 {
				tried[place] = editTries
				edits = append(edits, ed.edited(version, object, variant, origin, path))
			}
		}
	}
	return edits
}

// dropped returns the values that clients set where there was none, and that are gone after the way to the first version of a pair and back,
// unless they are gone without what the webhook keeps in annotations, too: then they are lost in any case.
func (ed *editing) dropped(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, settings []edit) []finding {
	other := reverse(pair)
	var findings []finding
	for j, t := range ed.journeys.roundTrip(ctx, other, objectsOf(settings)) {
		e := settings[j]
		if t.back.object == nil {
			continue
		}
		ed.effort.tried++
		value, isThere := corpus.Value(t.back.object, e.path)
		if isThere && !corpus.IsEmpty(value) || ed.losses.declared(other, e.path) || ed.losses.declared(pair, e.path) {
			continue
		}
		stays, kept, x := ed.besideNotes(ctx, other, e, objects[e.origin])
		if x == nil || stays || !kept {
			continue
		}
		set, _ := corpus.Value(e.object.Object, e.path)
		message := corpus.Loss{Path: e.path, Before: set}.String() + ", because of an annotation"
		way := fmt.Sprintf("%s, set there -> %s -> %s", pair, pair.From, pair.To)
		findings = append(findings, finding{e.origin, way, ed.definition.schemaOf(other.From).Place(e.path), message, none, *x, effect{sort: "lost", kept: true, noted: true}})
	}
	return findings
}
