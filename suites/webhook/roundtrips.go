package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// roundTrips has the specs about objects that take other ways than there and back once.
type roundTrips struct {
	judging
}

// path is the property of objects that the way by a third version makes no difference. Those that lose something there are not
// its concern.
func (rt *roundTrips) path() property {
	return property{mutual: true, objects: rt.stock.all, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		for _, by := range rt.env.Subject.Corpus.Mutual() {
			if by != pair.From && by != pair.To && rt.routes.isOpen(ctx, corpus.Pair{From: pair.From, To: by}) && rt.routes.isOpen(ctx, corpus.Pair{From: by, To: pair.To}) {
				findings = append(findings, rt.detour(ctx, pair, by, objects)...)
			}
		}
		return findings
	}}
}

func (rt *roundTrips) detour(ctx context.Context, pair corpus.Pair, by string, objects []*unstructured.Unstructured) []finding {
	direct := rt.journeys.forth(ctx, pair, objects)
	first := corpus.Pair{From: pair.From, To: by}
	trips := rt.journeys.roundTrip(ctx, first, objects)
	var halfway []*unstructured.Unstructured
	var places []int
	for i, t := range trips {
		if direct[i].object != nil && t.back.object != nil && len(rt.losses.lost(first, objects[i].Object, t.back.object)) == 0 {
			halfway = append(halfway, corpus.Restored(objects[i], t.there.object))
			places = append(places, i)
		}
	}
	var findings []finding
	for j, end := range rt.talk.convert(ctx, corpus.Pair{From: by, To: pair.To}, halfway) {
		i := places[j]
		end.x.before = &trips[i].there.x
		if end.object == nil {
			continue
		}
		rt.effort.tried++
		for _, l := range apart(rt.definition.schemaOf(pair.To), direct[i].object, end.object) {
			if !rt.losses.declared(pair, l.Path) && !rt.losses.declared(first, l.Path) {
				way := fmt.Sprintf("%s -> %s, and by %s", pair.From, pair.To, by)
				findings = append(findings, finding{i, way, rt.definition.schemaOf(pair.To).Place(l.Path), fmt.Sprintf("%s by %s", l, by), partOf(l), end.x, effect{sort: differs}})
			}
		}
	}
	return findings
}

// apart returns the differences between two objects, outside of metadata: a conversion may keep in annotations what it likes.
func apart(schema *corpus.Schema, a, b map[string]any) []corpus.Loss {
	bare := func(object map[string]any) map[string]any {
		fields := maps.Clone(object)
		delete(fields, "metadata")
		return fields
	}
	return schema.Differences(bare(a), bare(b))
}

// identity is the property of objects to lose nothing when they are asked for at their own version, but for what they lose
// on every way. API servers of today never ask for that.
func (rt *roundTrips) identity(ctx context.Context) property {
	usual := rt.keeping.usual(ctx)
	return property{mutual: true, objects: rt.stock.all, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		same := corpus.Pair{From: pair.From, To: pair.From}
		var findings []finding
		for i, o := range rt.talk.convert(ctx, same, objects) {
			rt.effort.tried++
			if o.object == nil {
				findings = append(findings, finding{i, same.String(), "", fmt.Sprintf("expected the object as it is, got %s", o.x.judgement.Rejected()), none, o.x, effect{sort: refused}})
				continue
			}
			for _, l := range rt.definition.schemaOf(pair.From).Losses(objects[i].Object, o.object) {
				if f := (finding{i, there(pair), rt.definition.schemaOf(pair.From).Place(l.Path), l.String(), none, o.x, rt.losses.effectOf(pair.From, l)}); !usual[f.place()] && !rt.losses.declared(pair, l.Path) {
					f.trip = same.String()
					findings = append(findings, f)
				}
			}
		}
		return findings
	}}
}

const (
	// rounds is how often objects go there and back to see whether they grow.
	rounds = 20

	// settled is how many rounds are left out: the first may add what the other version has no field for.
	settled = 2

	// fewest is how many rounds an object must survive to be judged: one after those that are left out, one at the end, and one between.
	fewest = settled + 3

	// mostStored is how large an object may be in etcd, in bytes: what one request to it may have (--max-request-bytes).
	mostStored = 1536 << 10
)

// life is what becomes of an object that goes there and back again and again.
type life struct {
	current, early *unstructured.Unstructured // as it is now, and as it was after the rounds that are left out
	sizes          []int                      // in bytes, after each round
	x              exchange                   // the last
	refused        string                     // what was wrong with the conversion that ended it; empty if it went through all rounds
}

// growth is the property of objects to stay as big as they are on the way there and back, again and again. That the webhook refuses
// one is for other specs to report; the rounds before count.
func (rt *roundTrips) growth() property {
	return property{mutual: true, objects: rt.stock.some, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		lives := make([]life, len(objects))
		for i, object := range objects {
			lives[i].current = object
		}
		for range rounds {
			rt.oneRound(ctx, pair, lives)
			if findings := rt.outgrown(pair, objects, lives); len(findings) > 0 {
				return findings // it would take ever more memory
			}
		}
		var findings []finding
		for i := range lives {
			of := &lives[i]
			last := len(of.sizes)
			if last < fewest {
				continue
			}
			rt.effort.tried++
			half := (last + settled) / 2
			least, middle, most := of.sizes[settled-1], of.sizes[half], of.sizes[last-1]
			if least < middle && middle < most {
				place := grown(of.early, of.current)
				message := fmt.Sprintf("%s: expected the object to keep its size of %d bytes, got %d bytes after %d rounds and %d after %d", place, least, middle, half+1, most, last)
				if of.refused != "" {
					message += ", and then conversion failed: " + of.refused
				}
				way := fmt.Sprintf("%s -> %s, %d times", pair, pair.From, last)
				findings = append(findings, finding{i, way, rt.definition.schemaOf(pair.From).Place(place), message, none, of.x, effect{sort: grows}})
			}
		}
		return findings
	}}
}

// oneRound takes the objects that came back from each round there and back once more.
func (rt *roundTrips) oneRound(ctx context.Context, pair corpus.Pair, lives []life) {
	var current []*unstructured.Unstructured
	var places []int
	for i := range lives {
		if lives[i].refused == "" {
			current = append(current, lives[i].current)
			places = append(places, i)
		}
	}
	if len(current) == 0 {
		return
	}
	for j, t := range rt.journeys.roundTrip(ctx, pair, current) {
		of := &lives[places[j]]
		switch {
		case t.there.object == nil:
			of.refused = fmt.Sprint(t.there.x.judgement.Rejected())
		case t.back.object == nil:
			of.refused = fmt.Sprint(t.back.x.judgement.Rejected())
		default:
			of.current = corpus.Restored(of.current, t.back.object)
			of.sizes, of.x = append(of.sizes, size(of.current)), t.back.x
			if len(of.sizes) == settled {
				of.early = of.current
			}
		}
	}
}

// outgrown returns the objects that have become too large for etcd.
func (rt *roundTrips) outgrown(pair corpus.Pair, before []*unstructured.Unstructured, lives []life) []finding {
	var findings []finding
	for i, of := range lives {
		was, is := size(before[i]), size(of.current)
		if is <= mostStored || is < 2*was {
			continue
		}
		place := grown(before[i], of.current)
		way := fmt.Sprintf("%s -> %s, %d times", pair, pair.From, len(of.sizes))
		message := fmt.Sprintf("%s: expected the object to keep its size of %d bytes, got %d bytes, more than etcd takes", place, was, is)
		findings = append(findings, finding{i, way, rt.definition.schemaOf(pair.From).Place(place), message, none, of.x, effect{sort: grows}})
	}
	return findings
}

// grown returns the place in an object that has grown most: the list, if that has more items than before.
func grown(before, after *unstructured.Unstructured) string {
	place, most := "", 0
	length := func(object *unstructured.Unstructured, path string) int {
		value, has := corpus.Value(object.Object, path)
		if !has {
			return 0
		}
		return len(fmt.Sprint(value))
	}
	paths := corpus.Leaves(after)
	for _, field := range []string{"labels", "annotations"} {
		values, _, _ := unstructured.NestedStringMap(after.Object, "metadata", field)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			paths = append(paths, fieldpath.Child("metadata."+field, key))
		}
	}
	for _, path := range paths {
		if n := length(after, path) - length(before, path); n > most {
			place, most = path, n
		}
	}
	steps := fieldpath.Split(place)
	for i, step := range steps {
		if _, had := fieldpath.Value(before.Object, steps[:i+1]); step.List && !had {
			return fieldpath.Join(steps[:i])
		}
	}
	return place
}

func size(object *unstructured.Unstructured) int { return len(corpus.JSON(object)[0]) }
