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
}

func (p *prober) homeEdits(ctx context.Context, version string) *homeEdits {
	return &homeEdits{tried: [2]map[string]int{{}, {}}, others: sync.OnceValue(func() []*unstructured.Unstructured {
		return p.stock.styled(ctx, version, corpus.Plain, editedObjects)
	})}
}

// addHome adds edits of an object with notes that has come back to the first version of a pair.
func (p *prober) addHome(home *homeEdits, pair corpus.Pair, origin int, object *unstructured.Unstructured) {
	tried := home.tried[0]
	if origin >= p.stock.mixed[pair.From] {
		tried = home.tried[1]
	}
	home.removals = append(home.removals, p.homeRemovals(pair, origin, object, tried)...)
	home.changes = append(home.changes, p.changes(pair.From, origin, object, home.others(), editsPerObject, tried, false)...)
}

// atHome returns what edits at home do not outlast: values that come back, and changes that are undone on the way to the second version of a pair
// and back.
func (p *prober) atHome(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, home *homeEdits) []finding {
	findings, usual := p.returned(ctx, reverse(pair), objects, home.removals), p.keeping.usual(ctx)
	for j, t := range p.journeys.roundTrip(ctx, pair, objectsOf(home.changes)) {
		e := home.changes[j]
		if t.back.object == nil {
			continue
		}
		p.effort.came++
		for _, l := range p.losses.lost(pair, e.object.Object, t.back.object) {
			f := finding{e.origin, "", p.definition.schemaOf(pair.From).Place(l.Path), l.String() + ", as it was before", partOf(l), t.back.x, p.losses.effectOf(pair.From, l)}
			f.effect.noted = true
			was, _ := corpus.Value(e.read.Object, l.Path)
			if l.After == nil || !p.definition.schemaOf(pair.From).Equal(l.Path, was, l.After) || usual[finding{trip: there(pair), path: f.path}.place()] || !p.losesAlone(ctx, pair, e.object, &f) {
				continue
			}
			if bare := f; p.losesAlone(ctx, pair, withoutNotes(e.object, objects[e.origin]), &bare) {
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
func (p *prober) homeRemovals(pair corpus.Pair, origin int, object *unstructured.Unstructured, tried map[string]int) []edit {
	var edits []edit
	schema, other := p.definition.schemaOf(pair.From), p.definition.schemaOf(pair.To)
	for _, path := range corpus.Leaves(object) {
		path = cmp.Or(other.Lacks(path), path)
		place := "removed " + schema.Place(path)
		if tried[place] >= editTries {
			continue
		}
		tried[place]++
		if e, is := p.removal(pair.From, origin, object, path); is {
			tried[place] = editTries
			edits = append(edits, e)
		}
	}
	return edits
}
