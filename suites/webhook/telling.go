package webhook

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// madeUp ends the message of a finding in content that was made up.
const madeUp = " (made up: the schema does not say what is there; give a sample that has it)"

// rank is lower the more useful a finding is to an author: it is highest in content that was made up, then for a loss of what the other version has
// no field for, where rules in CEL hold, which take other fields to be there, and for null, 0, false or "".
func (p *prober) rank(f found) int {
	rank := 0
	if p.isMadeUp(f) {
		rank += 8
	}
	if f.effect.lacks != "" && !f.effect.kept {
		rank += 4
	}
	if p.schemaOf(f.pair.From).IsRuled(f.path) {
		rank += 2
	}
	if f.effect.dull {
		rank++
	}
	return rank
}

// isMadeUp reports whether a finding is in content that neither a schema nor a sample has: below x-kubernetes-preserve-unknown-fields.
func (p *prober) isMadeUp(f found) bool {
	return !p.schemaOf(f.pair.From).Describes(f.path) && !p.schemaOf(f.pair.To).Describes(f.path) &&
		!slices.ContainsFunc(p.env.Subject.Corpus.Objects(f.pair.From), func(sample *unstructured.Unstructured) bool {
			_, there := corpus.Value(sample.Object, f.path)
			return there
		})
}
