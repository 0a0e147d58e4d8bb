package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
)

// examiner asks for objects alone: for the smallest one that has a finding, and for what in the metadata of that it takes.
type examiner struct {
	asking
	findings *findings
}

const (
	// mostWitnesses is how many objects are tried for each other place.
	mostWitnesses = 2

	// mostConfirming is how many requests it may take to confirm the places of a spec. Places that are left after that are named as they are.
	mostConfirming = 200
)

// example returns a finding with the smallest object that has it, and whether that object has it when it is asked for once more, alone.
func (x *examiner) example(ctx context.Context, what property, f found) (found, bool) {
	if _, is := x.alone(ctx, what, f, x.talk.renamed(f.subject)); !is {
		return f, false
	}
	smallest := x.smallest(ctx, what, f)
	_, is := x.alone(ctx, what, smallest, x.talk.renamed(smallest.subject))
	return x.plainer(ctx, what, smallest), is
}

// confirmed divides places into those that show for an object without what else was found in it, and those that do not: what happens there
// follows from something else. The first is an example that was confirmed before.
func (x *examiner) confirmed(ctx context.Context, what property, places, all []found) (named, beside []found) {
	confirming := x.talk.atMost(mostConfirming)
	witnesses := map[string][]found{}
	for _, f := range all {
		if place := f.place(); len(witnesses[place]) < mostWitnesses {
			witnesses[place] = append(witnesses[place], f)
		}
	}
	named = places[:1:1]
	for _, f := range places[1:] {
		shows := f.again == nil && (f.effect.at == "" || what.reversed) // then it was confirmed when it was found, or is about another object
		for _, witness := range witnesses[f.place()] {
			if shows {
				break
			}
			if confirming.isReached() || x.budget.spent() || ctx.Err() != nil {
				shows = true // as far as is known
				break
			}
			late := x.talk.late
			if other, is := x.byOneself(ctx, what, witness, all); is {
				f, shows = other, true
			}
			shows = shows || x.talk.late != late
		}
		if shows {
			named = append(named, f)
		} else {
			beside = append(beside, f)
		}
	}
	return named, beside
}

// byOneself returns a finding for its object without what was found elsewhere in that, and whether that has it.
func (x *examiner) byOneself(ctx context.Context, what property, f found, all []found) (found, bool) {
	if f.again != nil {
		smallest := x.smallest(ctx, what, f)
		return smallest, true
	}
	schema := x.definition.schemaOf(f.pair.From)
	less := f.subject
	for _, other := range all {
		at := other.effect.at
		if other.subject != f.subject || other.pair.From != f.pair.From || at == "" || other.place() == f.place() || fieldpath.Within(at, f.effect.at) || fieldpath.Within(f.effect.at, at) {
			continue
		}
		if _, is := corpus.Value(less.Object, at); !is {
			continue
		}
		without := corpus.Without(less, at)
		if schema != nil {
			schema.Prepare(without.Object)
		}
		if len(schema.Problems(without.Object)) == 0 {
			less = without
		}
	}
	return x.alone(ctx, what, f, x.talk.renamed(less))
}

// alone returns the same finding for an object that is asked for alone, and whether it has it. One that is not answered in time shows nothing
// else, and neither does what is not asked for after that.
func (x *examiner) alone(ctx context.Context, what property, f found, object *unstructured.Unstructured) (found, bool) {
	if f.again != nil {
		return f.again(ctx, object)
	}
	late := x.talk.late
	findings := what.check(ctx, f.pair, []*unstructured.Unstructured{object})
	if x.talk.late != late {
		return f, false
	}
	for _, one := range findings {
		again := x.findings.newFound(one, f.pair, object)
		if one.place() == f.place() && x.env.Severity(one.part) == x.env.Severity(f.part) && x.findings.rank(again) <= x.findings.rank(f) {
			return again, true
		}
	}
	return f, false
}

// smallest returns the same finding for the smallest object that has it. It may take the neighbours in the batch, or not come every
// time: then it is returned as it is.
func (x *examiner) smallest(ctx context.Context, what property, f found) found {
	f, again := x.alone(ctx, what, f, f.subject)
	if !again {
		return f
	}
	x.shrink(ctx, f.pair.From, f.subject, func(ctx context.Context, candidate *unstructured.Unstructured) bool {
		smaller, still := x.alone(ctx, what, f, candidate)
		if still {
			f = smaller
		}
		return still
	})
	return f
}

// shrink looks for the smallest object like one given that still does something, within the time budget. What does it has to note it.
func (x *examiner) shrink(ctx context.Context, version string, object *unstructured.Unstructured, does func(context.Context, *unstructured.Unstructured) bool) {
	schema := x.definition.schemaOf(version)
	if schema == nil || x.connection.isSilent() || x.talk.isLateHere() {
		return
	}
	within, cancel := x.budget.withinBudget(ctx)
	defer cancel()
	before := x.env.Subject.Ends()
	defer x.env.Spending(suites.SpentShrinking)()
	schema.Shrink(within, object, func(_ context.Context, candidate *unstructured.Unstructured) bool {
		// Once one was not answered in time, nothing more is asked, which says nothing of others.
		return within.Err() == nil && x.env.Subject.Ends()-before < mostFatal && !x.talk.isLateHere() && does(ctx, candidate)
	})
}
