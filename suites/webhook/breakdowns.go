package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// breakdowns names the fields over which the webhook converts nothing, and gives objects over which it breaks down the cause of others: it breaks down on
// the way to the same version over what they are at the version of these, as it does over these.
func (q *inquiry) breakdowns(ctx context.Context, places []found) {
	for i, f := range places {
		if f.effect.sort != refused || !q.mayAsk(ctx) {
			continue
		}
		if f.path == "" && f.effect.where == "" && (crashed(&f.x) || violatedBy(f.x) == "") {
			least := f
			if i > 0 { // the first is the example, which is small
				least = q.c.examiner.smallest(ctx, q.what, f)
			}
			places[i].path = q.over(ctx, least)
		}
		if !crashed(&f.x) {
			continue
		}
		from, others := f.subject.GroupVersionKind().Version, places[:i:i]
		if f.again == nil {
			others = append(others, q.c.failures.all(ctx)...)
		}
		for _, known := range others {
			if known.effect.sort != refused || !crashed(&known.x) || known.pair.From == from || known.pair == f.pair {
				continue
			}
			way := corpus.Pair{From: known.pair.From, To: f.x.to}
			if way != known.pair && (way.From == way.To || !q.breaks(ctx, way, known.subject)) {
				continue
			}
			o := q.c.talk.convert(ctx, corpus.Pair{From: from, To: known.pair.From}, []*unstructured.Unstructured{f.subject})[0]
			if o.object == nil || !q.mayAsk(ctx) {
				continue
			}
			if q.breaks(ctx, way, corpus.Restored(f.subject, o.object)) {
				places[i].when, places[i].effect.where = known.when, known.effect.where
				if known.when == "" && known.effect.where == "" {
					places[i].path = known.path // none, if it is about the object as a whole
				}
				break
			}
		}
	}
}

// over returns the field that a finding needs in an object, or the one that all of these are in, at the version that is not converted; empty if there is
// none that need not be there anyway.
func (q *inquiry) over(ctx context.Context, f found) string {
	object := f.subject
	if f.trip == there(f.pair) && f.x.to == f.pair.From { // it is what the object becomes
		o := q.c.talk.convert(ctx, f.pair, []*unstructured.Unstructured{object})[0]
		if o.object == nil {
			return ""
		}
		object = corpus.Restored(object, o.object)
	}
	version := object.GroupVersionKind().Version
	schema := q.c.definition.schemaOf(version)
	given := q.c.failures.free(refusal{version: version, object: object})
	if len(given) == 0 || len(schema.Problems(corpus.Without(object, given[0]).Object)) > 0 {
		return ""
	}
	at := fieldpath.Around(given...)
	if len(given) > 1 && len(fieldpath.Split(at)) < 2 {
		return "" // all that they are in is spec
	}
	return schema.Pattern(at)
}

// breaks reports whether the webhook breaks down over an object.
func (q *inquiry) breaks(ctx context.Context, way corpus.Pair, object *unstructured.Unstructured) bool {
	if !q.mayAsk(ctx) {
		return false
	}
	o := q.c.talk.answers(ctx, way, []*unstructured.Unstructured{object})[0]
	return o.raw == nil && crashed(&o.x)
}
