package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

const (
	// editedObjects and editsPerObject bound how many changes are tried at each pair of versions.
	editedObjects  = 6
	editsPerObject = 12
)

// edits is the property of objects to keep what a client changes at the other version. An object at the second version of
// the pair comes from the first, as it does for a client, is changed in one field, and goes back and forth.
func (p *prober) edits() property {
	return property{p.edited, func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		other := corpus.Pair{From: pair.To, To: pair.From}
		others := p.styled(ctx, pair.To, corpus.Plain, editedObjects)
		seen := map[string]bool{}
		var changed []*unstructured.Unstructured
		var origins []int
		for i, o := range p.convert(ctx, pair, objects) {
			if o.object == nil {
				continue
			}
			for _, variant := range p.variants(pair.To, restored(objects[i], o.object), others, seen) {
				changed = append(changed, variant)
				origins = append(origins, i)
			}
		}
		usual := p.usual(ctx)
		way := fmt.Sprintf("%s, changed there -> %s -> %s", pair, pair.From, pair.To)
		var findings []finding
		for j, t := range p.roundTrip(ctx, other, changed) {
			if t.back.object == nil {
				continue
			}
			for _, l := range p.lost(other, changed[j].Object, t.back.object) {
				if l.After == nil || strings.HasPrefix(l.Path, "metadata.") {
					continue // what is lost whole is lost without any change too, and metadata is the webhook's
				}
				f := finding{origins[j], there(other), p.schemaOf(other.From).Place(l.Path), l.String(), partOf(l), t.back.x}
				if usual[f.place()] || !p.losesAlone(ctx, other, changed[j], f) {
					continue // it is lost without any change too, or because of the others in the request
				}
				f.trip = way
				findings = append(findings, f)
			}
		}
		return findings
	}}
}

// losesAlone reports whether an object loses the same when it is asked for alone.
func (p *prober) losesAlone(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, f finding) bool {
	t := p.roundTrip(ctx, pair, []*unstructured.Unstructured{object})[0]
	return t.back.object != nil && slices.ContainsFunc(p.lost(pair, object.Object, t.back.object), func(l corpus.Loss) bool { return p.schemaOf(pair.From).Place(l.Path) == f.path })
}

// edited returns the objects to change.
func (p *prober) edited(ctx context.Context, version string) []*unstructured.Unstructured {
	all := p.all(ctx, version)
	return all[:min(len(all), editedObjects)]
}

// variants returns an object with one leaf changed in each, to the value that some other object has there. Each place is
// changed once.
func (p *prober) variants(version string, object *unstructured.Unstructured, others []*unstructured.Unstructured, seen map[string]bool) []*unstructured.Unstructured {
	var variants []*unstructured.Unstructured
	schema := p.schemaOf(version)
	problems := schema.Problems(object.Object)
	for _, path := range corpus.Leaves(object) {
		place := fieldpath.Generalize(path)
		if seen[place] || len(variants) == editsPerObject || !corpus.MaySolve(problems, path) {
			continue
		}
		for _, other := range others {
			variant, different := corpus.Exchange(object, other, path)
			if different && len(schema.Problems(variant.Object)) == 0 {
				seen[place] = true
				variants = append(variants, variant)
				break
			}
		}
	}
	return variants
}
