package webhook

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// What a webhook noted at one version may be there still when an object is back at the version whose values it holds. A client that edits the
// object there must not get these back.

// homeEdits are edits of objects that were at another version and are back.
type homeEdits struct {
	removals, changes []edit

	tried  [2]map[string]int                   // the places, of objects about many fields and about one: notes may be replaced only when there are others
	others func() []*unstructured.Unstructured // with values for changes
	own    func() *owning
}

func (ed *editing) homeEdits(ctx context.Context, version string, objects []*unstructured.Unstructured) *homeEdits {
	return &homeEdits{
		tried: [2]map[string]int{{}, {}},
		others: sync.OnceValue(func() []*unstructured.Unstructured {
			return ed.stock.styled(ctx, version, corpus.Plain, editedObjects)
		}),
		own: sync.OnceValue(func() *owning { return newOwning(objects[min(ed.stock.mixed[version], len(objects)):]) }),
	}
}

// addHome adds edits of an object with notes that has come back to the first version of a pair.
func (ed *editing) addHome(home *homeEdits, pair corpus.Pair, origin, most int, original, object *unstructured.Unstructured) {
	tried, isSingle := home.tried[0], ed.stock.isSingle(pair.From, origin)
	if isSingle {
		tried = home.tried[1]
	}
	home.removals = append(home.removals, ed.homeRemovals(pair, origin, object, tried)...)
	changes, notes := ed.changes(pair.From, origin, object, home.others(), most, tried, showsAll), notesOf(object, original)
	home.own().note(changes, notes)
	home.changes = append(home.changes, changes...)
	if isSingle {
		more, less := ed.ownEdits(pair.From, origin, object, home.others(), notes, home.own())
		home.changes, home.removals = append(home.changes, more...), append(home.removals, less...)
	}
}

// atHome returns what edits at home do not outlast: values that come back, and changes that are undone on the way to the second version of a pair
// and back.
func (ed *editing) atHome(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, home *homeEdits) []finding {
	findings, usual := ed.returned(ctx, reverse(pair), objects, home.removals), ed.keeping.usual(ctx)
	for j, t := range ed.journeys.roundTrip(ctx, pair, objectsOf(home.changes)) {
		e := home.changes[j]
		if t.back.object == nil {
			continue
		}
		ed.effort.tried++
		for _, l := range ed.losses.lost(pair, e.object.Object, t.back.object) {
			f := finding{e.origin, "", ed.definition.schemaOf(pair.From).Place(l.Path), l.String() + ", as it was before", partOf(l), t.back.x, ed.losses.effectOf(pair.From, l)}
			f.effect.noted = true
			was, _ := corpus.Value(e.read.Object, l.Path)
			if l.After == nil || !ed.definition.schemaOf(pair.From).Equal(l.Path, was, l.After) || usual[finding{trip: there(pair), path: f.path}.place()] || !ed.losesAlone(ctx, pair, e.object, &f) {
				continue
			}
			if bare := f; ed.losesAlone(ctx, pair, withoutNotes(e.object, objects[e.origin]), &bare) {
				continue // no note is why
			}
			f.trip = fmt.Sprintf("%s -> %s, changed there -> %s -> %s", pair, pair.From, pair.To, pair.From)
			findings = append(findings, f)
		}
	}
	return findings
}

// homeRemovals returns edits of an object that remove one leaf, or the field around it that the other version of a pair lacks. Each place is
// removed once.
func (ed *editing) homeRemovals(pair corpus.Pair, origin int, object *unstructured.Unstructured, tried map[string]int) []edit {
	var edits []edit
	schema, other := ed.definition.schemaOf(pair.From), ed.definition.schemaOf(pair.To)
	for _, path := range corpus.Leaves(object) {
		path = cmp.Or(other.Lacks(path), path)
		place := "removed " + schema.Place(path)
		if tried[place] >= editTries {
			continue
		}
		tried[place]++
		if e, is := ed.removal(pair.From, origin, object, path); is {
			tried[place] = editTries
			edits = append(edits, e)
		}
	}
	return edits
}
