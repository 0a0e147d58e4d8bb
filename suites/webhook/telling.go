package webhook

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// findings puts what was found into the order and the severity in which authors read it.
type findings struct {
	asking
}

// newFound returns a finding with its object, and marks it if it is in content that was made up.
func (fs *findings) newFound(f finding, pair corpus.Pair, subject *unstructured.Unstructured) found {
	one := found{finding: f, pair: pair, subject: subject, when: f.effect.when}
	if one.madeUp = fs.env.Subject.Corpus.IsMadeUp(f.path, pair.From, pair.To); one.madeUp {
		one.message += corpus.MadeUpNote
	}
	return one
}

// severity is how bad a finding is. No author knows content that was made up.
func (fs *findings) severity(f found) requirement.Verdict {
	if f.madeUp {
		return requirement.Tolerated
	}
	return fs.env.Severity(f.part)
}

// fails reports whether any of what was found is not Tolerated.
func (fs *findings) fails(all []found) bool {
	return slices.ContainsFunc(all, func(f found) bool { return fs.severity(f) != requirement.Tolerated })
}

// rank is lower the more useful a finding is to an author: it is highest in content that was made up, then for a loss of what the other version has
// no field for, where rules in CEL hold, which take other fields to be there, and for null, 0, false or "".
func (fs *findings) rank(f found) int {
	rank := 0
	if f.madeUp {
		rank += 8
	}
	if f.effect.lacks != "" && !f.effect.kept {
		rank += 4
	}
	if fs.definition.schemaOf(f.pair.From).IsRuled(f.path) {
		rank += 2
	}
	if f.effect.dull {
		rank++
	}
	return rank
}

// sorted returns what was found in the order in which authors are to read it: the most informative first, and of that what small objects
// show, of which there is least to take away.
func (fs *findings) sorted(all []found) []found {
	ranks, sizes := make(map[int]int, len(all)), map[*unstructured.Unstructured]int{}
	order := make([]int, len(all))
	for i, f := range all {
		order[i], ranks[i] = i, fs.rank(f)
		if _, known := sizes[f.subject]; !known {
			sizes[f.subject] = size(f.subject)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(ranks[a]-ranks[b], sizes[all[a].subject]-sizes[all[b].subject])
	})
	sorted := make([]found, 0, len(all))
	for _, at := range order {
		sorted = append(sorted, all[at])
	}
	return sorted
}
