package webhook

import (
	"context"
	"strings"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/kube"
)

// homes finds out which fields of the stored version show what is lost or changed, or grows, at others, where the field has another name.
func (q *inquiry) homes(ctx context.Context, places []found) {
	d := q.c.env.Subject.Corpus.Definition
	if d == nil {
		return
	}
	stored := kube.StorageVersion(d.CRD)
	for i, f := range places {
		at := f.pair
		if q.what.reversed {
			at = reverse(at)
		}
		way := corpus.Pair{From: at.From, To: stored}
		switch {
		case !f.isUnmeant() && f.effect.sort != grows || f.when != "" || strings.HasPrefix(f.path, "metadata"):
		case at.From == stored:
			places[i].home = q.c.definition.schemaOf(stored).Pattern(f.path)
		case q.isOpen(f) && q.mayAsk(ctx) && q.c.routes.isOpen(ctx, way):
			places[i].home = q.homeOf(ctx, f, way)
		}
	}
}

// homeOf returns the field of the stored version that shows what is lost or changed; if none does, as where the webhook fills it in, the one of the
// same name in what shows the object around it. It is empty if neither is known.
func (q *inquiry) homeOf(ctx context.Context, f found, way corpus.Pair) string {
	schema := q.c.definition.schemaOf(way.To)
	if at := q.c.survivors.shown(ctx, way, f.subject, f.effect.at); len(at) > 0 {
		return schema.Pattern(fieldpath.Around(at...))
	}
	steps := fieldpath.Split(f.effect.at)
	last := len(steps) - 1
	if last == 0 || steps[last].List || !q.mayAsk(ctx) {
		return ""
	}
	at := q.c.survivors.shown(ctx, way, f.subject, fieldpath.Join(steps[:last]))
	if len(at) == 0 {
		return ""
	}
	shows := fieldpath.Around(at...)
	for _, in := range []string{shows, around(shows)} { // if all that shows is the field, the second
		if home := fieldpath.Child(in, steps[last].Key); schema.Has(home) {
			return schema.Pattern(home)
		}
	}
	return ""
}
