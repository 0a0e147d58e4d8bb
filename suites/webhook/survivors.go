package webhook

import (
	"context"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// survivors returns the places from which a value comes back on the way of a pair, with all places around them.
func (p *prober) survivors(ctx context.Context, pair corpus.Pair) map[string]bool {
	if known := p.surviving[pair]; known != nil {
		return known
	}
	schema, surviving := p.schemaOf(pair.From), map[string]bool{}
	objects := p.each(ctx, pair.From)
	for i, t := range p.roundTrip(ctx, pair, objects) {
		if t.back.object == nil {
			continue
		}
		for _, path := range schema.Surviving(objects[i], t.back.object) {
			for place := path; place != "" && !surviving[place]; place = around(place) {
				surviving[place] = true
			}
		}
	}
	if ctx.Err() == nil {
		p.surviving[pair] = surviving
	}
	return surviving
}

// around is the place that another is in.
func around(place string) string {
	steps := fieldpath.Split(place)
	return fieldpath.Join(steps[:len(steps)-1])
}

// lostWhole returns the widest place around a loss, from the field on that the other version lacks, from which nothing comes back in any
// object. It is empty if other values of the field itself come back: then the other version has it under another name.
func (p *prober) lostWhole(ctx context.Context, f found) string {
	schema, surviving := p.schemaOf(f.pair.From), p.survivors(ctx, f.pair)
	widest := len(fieldpath.Split(f.effect.lacks))
	steps := fieldpath.Split(schema.Place(f.path))
	for n := widest; n <= len(steps); n++ {
		if place := fieldpath.Join(steps[:n]); !surviving[place] {
			return place
		}
	}
	return ""
}
