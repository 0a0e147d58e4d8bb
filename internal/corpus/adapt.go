package corpus

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Rejection is an object that a webhook refuses although the schema allows it.
type Rejection struct {
	Object *unstructured.Unstructured // the smallest one

	// Settled reports whether objects with other values in the same places are made from now on.
	Settled bool

	// Needs is the path of a field that the object lacks by right, and with which it is not refused; empty if none was found.
	Needs string
}

// Adapted is what came of objects that a webhook may refuse.
type Adapted struct {
	Objects    []*unstructured.Unstructured // those that it does not refuse
	Rejections []Rejection                  // what was learned, in order

	// Dropped is how many objects were left out in the end since they are refused, by the cause.
	Dropped map[string]int

	// Asked is how many objects the webhook was asked about, and Cut says that there would have been more to learn.
	Asked int
	Cut   bool
}

// What Learn does at most. These are counts and not times, so that a slow machine learns the same as a fast one.
const (
	rejections    = 100  // changes of what is generated
	mostUnsettled = 4    // rejections from which nothing could be learned
	mostLearning  = 4000 // objects to ask about, beside those that each change brings
	mostShrinking = 250  // of these, for one rejection
	mostNeeded    = 40   // of these, with a field more
	mostSuiting   = 120  // of these, with another value of one field
	mostBeside    = 6    // other known values that one may be replaced by
)

// Learn makes n plain objects and sees which are refused. It finds out which values the refused ones are refused for, and
// makes objects with others there, because a webhook often requires more than the schema says: that a string is a duration, or
// that a field is there. The function is given objects and says of each why it is refused, in words that are the same for the
// same cause; empty if it is not.
func (g *Generator) Learn(ctx context.Context, n int, refused func(context.Context, []*unstructured.Unstructured) []string) Adapted {
	l := &learning{g: g, refused: refused}
	for unsettled := 0; ; {
		objects := g.Objects(Plain, n)
		causes := l.ask(ctx, objects)
		l.batches += len(objects)
		var bad []int
		l.accepted = nil
		for i, cause := range causes {
			if cause == "" {
				l.accepted = append(l.accepted, objects[i])
			} else {
				bad = append(bad, i)
			}
		}
		if len(bad) > unsettled && ctx.Err() == nil {
			l.cut = len(l.learned) >= rejections || unsettled >= mostUnsettled || l.asked-l.batches >= mostLearning
			if !l.cut {
				at := bad[unsettled]
				rejection := l.learn(ctx, objects[at], causes[at])
				l.learned = append(l.learned, rejection)
				if !rejection.Settled {
					unsettled++
				}
				continue
			}
		}
		adapted := Adapted{Objects: l.accepted, Rejections: l.learned, Dropped: map[string]int{}, Asked: l.asked, Cut: l.cut}
		for _, at := range bad {
			adapted.Dropped[causes[at]]++
		}
		return adapted
	}
}

// learning is what Learn knows.
type learning struct {
	g        *Generator
	refused  func(context.Context, []*unstructured.Unstructured) []string
	learned  []Rejection
	accepted []*unstructured.Unstructured
	asked    int
	batches  int // of those, how many for whole batches
	cut      bool
}

func (l *learning) ask(ctx context.Context, objects []*unstructured.Unstructured) []string {
	l.asked += len(objects)
	return l.refused(ctx, objects)
}

// one asks about one object.
func (l *learning) one(ctx context.Context, object *unstructured.Unstructured) string {
	return l.ask(ctx, []*unstructured.Unstructured{object})[0]
}

// shrink makes an object smaller as long as something is said of it.
func (l *learning) shrink(ctx context.Context, object *unstructured.Unstructured, said func(string) bool) *unstructured.Unstructured {
	ends := l.asked + mostShrinking
	return l.g.schema.Shrink(ctx, object, func(_ context.Context, candidate *unstructured.Unstructured) bool {
		l.g.makeUsual(candidate, l.g.refusedMetadata())
		return l.asked < ends && ctx.Err() == nil && said(l.one(ctx, candidate))
	})
}

// learn determines which values of an object are rejected, and continues with others.
func (l *learning) learn(ctx context.Context, object *unstructured.Unstructured, cause string) Rejection {
	g := l.g
	rejection := Rejection{Object: l.shrink(ctx, object, func(other string) bool { return other == cause })}
	g.makeUsual(rejection.Object, g.refusedMetadata())
	if rejection.Settled = g.blameMetadata(ctx, rejection.Object, l.ask); rejection.Settled {
		return rejection
	}
	if needs := l.needed(ctx, rejection.Object); needs != "" && g.want(needs) {
		rejection.Needs, rejection.Settled = needs, true
		return rejection
	}
	guilty, suspects := l.culprits(ctx, rejection.Object)
	if rejection.Settled = l.differ(ctx, rejection.Object); rejection.Settled {
		return rejection
	}
	blamed := guilty
	if len(guilty) == 0 {
		blamed = suspects
	}
	if l.suit(ctx, rejection.Object, blamed) || len(guilty) == 0 && l.missing(ctx) {
		rejection.Settled = true
		return rejection
	}
	if len(guilty) == 0 {
		blamed = l.unproven(ctx, rejection.Object, suspects)
	}
	for _, path := range blamed {
		value, _ := Value(rejection.Object.Object, path)
		if g.refuse(path, value) {
			rejection.Settled = true
		}
	}
	return rejection
}

// Needed returns the path of a field that an object lacks by right, and with which it is not refused; empty if none is found. The function
// is as for Learn.
func (g *Generator) Needed(ctx context.Context, object *unstructured.Unstructured, refused func(context.Context, []*unstructured.Unstructured) []string) string {
	return (&learning{g: g, refused: refused}).needed(ctx, object)
}

// needed returns the path of a field with which an object is not refused, of those that it lacks. What is missing is most likely
// where something else is, so the innermost come first.
func (l *learning) needed(ctx context.Context, object *unstructured.Unstructured) string {
	ends := l.asked + mostNeeded
	for _, path := range slices.Backward(mapsOf(object)) {
		n := l.g.schema.at(path)
		if n == nil {
			continue
		}
		for _, field := range n.properties {
			whole := append(slices.Clone(path), fieldpath.Step{Key: field.name})
			if _, found := fieldpath.Value(object.Object, whole); found || n.hasMeta(field.name) {
				continue
			}
			candidate := l.g.filled(object, whole, field.node)
			if l.asked >= ends || ctx.Err() != nil {
				return ""
			}
			if candidate != nil && l.one(ctx, candidate) == "" {
				return fieldpath.Join(whole)
			}
		}
	}
	return ""
}

// mapsOf returns the paths of the maps that an object consists of, from the outside to the inside.
func mapsOf(object *unstructured.Unstructured) [][]fieldpath.Step {
	var found [][]fieldpath.Step
	for queue := []([]fieldpath.Step){nil}; len(queue) > 0; queue = queue[1:] {
		inside, _ := fieldpath.Value(object.Object, queue[0])
		if _, isMap := inside.(map[string]any); isMap {
			found = append(found, queue[0])
		}
		for _, next := range parts(inside) {
			if len(queue[0]) > 0 || !isMeta(next.Key) {
				queue = append(queue, append(slices.Clone(queue[0]), next))
			}
		}
	}
	return found
}

// filled returns an object with a value at a path, nil if none is found that the schema allows there.
func (g *Generator) filled(object *unstructured.Unstructured, path []fieldpath.Step, n *node) *unstructured.Unstructured {
	const mostTries = 4
	g.mu.RLock()
	defer g.mu.RUnlock()
	for try := range mostTries {
		if g.places[n.id].broken {
			break
		}
		candidate := object.DeepCopy()
		fieldpath.Put(candidate.Object, path, g.maker(Plain, try, 0).value(n))
		g.schema.Prepare(candidate.Object)
		if len(g.schema.Problems(candidate.Object)) == 0 {
			return candidate
		}
	}
	return nil
}

// missing finds fields that must be there although the schema does not say so, by an object that is accepted: what is left of it
// when it is made as small as may be. From now on all objects have them. It is false if there is nothing new.
func (l *learning) missing(ctx context.Context) bool {
	var object *unstructured.Unstructured
	if len(l.accepted) > 0 {
		object = l.accepted[0]
	} else if at := slices.IndexFunc(l.g.samples, func(sample *unstructured.Unstructured) bool { return l.one(ctx, sample) == "" }); at >= 0 {
		object = l.g.samples[at]
	} else {
		return false
	}
	found := false
	for _, leaf := range Leaves(l.shrink(ctx, object, func(cause string) bool { return cause == "" })) {
		found = l.g.want(leaf) || found
	}
	return found
}

// want has all objects have what is at a path from now on, as far as what is around it is there. It is false if they have it anyway.
func (g *Generator) want(path string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := false
	way := fieldpath.Split(path)
	for i := range way {
		n, parent := g.walk(way[:i+1])
		if n == nil || parent == nil || parent.required[way[i].Key] || way[i].List || n.def != nil || isMeta(way[0].Key) {
			continue
		}
		for _, one := range g.byPath[n.path] {
			found = found || !g.places[one.id].wanted
			g.places[one.id].wanted = true
		}
	}
	return found
}

// culprits returns the leaves of an object without which it is not refused, and all that are not defaults: these are suspects when no
// single one is to blame, or the schema or its rules require them.
func (l *learning) culprits(ctx context.Context, object *unstructured.Unstructured) (guilty, suspects []string) {
	for _, path := range Leaves(object) {
		way := fieldpath.Split(path)
		if n := l.g.schema.at(way); n != nil && n.def != nil {
			if value, _ := fieldpath.Value(object.Object, way); reflect.DeepEqual(value, n.def) {
				continue
			}
		}
		suspects = append(suspects, path)
	}
	for _, path := range suspects {
		if l.takes(ctx, Without(object, path)) {
			guilty = append(guilty, path)
		}
	}
	return guilty, suspects
}

// differ finds out whether two items of a list are refused beside each other, since they are the same in some field: an object is not refused without
// either of them, nor if they differ there. From now on all items of that list do.
func (l *learning) differ(ctx context.Context, object *unstructured.Unstructured) bool {
	ends, seen := l.asked+mostSuiting, map[string]bool{}
	for _, path := range Leaves(object) {
		way := fieldpath.Split(path)
		for i, next := range way {
			place := fieldpath.Join(way[:i])
			if !next.List || seen[place] || l.asked >= ends {
				continue
			}
			seen[place] = true
			items, _ := Value(object.Object, place)
			list := l.g.schema.at(way[:i])
			if both, is := items.([]any); !is || len(both) != 2 || list == nil || list.items == nil || l.g.isKeptApart(list) {
				continue
			}
			if !l.takes(ctx, Without(object, fieldpath.Item(place, 0))) || !l.takes(ctx, Without(object, fieldpath.Item(place, 1))) {
				continue
			}
			if field := l.apartIn(ctx, object, place, list, ends); field != nil {
				l.g.keepApart(list, field)
				return true
			}
		}
	}
	return false
}

// apartIn returns the field in which the two items of a list have to differ for the object not to be refused, without a name for scalars; nil if there is
// none.
func (l *learning) apartIn(ctx context.Context, object *unstructured.Unstructured, place string, list *node, ends int) *property {
	by := []property{{node: list.items}}
	if len(list.items.properties) > 0 {
		by = list.items.properties
	}
	for i := range by {
		field := &by[i]
		if field.kind != text && field.kind != integer || field.enum != nil || l.asked >= ends {
			continue
		}
		with := object.DeepCopy()
		for n := range 2 {
			item := fieldpath.Split(fieldpath.Item(place, n))
			if field.name != "" {
				item = append(item, fieldpath.Step{Key: field.name})
			}
			fieldpath.Put(with.Object, item, field.counted(n))
		}
		if l.takes(ctx, with) {
			return field
		}
	}
	return nil
}

// takes reports whether an object is valid and not refused.
func (l *learning) takes(ctx context.Context, object *unstructured.Unstructured) bool {
	l.g.schema.Prepare(object.Object)
	return ctx.Err() == nil && len(l.g.schema.Problems(object.Object)) == 0 && l.one(ctx, object) == ""
}

// suit looks for a suspect with another value in whose place the object is not refused, and has only values like that from now on: those of
// a later sort, or all but the one that is refused.
func (l *learning) suit(ctx context.Context, object *unstructured.Unstructured, suspects []string) bool {
	ends := l.asked + mostSuiting
	for _, path := range suspects {
		n := l.g.schema.at(fieldpath.Split(path))
		if n == nil {
			continue
		}
		refused, _ := Value(object.Object, path)
		for sort := l.g.levelOf(n) + 1; sort < n.sorts() && l.asked < ends; sort++ {
			value, is := l.g.ofSort(n, sort)
			if !is || !l.takes(ctx, With(object, path, value)) {
				continue
			}
			for l.g.levelOf(n) < sort && l.g.refuse(path, refused) {
			}
			return true
		}
		others := l.g.besides(n, refused)
		for at, value := range others[:min(len(others), mostBeside)] {
			if l.asked < ends && l.takes(ctx, With(object, path, value)) {
				l.g.avoid(n, refused)
				l.avoid(ctx, object, path, n, slices.Delete(others, at, at+1))
				return true
			}
		}
	}
	return false
}

// avoid has a place no longer get those of its values for which an object is refused, so that they are not learned one by one.
func (l *learning) avoid(ctx context.Context, object *unstructured.Unstructured, path string, n *node, values []any) {
	var candidates []*unstructured.Unstructured
	var tried []any
	for _, value := range values {
		candidate := With(object, path, value)
		l.g.schema.Prepare(candidate.Object)
		if len(l.g.schema.Problems(candidate.Object)) == 0 {
			candidates, tried = append(candidates, candidate), append(tried, value)
		}
	}
	for i, cause := range l.ask(ctx, candidates) {
		if cause != "" {
			l.g.avoid(n, tried[i])
		}
	}
}

// unproven returns the suspects without those whose values are not refused in an object that was accepted.
func (l *learning) unproven(ctx context.Context, object *unstructured.Unstructured, suspects []string) []string {
	ends := l.asked + mostSuiting
	return slices.DeleteFunc(slices.Clone(suspects), func(path string) bool { return l.asked < ends && l.harmless(ctx, object, path) })
}

// harmless reports whether an object that was accepted still is with what is at a path of one that was not, which proves that this alone
// is not refused. Of what is in a list or map, all of that is put there.
func (l *learning) harmless(ctx context.Context, object *unstructured.Unstructured, path string) bool {
	const donors = 3
	way := fieldpath.Split(path)
	for i, next := range way {
		if around := l.g.schema.at(way[:i]); next.List || around.isMap() {
			way = way[:i]
			break
		}
	}
	value, found := fieldpath.Value(object.Object, way)
	if !found || len(way) == 0 {
		return false
	}
	for _, donor := range l.accepted[:min(len(l.accepted), donors)] {
		if _, there := fieldpath.Value(donor.Object, way[:len(way)-1]); there && l.takes(ctx, With(donor, fieldpath.Join(way), value)) {
			return true
		}
	}
	return false
}
