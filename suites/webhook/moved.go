package webhook

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// widen finds the widest fields whose parts all move in the same way.
func (c *common) widen(moves map[string]move) {
	for place, m := range moves {
		steps, others := fieldpath.Split(place), fieldpath.Split(m.into)
		for len(steps) > 1 && len(others) > 1 && steps[len(steps)-1] == others[len(others)-1] {
			steps, others = steps[:len(steps)-1], others[:len(others)-1]
		}
		whole := fieldpath.Join(steps)
		for equal := range c.equal {
			if fieldpath.Within(equal, whole) {
				whole = place
			}
		}
		c.whole[place] = whole
	}
}

// moved returns what moves as findings: fields that change places are one, and so are the parts of a field.
func (e *equality) moved(pair corpus.Pair, c *common, moves map[string]move) []finding {
	ways := map[way]move{}
	for _, place := range slices.Sorted(maps.Keys(moves)) {
		m := moves[place]
		whole := cmp.Or(c.whole[place], place)
		into := strings.TrimSuffix(m.into, strings.TrimPrefix(place, whole))
		if _, known := ways[way{whole, into}]; !known {
			ways[way{whole, into}] = m
		}
	}
	var findings []finding
	for w, m := range ways {
		if _, back := ways[way{w.into, w.path}]; back {
			c.swaps[w], c.swaps[way{w.into, w.path}] = true, true
		}
		if c.swaps[w] && w.into < w.path {
			continue
		}
		m.message += fmt.Sprintf("; what is in %s at %s is in %s at %s", w.path, pair.From, w.into, pair.To)
		if c.swaps[w] {
			m.message += ", and the reverse"
		}
		m.message += e.haveBoth(pair, w.path, w.into)
		if m.part != none {
			m.message += fmt.Sprintf("; if that is meant, declare {path: %s, into: %s} under moved", w.path, w.into)
		}
		m.path, m.effect = w.path, effect{sort: moved, into: w.into, swaps: c.swaps[w]}
		findings = append(findings, m.finding)
	}
	slices.SortFunc(findings, func(a, b finding) int { return strings.Compare(a.path, b.path) })
	return findings
}

// haveBoth says which versions have both of two fields.
func (e *equality) haveBoth(pair corpus.Pair, path, into string) string {
	if e.p.definition.schemaOf(pair.From).Has(into) && e.p.definition.schemaOf(pair.To).Has(path) {
		return ", though both versions have both"
	}
	return fmt.Sprintf(", though %s has %s too", pair.To, path)
}

// isMeant reports whether the user said that a field has other values at the other version, or, where into is a field, that its value is in
// that one.
func (e *equality) isMeant(pair corpus.Pair, path, into string) bool {
	meant := e.p.env.Subject.Meant
	if meant == nil {
		return e.p.losses.declared(pair, path)
	}
	reason, declared := meant(pair.From, pair.To, path, into)
	if declared {
		fmt.Fprintf(GinkgoWriter, "%s: %s is declared to be another: %s\n", pair, path, reason)
	}
	return declared || e.p.losses.declared(pair, path)
}
