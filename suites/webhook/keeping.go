package webhook

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// keeping is about what objects keep on the way to another version and back.
type keeping struct {
	material
	effort    *effort
	survivors *survivors
	failures  *failures

	losing map[string]bool // the places in which objects without anything special about them lose something, nil before they are known
}

// kept is the property of objects to come back from another version as they were.
func (k *keeping) kept(objects func(ctx context.Context, version string) []*unstructured.Unstructured) property {
	return k.keptOf(objects, nil, func(corpus.Loss) bool { return true })
}

// keptOf is the same for losses that count, in places that are not usual. That objects without anything special about them are not
// converted is reported by webhook.failure.avoided.
func (k *keeping) keptOf(objects func(ctx context.Context, version string) []*unstructured.Unstructured, usual map[string]bool, counts func(l corpus.Loss) bool) property {
	return property{objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		way := there(pair)
		trips := k.journeys.roundTrip(ctx, pair, objects)
		if len(objects) > 1 && !k.stock.areKnown(pair.From, objects) { // an object alone is one that is made smaller
			k.coverage.cover(ctx, pair, objects, trips)
		}
		var findings []finding
		by := hinted
		if usual == nil {
			by = probing
		}
		forth := k.losses.forthOnly(pair, objects, by)
		breaks := sync.OnceValue(func() bool { return k.failures.breaksDown(ctx, reverse(pair)) })
		for i, t := range trips {
			switch {
			case k.definition.oneWay(pair) && t.there.object != nil:
				k.effort.tried++
				for _, l := range forth(ctx, i, t) {
					if f := (finding{i, pair.String(), k.definition.schemaOf(pair.From).Place(l.Path), l.String() + k.losses.lacks(pair, l), partOf(l), t.there.x, k.losses.effectBy(pair, l, t.there.object)}); !usual[f.place()] && counts(l) {
						findings = append(findings, f)
					}
				}
			case t.back.object == nil && t.there.object != nil && crashed(&t.back.x) && breaks():
			case t.there.object == nil:
				if f := (finding{i, way, "", fmt.Sprintf("conversion failed: %s", t.there.x.judgement.Rejected()), none, t.there.x, effect{sort: refused}}); usual != nil && crashed(&t.there.x) && !usual[f.place()] {
					findings = append(findings, f)
				}
			case t.back.object == nil:
				if f := (finding{i, way, "", fmt.Sprintf("conversion of its own result failed: %s", t.back.x.judgement.Rejected()), none, t.back.x, effect{sort: refused}}); !usual[f.place()] {
					findings = append(findings, f)
				}
			default:
				k.effort.tried++
				for _, l := range k.losses.lost(pair, objects[i].Object, t.back.object) {
					if f := (finding{i, way, k.definition.schemaOf(pair.From).Place(l.Path), l.String() + k.losses.lacks(pair, l), partOf(l), t.back.x, k.losses.effectBy(pair, l, t.back.object)}); !usual[f.place()] && counts(l) {
						findings = append(findings, f)
					}
				}
			}
		}
		return findings
	}}
}

// usual returns the places in which objects without anything special about them lose something, and the ways on which the webhook breaks
// down over one.
func (k *keeping) usual(ctx context.Context) map[string]bool {
	if k.losing != nil {
		return k.losing
	}
	losing := map[string]bool{}
	defer func(tried int) { k.effort.tried = tried }(k.effort.tried) // of the spec that asks
	what := k.kept(k.stock.each)
	for _, pair := range k.crossings.pairs(ctx) {
		for _, f := range what.check(ctx, pair, what.objects(ctx, pair.From)) {
			losing[f.place()] = true
		}
	}
	for _, f := range k.failures.all(ctx) {
		if crashed(&f.x) {
			losing[finding{trip: there(f.pair)}.place()] = true
		}
	}
	if ctx.Err() == nil {
		k.losing = losing
	}
	return losing
}

// specially is the property of objects of a style to come back as they were, but for what is lost whatever the style: blames
// reports whether a loss has to do with it.
func (k *keeping) specially(ctx context.Context, style corpus.Style, blames func(corpus.Loss) bool) property {
	usual := k.usual(ctx)
	what := k.keptOf(func(ctx context.Context, version string) []*unstructured.Unstructured {
		return k.stock.styled(ctx, version, style, stylish)
	}, usual, blames)
	check := what.check
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		findings := check(ctx, pair, objects)
		for i := range findings {
			// What a default fills in again is no value that was kept: nothing else comes back from such a field.
			findings[i].effect.kept = findings[i].effect.lacks != "" && k.survivors.on(ctx, pair).Has(findings[i].path)
		}
		return findings
	}
	return what
}

// converted is the property of objects to be converted at all. Where the webhook breaks down over objects without anything special about
// them, it is not held against others.
func (k *keeping) converted(objects func(ctx context.Context, version string) []*unstructured.Unstructured) property {
	met := map[corpus.Pair]bool{} // objects are made smaller later on
	return property{objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		outcomes := k.talk.answers(ctx, pair, objects)
		if !met[pair] {
			met[pair] = true
			k.coverage.meet(ctx, pair, objects, outcomes)
		}
		for i, o := range outcomes {
			k.effort.tried++
			if o.raw == nil && (!crashed(&o.x) || k.crossings.isClosed(ctx, pair.From) || !k.usual(ctx)[finding{trip: there(pair)}.place()]) {
				findings = append(findings, finding{i, pair.String(), "", fmt.Sprintf("conversion failed: %s", o.x.judgement.Rejected()), none, o.x, effect{sort: refused}})
			}
		}
		return findings
	}}
}
