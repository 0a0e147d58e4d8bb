package webhook

import (
	"github.com/crdconform/crdconform/requirement"
)

// rank is lower the more useful a finding is to an author: it is highest in content that was made up, then for a loss of what the other version has
// no field for, where rules in CEL hold, which take other fields to be there, and for null, 0, false or "".
func (p *prober) rank(f found) int {
	rank := 0
	if f.madeUp {
		rank += 8
	}
	if f.effect.lacks != "" && !f.effect.kept {
		rank += 4
	}
	if p.definition.schemaOf(f.pair.From).IsRuled(f.path) {
		rank += 2
	}
	if f.effect.dull {
		rank++
	}
	return rank
}

// isMadeUp reports whether a finding is in content that was made up.
func (p *prober) isMadeUp(f found) bool {
	return p.env.Subject.Corpus.IsMadeUp(f.path, f.pair.From, f.pair.To)
}

// severity is how bad a finding is. No author knows content that was made up.
func (p *prober) severity(f found) requirement.Verdict {
	if f.madeUp {
		return requirement.Tolerated
	}
	return p.env.Severity(f.part)
}
