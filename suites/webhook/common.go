package webhook

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// mostAsked is how many requests it may take to look in one way for what places have in common, and beside one of them.
const mostAsked = 400

// mostSharing is of how many places of a pair it is found out whether they share what one takes. If all of them do, so do the others of the pair.
const mostSharing = 10

// fewSharing is how many fields have one cause if they take the same in another one.
const fewSharing = 3

// causes looks for what the places that a spec found have in common.
type causes struct {
	material
	survivors *survivors
	failures  *failures
	examiner  *examiner

	changes []change // that several fields share
}

// inquiry looks for what the places that a spec found have in common, so that one defect is one cause. It asks for objects within bounds.
type inquiry struct {
	c      *causes
	what   property
	asking bound
}

// explain notes of places that show by themselves which circumstances these take, as far as it is not known.
func (c *causes) explain(ctx context.Context, what property, places []found) {
	afterEdits(places)
	q := &inquiry{c: c, what: what}
	empty := func(ctx context.Context, places []found) { q.beside(ctx, places, q.empty) }
	turns := func(ctx context.Context, places []found) { q.beside(ctx, places, q.turns) }
	for _, look := range []func(context.Context, []found){q.breakdowns, empty, q.several, turns, q.members, q.moves, q.homes, q.alike, q.texts} {
		q.asking = c.talk.atMost(mostAsked)
		look(ctx, places)
	}
}

// afterEdits says of places that show after different edits that it may be any.
func afterEdits(places []found) {
	edits := map[string]bool{}
	for _, f := range places {
		edits[f.effect.when] = true
	}
	for i, f := range places {
		if delete(edits, ""); f.effect.when != "" && len(edits) > 1 {
			places[i].when = "after something else was changed at another version"
		}
	}
}

// mayAsk reports whether more may be asked for.
func (q *inquiry) mayAsk(ctx context.Context) bool {
	return !q.asking.isReached() && !q.c.connection.isSilent() && !q.c.talk.isLateHere() && !q.c.budget.spent() && ctx.Err() == nil
}

// isOpen reports whether a finding is about a part of the object that it was found in, and nothing explains it.
func (q *inquiry) isOpen(f found) bool {
	if f.when != "" || f.again != nil || q.what.reversed || f.effect.at == "" || strings.HasPrefix(f.effect.at, "metadata") {
		return false
	}
	_, has := corpus.Value(f.subject.Object, f.effect.at)
	return has
}

// isUnmeant reports whether a value is lost or changed that the other version has room for.
func (f found) isUnmeant() bool {
	return f.effect.sort == "lost" && (f.effect.lacks == "" || f.effect.kept) || f.effect.sort == "changed"
}

// takes reports whether a finding is gone for an object without something, and still there for its own, which distinguishes it from one that comes and
// goes.
func (q *inquiry) takes(ctx context.Context, f found, without *unstructured.Unstructured) bool {
	if !q.mayAsk(ctx) || len(q.c.definition.schemaOf(f.pair.From).Problems(without.Object)) > 0 {
		return false
	}
	if _, shows := q.c.examiner.alone(ctx, q.what, f, without); shows || !q.mayAsk(ctx) {
		return false
	}
	_, still := q.c.examiner.alone(ctx, q.what, f, f.subject)
	return still
}

// moves finds out which values that are not where they were are in another field.
func (q *inquiry) moves(ctx context.Context, places []found) {
	for i, f := range places {
		if !q.isOpen(f) || f.trip != there(f.pair) || !f.isUnmeant() || !q.mayAsk(ctx) {
			continue
		}
		if into := q.into(ctx, f); into != "" {
			places[i].effect.sort, places[i].effect.into = moved, into
			places[i].message += "; what was there comes back in " + into
		}
	}
}

// into returns the place in which an object that comes back has what a field had, whatever that is; empty if there is none.
func (q *inquiry) into(ctx context.Context, f found) string {
	schema := q.c.definition.schemaOf(f.pair.From)
	value, _ := corpus.Value(f.subject.Object, f.effect.at)
	if !isScalar(value) {
		return ""
	}
	variants := []*unstructured.Unstructured{f.subject}
	for _, other := range schema.Altered(f.subject, f.effect.at) {
		if len(variants) <= mostSuspects && len(schema.Problems(other.Object)) == 0 {
			variants = append(variants, other)
		}
	}
	var trials []trial
	for i, t := range q.c.journeys.roundTrip(ctx, f.pair, variants) {
		if t.back.object == nil {
			return ""
		}
		value, _ := corpus.Value(variants[i].Object, f.effect.at)
		trials = append(trials, trial{value, t.back.object})
	}
	if len(trials) < 2 {
		return ""
	}
	for _, leaf := range leavesOfAll(trials) {
		if place := schema.Place(leaf); place != schema.Place(f.effect.at) && follows(schema, leaf, trials) {
			return place
		}
	}
	return ""
}

// several notes which places take other items in the list, or entries in the map, that they are in.
func (q *inquiry) several(ctx context.Context, places []found) {
	for i, f := range places {
		if !q.isOpen(f) {
			continue
		}
		schema := q.c.definition.schemaOf(f.pair.From)
		for _, around := range itemsAround(schema, f.effect.at) {
			if less := loneItem(f.subject, around); less != nil && q.takes(ctx, f, less) && !q.isAround(ctx, f, less) {
				places[i].when = fmt.Sprintf("where %s has several items", schema.Pattern(fieldpath.Join(around[:len(around)-1])))
				break
			}
		}
	}
}

// isAround reports whether another object has a finding in what that of a finding is in: an item of a list is lost if what it is known by changes.
func (q *inquiry) isAround(ctx context.Context, f found, other *unstructured.Unstructured) bool {
	place := q.c.definition.schemaOf(f.pair.From).Place
	return q.mayAsk(ctx) && slices.ContainsFunc(q.what.check(ctx, f.pair, []*unstructured.Unstructured{other}), func(one finding) bool {
		return one.effect.at != "" && fieldpath.Within(place(f.effect.at), place(one.effect.at))
	})
}

// itemsAround returns the items of lists and the entries of maps that a path leads through, the outermost first.
func itemsAround(schema *corpus.Schema, path string) [][]fieldpath.Step {
	steps, places := fieldpath.Split(path), fieldpath.Split(schema.Place(path))
	var all [][]fieldpath.Step
	for i := range steps[:len(steps)-1] {
		if i > 0 && (steps[i].List || places[i].Key == "*" && steps[i].Key != "*") {
			all = append(all, slices.Clone(steps[:i+1]))
		}
	}
	return all
}

// loneItem returns a copy of an object that has no other item in a list, or entry in a map, than the one given; nil if it has none.
func loneItem(object *unstructured.Unstructured, item []fieldpath.Step) *unstructured.Unstructured {
	last, around := item[len(item)-1], item[:len(item)-1]
	value, _ := fieldpath.Value(object.Object, item)
	less := object.DeepCopy()
	switch all, _ := fieldpath.Value(object.Object, around); all := all.(type) {
	case []any:
		if len(all) < 2 {
			return nil
		}
		fieldpath.Put(less.Object, around, []any{value})
	case map[string]any:
		if len(all) < 2 {
			return nil
		}
		fieldpath.Put(less.Object, around, map[string]any{last.Key: value})
	default:
		return nil
	}
	return less
}

// turn is what findings take in other fields of their objects: that they are there, or that one is not.
type turn struct {
	example *unstructured.Unstructured // that has the field
	at      string                     // the field, at the version of that; empty if without says which
	absent  bool
	words   string
	without func(of found) *unstructured.Unstructured // the object of a finding without the fields; nil if it has none

	shown map[string]string // the field that shows it at each other version; empty if none is known to
}

// beside notes what several fields take in the rest of the object, of which some look. Of each version these are asked of two objects, the smallest
// that show the first of the places that nothing explains: one of which the webhook keeps other values, and one of which it need not; and of the next
// ones, as long as that explains any.
func (q *inquiry) beside(ctx context.Context, places []found, look func(ctx context.Context, places []found, first int)) {
	type kind struct {
		version string
		kept    bool
	}
	asked := map[kind]bool{}
	for first, f := range places {
		fields := map[string]bool{}
		for i, other := range places {
			if places[i].when == "" {
				fields[other.path] = true
			}
		}
		if len(fields) < fewSharing {
			return
		}
		if is := (kind{f.pair.From, f.effect.kept}); places[first].when == "" && q.isOpen(f) && !asked[is] {
			asked[is] = true
			if first > 0 { // which is as small as can be
				places[first] = q.c.examiner.smallest(ctx, q.what, f)
				q.asking = q.c.talk.atMost(mostAsked) // one defect leaves nothing to ask about the next, otherwise
			}
			look(ctx, places, first)
			asked[is] = places[first].when == "" // what is left may take something else
		}
	}
}

// empty looks for places that take a list or an object that is empty, whichever.
func (q *inquiry) empty(ctx context.Context, places []found, first int) {
	q.share(ctx, places, first, &turn{example: places[first].subject, without: withoutEmpty, words: "where another field is an empty list or object"})
}

// turns looks for what one of some places takes, and others as well.
func (q *inquiry) turns(ctx context.Context, places []found, first int) {
	f := places[first]
	schema := q.c.definition.schemaOf(f.pair.From)
	for _, at := range corpus.Leaves(f.subject) {
		value, _ := corpus.Value(f.subject.Object, at)
		words := fmt.Sprintf("where %s is %s", schema.Pattern(at), inShort(value))
		if q.share(ctx, places, first, &turn{example: f.subject, at: at, words: words}) {
			return
		}
	}
	if at := q.lacking(ctx, f); at != "" {
		if example := q.with(ctx, f.subject, at); example != nil {
			q.share(ctx, places, first, &turn{example: example, at: at, absent: true, words: "without " + schema.Pattern(at)})
		}
	}
}

// share notes the circumstances of the places whose findings are gone once it is otherwise in their objects, and reports whether these are one that is
// given and enough others.
func (q *inquiry) share(ctx context.Context, places []found, first int, t *turn) bool {
	if other := q.otherwise(ctx, places[first], t); other == nil || strings.HasPrefix(t.at, "metadata") || !q.takes(ctx, places[first], other) {
		return false
	}
	if schema := q.c.definition.schemaOf(places[first].pair.From); t.at != "" && !t.absent && q.shows(ctx, places[first], changed(schema, t.example, nil, t.at)) {
		t.words = "where " + schema.Pattern(t.at) + " is set" // whatever the value
	}
	same, pairs := []int{first}, map[corpus.Pair]sharing{}
	fields := map[string]bool{places[first].path: true}
	for i, f := range places {
		if i == first || !q.isOpen(f) {
			continue
		}
		other := q.otherwise(ctx, f, t)
		if other == nil {
			continue
		}
		of, shares := pairs[f.pair], false
		if of.asked < mostSharing && q.mayAsk(ctx) {
			if of.asked++; q.takes(ctx, f, other) {
				of.taking, shares = of.taking+1, true
			}
			pairs[f.pair] = of
		} else {
			shares = of.isOfAll()
		}
		if shares {
			same, fields[f.path] = append(same, i), true
		}
	}
	if len(fields) < fewSharing {
		return false
	}
	for _, i := range same {
		places[i].when = t.words
	}
	return true
}

// shows reports whether a finding shows in another object, if there is one.
func (q *inquiry) shows(ctx context.Context, f found, other *unstructured.Unstructured) bool {
	if other == nil || !q.mayAsk(ctx) || len(q.c.definition.schemaOf(f.pair.From).Problems(other.Object)) > 0 {
		return false
	}
	_, shows := q.c.examiner.alone(ctx, q.what, f, other)
	return shows
}

// otherwise returns the object of a finding without what it may take; nil if that is about the same field, or cannot be otherwise.
func (q *inquiry) otherwise(ctx context.Context, f found, t *turn) *unstructured.Unstructured {
	if t.at == "" {
		return t.without(f)
	}
	at := q.at(ctx, f.pair.From, t)
	if at == "" || fieldpath.Within(at, f.effect.at) || fieldpath.Within(f.effect.at, at) {
		return nil
	}
	if t.absent {
		return q.with(ctx, f.subject, at)
	}
	schema, without := q.c.definition.schemaOf(f.pair.From), f.subject
	for _, path := range corpus.Leaves(f.subject) {
		if schema.Place(path) == schema.Place(at) { // in whichever item
			without = corpus.Without(without, path)
		}
	}
	if without == f.subject {
		return nil
	}
	return without
}

// isInListOf reports whether a path leads through the outermost list that the finding is in, whose items and their order are what they have in common.
func (f found) isInListOf(path string) bool {
	for i, step := range fieldpath.Split(f.effect.at) {
		if step.List {
			return fieldpath.Within(path, fieldpath.Join(fieldpath.Split(f.effect.at)[:i]))
		}
	}
	return false
}

// withoutEmpty returns the object of a finding without the lists and objects that are empty, elsewhere than at the finding; nil if there are none.
// A program that reads them has them in memory, and not in the JSON that it writes if their fields have omitempty.
func withoutEmpty(f found) *unstructured.Unstructured {
	without := f.subject
	for {
		less := without
		for _, path := range slices.Backward(corpus.Leaves(without)) {
			if value, _ := corpus.Value(without.Object, path); !isScalar(value) && corpus.IsEmpty(value) && !f.isAbout(path) && !f.isInListOf(path) {
				less = corpus.Without(less, path)
			}
		}
		if less == without { // which may have emptied what is around it
			break
		}
		without = less
	}
	if without == f.subject {
		return nil
	}
	return without
}

// at returns the field that shows at a version what findings may take; empty if none is known to.
func (q *inquiry) at(ctx context.Context, version string, t *turn) string {
	way := corpus.Pair{From: t.example.GroupVersionKind().Version, To: version}
	if way.From == version {
		return t.at
	}
	if _, known := t.shown[version]; !known && q.mayAsk(ctx) {
		if t.shown == nil {
			t.shown = map[string]string{}
		}
		t.shown[version] = ""
		if q.c.routes.isOpen(ctx, way) {
			was, _ := corpus.Value(t.example.Object, t.at)
			o := q.c.talk.convert(ctx, way, []*unstructured.Unstructured{t.example})[0]
			if is, has := corpus.Value(o.object, t.at); has && reflect.DeepEqual(was, is) {
				t.shown[version] = t.at // what goes with it shows it, too
			} else if places := q.c.survivors.shown(ctx, way, t.example, t.at); len(places) > 0 {
				t.shown[version] = places[0]
			}
		}
	}
	return t.shown[version]
}

// lacking returns a field that the object of a finding does not have, and with which it is not found; empty if there is none. It is not looked for
// where the other version has no room for the value, as far as it is known.
func (q *inquiry) lacking(ctx context.Context, f found) string {
	if f.effect.lacks != "" && !f.effect.kept && !q.c.survivors.on(ctx, f.pair).Has(f.path) {
		return ""
	}
	return q.c.stock.pool(ctx, f.pair.From).generator.Needed(ctx, f.subject, func(ctx context.Context, objects []*unstructured.Unstructured) []string {
		shows := make([]string, len(objects))
		for i, object := range objects {
			if !q.takes(ctx, f, object) {
				shows[i] = f.path
			}
		}
		return shows
	})
}

// with returns a copy of an object with a value that others have at a path; nil if it has one, or lacks what the path leads through.
func (q *inquiry) with(ctx context.Context, object *unstructured.Unstructured, at string) *unstructured.Unstructured {
	if corpus.Vacant(object.Object, at) != at {
		return nil
	}
	if _, has := corpus.Value(object.Object, at); has {
		return nil
	}
	for _, donor := range q.c.stock.each(ctx, object.GroupVersionKind().Version) {
		if value, has := corpus.Value(donor.Object, at); has {
			return corpus.With(object, at, value)
		}
	}
	return nil
}

// inShort is a value as JSON, if that is short.
func inShort(value any) string {
	const most = 40
	text, err := corpus.Encode(value)
	if err != nil || len(text) > most {
		return "set"
	}
	return corpus.Printable(string(text))
}
