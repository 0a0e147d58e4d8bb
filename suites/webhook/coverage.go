package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/reports"
)

// cover counts the objects that made the way to the second version of a pair and back, and reports what has been tried so far.
func (p *prober) cover(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, trips []trip) {
	schema := p.definition.schemaOf(pair.From)
	if schema == nil || p.env.Subject.Tried == nil || !p.definition.generates() {
		return
	}
	if p.coverage[pair] == nil {
		p.coverage[pair] = corpus.NewCoverage(schema)
	}
	for i, t := range trips {
		if t.back.object != nil || p.definition.oneWay(pair) && t.there.object != nil {
			p.coverage[pair].Add(objects[i])
		}
	}
	p.reportTried(ctx, pair)
}

// meet counts the kinds of values of objects that were converted, and of which it does not matter what they are then.
func (p *prober) meet(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, outcomes []outcome) {
	counted := p.coverage[pair]
	if counted == nil {
		return // nothing has come back
	}
	for i, o := range outcomes {
		if o.raw != nil {
			counted.Meet(objects[i])
		}
	}
	p.reportTried(ctx, pair)
}

// reportTried reports what has been tried so far, after more was tried at a pair of versions.
func (p *prober) reportTried(ctx context.Context, pair corpus.Pair) {
	report := p.env.Subject.Tried
	var all []reports.Coverage
	var gaps []string
	for _, version := range p.env.Subject.Corpus.Versions {
		if p.stock.pools[version] == nil || p.crossings.isClosed(ctx, version) {
			continue
		}
		one := p.stock.pool(ctx, version)
		found := one.generator.Gaps()
		var whole []corpus.Gap // of objects, which may be why a field has no values
		for _, cause := range slices.Sorted(maps.Keys(one.dropped)) {
			gap := fmt.Sprintf("%d of %d objects at %s, which the webhook does not convert (%s)", one.dropped[cause], one.size, version, cause)
			gaps, whole = append(gaps, gap), append(whole, corpus.Gap{Reason: "it may be in " + gap})
		}
		for _, gap := range found {
			gaps = append(gaps, fmt.Sprintf("%s at %s: %s", gap.Path, version, gap.Reason))
		}
		if one.cut {
			gap := fmt.Sprintf("more of what the webhook rejects at %s, which was not learned", version)
			gaps, whole = append(gaps, gap), append(whole, corpus.Gap{Reason: "it may be " + gap})
		}
		if pair.From == version {
			of := p.coverage[pair].Result(slices.Concat(found, whole)) //nolint:contextcheck // rules are evaluated without waiting for anything
			of.From, of.To = pair.From, pair.To
			p.results[pair] = of
		}
		for _, other := range p.env.Subject.Corpus.Pairs() {
			if of, counted := p.results[other]; counted && other.From == version {
				all = append(all, of)
			}
		}
	}
	report(all, slices.Compact(gaps))
}
