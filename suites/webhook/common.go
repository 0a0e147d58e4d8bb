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
)

// fewSharing is how many fields have one cause if they take the same in another one.
const fewSharing = 3

// inquiry looks for what the places that a spec found have in common, so that one defect is one cause. It asks for objects within bounds.
type inquiry struct {
	p           *prober
	what        property
	calls, ends int // before it
}

// explain notes of places that show by themselves which circumstances these take, as far as it is not known.
func (p *prober) explain(ctx context.Context, what property, places []found) {
	afterEdits(places)
	q := &inquiry{p: p, what: what, calls: p.calls, ends: p.env.Subject.Ends()}
	q.breakdowns(ctx, places)
	q.moves(ctx, places)
	q.several(ctx, places)
	q.beside(ctx, places)
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
	return q.p.calls-q.calls < mostConfirming && q.p.env.Subject.Ends()-q.ends < mostFatal && q.p.silent == nil && !q.p.isLateHere() && !q.p.spent() && ctx.Err() == nil
}

// isOpen reports whether a finding is about a part of the object that it was found in, and nothing explains it.
func (q *inquiry) isOpen(f found) bool {
	if f.when != "" || f.again != nil || q.what.reversed || f.effect.at == "" || strings.HasPrefix(f.effect.at, "metadata") {
		return false
	}
	_, has := corpus.Value(f.subject.Object, f.effect.at)
	return has
}

// takes reports whether a finding is gone for an object without something, and still there for its own, which tells that from one that comes and
// goes.
func (q *inquiry) takes(ctx context.Context, f found, without *unstructured.Unstructured) bool {
	if !q.mayAsk(ctx) || len(q.p.schemaOf(f.pair.From).Problems(without.Object)) > 0 {
		return false
	}
	if _, shows := q.p.alone(ctx, q.what, f, without); shows || !q.mayAsk(ctx) {
		return false
	}
	_, still := q.p.alone(ctx, q.what, f, f.subject)
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
			others = append(others, q.p.failures(ctx)...)
		}
		for _, known := range others {
			if known.effect.sort != refused || !crashed(&known.x) || known.pair.To != f.x.to || known.pair.From == from || known.pair == f.pair {
				continue
			}
			o := q.p.convert(ctx, corpus.Pair{From: from, To: known.pair.From}, []*unstructured.Unstructured{f.subject})[0]
			if o.object == nil || !q.mayAsk(ctx) {
				continue
			}
			again := q.p.answers(ctx, known.pair, []*unstructured.Unstructured{corpus.Restored(f.subject, o.object)})[0]
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
		if !q.isOpen(f) || f.trip != there(f.pair) || f.effect.sort != "lost" && f.effect.sort != "changed" || !q.mayAsk(ctx) {
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
	schema := q.p.schemaOf(f.pair.From)
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
	for i, t := range q.p.roundTrip(ctx, f.pair, variants) {
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
		schema := q.p.schemaOf(f.pair.From)
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

// beside notes what several fields take in another field of the object. The object of the first is as small as can be.
func (q *inquiry) beside(ctx context.Context, places []found) {
	if len(places) < fewSharing || !q.isOpen(places[0]) {
		return
	}
	first := places[0]
	for _, at := range corpus.Leaves(first.subject) {
		if strings.HasPrefix(at, "metadata") || fieldpath.Within(at, first.effect.at) || fieldpath.Within(first.effect.at, at) || !q.takes(ctx, first, corpus.Without(first.subject, at)) {
			continue
		}
		sharing, fields := []int{0}, map[string]bool{first.path: true}
		for i, f := range places[1:] {
			if _, has := corpus.Value(f.subject.Object, at); has && q.isOpen(f) && !fieldpath.Within(at, f.effect.at) && !fieldpath.Within(f.effect.at, at) && q.takes(ctx, f, corpus.Without(f.subject, at)) {
				sharing, fields[f.path] = append(sharing, i+1), true
			}
		}
		if len(fields) < fewSharing {
			continue
		}
		value, _ := corpus.Value(first.subject.Object, at)
		for _, i := range sharing {
			places[i].when = fmt.Sprintf("where %s is %s", q.p.schemaOf(first.pair.From).Pattern(at), inShort(value))
		}
		return
	}
}

// homes finds out which fields of the stored version show what is lost or changed at others, where the field has another name.
func (q *inquiry) homes(ctx context.Context, places []found) {
	d := q.p.env.Subject.Corpus.Definition
	if d == nil {
		return
	}
	stored := kube.StorageVersion(d.CRD)
	for i, f := range places {
		isValue := f.effect.sort == "lost" && (f.effect.lacks == "" || f.effect.kept) || f.effect.sort == "changed"
		way := corpus.Pair{From: f.pair.From, To: stored}
		switch {
		case !q.isOpen(f) || !isValue || !q.mayAsk(ctx):
		case f.pair.From == stored:
			places[i].home = q.p.schemaOf(stored).Pattern(f.path)
		case q.p.isOpen(ctx, way):
			if at := q.p.shown(ctx, way, f.subject, f.effect.at); len(at) > 0 {
				places[i].home = q.p.schemaOf(stored).Pattern(fieldpath.Around(at...))
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
