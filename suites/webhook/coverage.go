package webhook

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/reports"
)

// cover counts the objects that made the way to the second version of a pair and back, and tells what has been tried so far.
func (p *prober) cover(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, trips []trip) {
	schema, tell := p.schemaOf(pair.From), p.env.Subject.Tried
	if schema == nil || tell == nil || !p.generates() {
		return
	}
	if p.coverage[pair] == nil {
		p.coverage[pair] = corpus.NewCoverage(schema)
	}
	for i, t := range trips {
		if t.back.object != nil {
			p.coverage[pair].Add(objects[i])
		}
	}
	var all []reports.Coverage
	var gaps []string
	for _, version := range p.env.Subject.Corpus.Versions {
		if p.pools[version] == nil {
			continue
		}
		found := p.pool(ctx, version).generator.Gaps()
		for _, gap := range found {
			gaps = append(gaps, fmt.Sprintf("%s at %s: %s", gap.Path, version, gap.Reason))
		}
		for _, pair := range p.env.Subject.Corpus.Pairs() {
			if counted := p.coverage[pair]; counted != nil && pair.From == version {
				of := counted.Result(found)
				of.From, of.To = pair.From, pair.To
				all = append(all, of)
			}
		}
	}
	tell(all, slices.Compact(gaps))
}
