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

// coverage counts which fields have been tried on the way of each pair, and what came of them.
type coverage struct {
	asking
	stock     *stock
	crossings *crossings

	of       map[corpus.Pair]*corpus.Coverage // what was tried
	reported map[corpus.Pair]reports.Coverage // the same as it was reported last
}

// cover counts the objects that made the way to the second version of a pair and back, and reports what has been tried so far.
func (c *coverage) cover(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, trips []trip) {
	schema := c.definition.schemaOf(pair.From)
	if schema == nil || c.env.Subject.Tried == nil || !c.definition.generates() {
		return
	}
	if c.of[pair] == nil {
		c.of[pair] = corpus.NewCoverage(schema)
	}
	for i, t := range trips {
		if t.back.object != nil || c.definition.oneWay(pair) && t.there.object != nil {
			c.of[pair].Add(objects[i])
		}
	}
	c.report(ctx, pair)
}

// meet counts the kinds of values of objects that were converted, and of which it does not matter what they are then.
func (c *coverage) meet(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, outcomes []outcome) {
	counted := c.of[pair]
	if counted == nil {
		return // nothing has come back
	}
	for i, o := range outcomes {
		if o.raw != nil {
			counted.Meet(objects[i])
		}
	}
	c.report(ctx, pair)
}

// report reports what has been tried so far, after more was tried at a pair of versions.
func (c *coverage) report(ctx context.Context, pair corpus.Pair) {
	report := c.env.Subject.Tried
	var all []reports.Coverage
	var gaps []string
	for _, version := range c.env.Subject.Corpus.Versions {
		if c.stock.pools[version] == nil || c.crossings.isClosed(ctx, version) {
			continue
		}
		one := c.stock.pool(ctx, version)
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
			of := c.of[pair].Result(slices.Concat(found, whole)) //nolint:contextcheck // rules are evaluated without waiting for anything
			of.From, of.To = pair.From, pair.To
			c.reported[pair] = of
		}
		for _, other := range c.env.Subject.Corpus.Pairs() {
			if of, counted := c.reported[other]; counted && other.From == version {
				all = append(all, of)
			}
		}
	}
	report(all, slices.Compact(gaps))
}
