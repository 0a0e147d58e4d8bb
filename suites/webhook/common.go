package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/suites"
)

// mostAsked is how many requests an inquiry may take.
const mostAsked = 400

// fewSharing is how many fields have one cause if they take the same in another one.
const fewSharing = 3

// causes looks for what the places that a spec found have in common.
type causes struct {
	env        *suites.Env
	definition *definition
	budget     *budget
	connection *connection
	talk       *conversation
	routes     *routes
	stock      *stock
	journeys   *journeys
	survivors  *survivors
	failures   *failures
	examiner   *examiner
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
	q := &inquiry{c: c, what: what, asking: c.talk.atMost(mostAsked)}
	q.breakdowns(ctx, places)
	q.several(ctx, places)
	q.beside(ctx, places)
	q.moves(ctx, places)
	q.homes(ctx, places)
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

// takes reports whether a finding is gone for an object without something, and still there for its own, which tells that from one that comes and
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

// breakdowns gives objects over which the webhook breaks down the cause of others: it breaks down on the way to the same version over what they are at
// the version of these.
func (q *inquiry) breakdowns(ctx context.Context, places []found) {
	for i, f := range places {
		if f.effect.sort != refused || !crashed(&f.x) || !q.mayAsk(ctx) {
			continue
		}
		from, others := f.subject.GroupVersionKind().Version, places[:i:i]
		if f.again == nil {
			others = append(others, q.c.failures.all(ctx)...)
		}
		for _, known := range others {
			if known.effect.sort != refused || !crashed(&known.x) || known.pair.To != f.x.to || known.pair.From == from || known.pair == f.pair {
				continue
			}
			o := q.c.talk.convert(ctx, corpus.Pair{From: from, To: known.pair.From}, []*unstructured.Unstructured{f.subject})[0]
			if o.object == nil || !q.mayAsk(ctx) {
				continue
			}
			again := q.c.talk.answers(ctx, known.pair, []*unstructured.Unstructured{corpus.Restored(f.subject, o.object)})[0]
			if again.raw == nil && crashed(&again.x) {
				places[i].when, places[i].effect.where = known.when, known.effect.where
				if known.when == "" && known.effect.where == "" {
					places[i].effect.where = known.path
				}
				break
			}
		}
	}
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
			if less := loneItem(f.subject, around); less != nil && q.takes(ctx, f, less) {
				places[i].when = fmt.Sprintf("where %s has several items", schema.Pattern(fieldpath.Join(around[:len(around)-1])))
				break
			}
		}
	}
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

// beside notes what several fields take in another field of the object, or that it is not there. The object of the first is as small as can be.
func (q *inquiry) beside(ctx context.Context, places []found) {
	fields := map[string]bool{}
	for _, f := range places {
		fields[f.path] = true
	}
	if len(fields) < fewSharing || !q.isOpen(places[0]) {
		return
	}
	first := places[0]
	version := q.c.definition.schemaOf(first.pair.From)
	for _, at := range corpus.Leaves(first.subject) {
		value, _ := corpus.Value(first.subject.Object, at)
		when := fmt.Sprintf("where %s is %s", version.Pattern(at), inShort(value))
		if q.share(ctx, places, at, when, func(object *unstructured.Unstructured) *unstructured.Unstructured {
			if _, has := corpus.Value(object.Object, at); !has {
				return nil
			}
			return corpus.Without(object, at)
		}) {
			return
		}
	}
	if at := q.lacking(ctx, first); at != "" {
		q.share(ctx, places, at, "without "+version.Pattern(at), func(object *unstructured.Unstructured) *unstructured.Unstructured {
			return q.with(ctx, object, at)
		})
	}
}

// share notes the circumstances of the places whose findings are gone once something is otherwise at a path of their objects, and reports whether
// these are the first and enough others. What is to be otherwise is nil for objects in which it cannot be.
func (q *inquiry) share(ctx context.Context, places []found, at, when string, otherwise func(*unstructured.Unstructured) *unstructured.Unstructured) bool {
	var sharing []int
	fields, all := map[string]bool{}, true
	for i, f := range places {
		if !q.isOpen(f) || strings.HasPrefix(at, "metadata") || fieldpath.Within(at, f.effect.at) || fieldpath.Within(f.effect.at, at) {
			continue
		}
		asked := q.mayAsk(ctx)
		switch other := otherwise(f.subject); {
		case other != nil && (asked && q.takes(ctx, f, other) || !asked && all): // as far as is known
			sharing, fields[f.path] = append(sharing, i), true
		case i == 0:
			return false
		default:
			all = false
		}
	}
	if len(fields) < fewSharing || sharing[0] != 0 {
		return false
	}
	for _, i := range sharing {
		places[i].when = when
	}
	return true
}

// lacking returns a field that the object of a finding does not have, and with which it is not found; empty if there is none. It is not looked for
// where the other version has no room for the value.
func (q *inquiry) lacking(ctx context.Context, f found) string {
	if f.effect.lacks != "" && !f.effect.kept {
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

// homes finds out which fields of the stored version show what is lost or changed at others, where the field has another name.
func (q *inquiry) homes(ctx context.Context, places []found) {
	d := q.c.env.Subject.Corpus.Definition
	if d == nil {
		return
	}
	stored := kube.StorageVersion(d.CRD)
	for i, f := range places {
		way := corpus.Pair{From: f.pair.From, To: stored}
		switch {
		case !q.isOpen(f) || !f.isUnmeant() || !q.mayAsk(ctx):
		case f.pair.From == stored:
			places[i].home = q.c.definition.schemaOf(stored).Pattern(f.path)
		case q.c.routes.isOpen(ctx, way):
			if at := q.c.survivors.shown(ctx, way, f.subject, f.effect.at); len(at) > 0 {
				places[i].home = q.c.definition.schemaOf(stored).Pattern(fieldpath.Around(at...))
			}
		}
	}
}

// inShort is a value as JSON, if that is short.
func inShort(value any) string {
	const most = 40
	text, err := corpus.Encode(value)
	if err != nil || len(text) > most {
		return "set"
	}
	return string(text)
}
