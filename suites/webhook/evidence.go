package webhook

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

const (
	// mostExamples is how many findings are tried for one that an object shows alone, and mostWitnesses how many objects for each other place.
	mostExamples, mostWitnesses = 3, 2

	// mostConfirming is how many requests it may take to confirm the places of a spec. Places that are left after that are named as they are.
	mostConfirming = 200
)

// evidence is what is left of findings once it was looked whether each shows by itself.
type evidence struct {
	named    []found // one for each place, the first of them with the smallest object
	beside   []found // in places where it happens only beside what happens in others
	together bool    // no object shows it that is asked for alone
	memory   memory  // what explains that
}

// places are all places, as lines.
func (e evidence) places() string {
	text := strings.Join(lines(e.named), "\n") + "\n"
	if len(e.beside) > 0 {
		text += "\nOnly beside these:\n" + strings.Join(lines(e.beside), "\n") + "\n"
	}
	return text
}

// evidence looks for the smallest object that shows the first of sorted findings, and whether the others show without it.
func (p *prober) evidence(ctx context.Context, what property, all []found) evidence {
	e := evidence{named: distinct(all)}
	if what.large {
		return e
	}
	if p.talk.isLateHere() {
		e.together = !p.isLateStill(ctx, e.named[0])
		return e
	}
	for i, f := range e.named[:min(len(e.named), mostExamples)] {
		example, is := p.example(ctx, what, f)
		if is {
			e.named = slices.Insert(slices.Delete(e.named, i, i+1), 0, example)
			e.named, e.beside = p.confirmed(ctx, what, e.named, all)
			p.circumstances(ctx, what, e.named)
			p.explain(ctx, what, e.named)
			return e
		}
		if i == 0 {
			p.independently(ctx)
		}
	}
	if e.together = !p.talk.isLateHere(); e.together { // otherwise nothing was asked any more
		e.memory = p.memory(ctx)
		for i := range e.named {
			e.named[i].when = e.memory.when()
			if e.named[i].when == "" && e.named[i].effect.sort != refused {
				e.named[i].when = unexplained
			}
		}
	}
	return e
}

// example returns a finding with the smallest object that has it, and whether that object has it when it is asked for once more, alone.
func (p *prober) example(ctx context.Context, what property, f found) (found, bool) {
	if _, is := p.alone(ctx, what, f, p.talk.renamed(f.subject)); !is {
		return f, false
	}
	smallest := p.smallest(ctx, what, f)
	_, is := p.alone(ctx, what, smallest, p.talk.renamed(smallest.subject))
	return p.plainer(ctx, what, smallest), is
}

// isLateStill asks once more for an object that was not converted in time, and reports whether it is not converted in time again. It may have
// been another that the webhook was at; if that answers nothing any more, there is nothing to learn.
func (p *prober) isLateStill(ctx context.Context, f found) bool {
	if p.connection.silent != nil || !isLate(&f.x) || len(p.standard.plain) == 0 {
		return true
	}
	plain := p.connection.send(ctx, p.standard.plain[0].what, p.standard.plain[0].request, p.standard.plain[0].body)
	if plain.judgement = plain.request.Judge(plain.response); plain.judgement.Rejected() != nil {
		return true
	}
	again := p.talk.ask(ctx, p.talk.spoken(ctx), corpus.Pair{From: f.subject.GroupVersionKind().Version, To: f.x.to}, p.talk.renamed(f.subject))
	return isLate(&again)
}

// confirmed divides places into those that show for an object without what else was found in it, and those that do not: what happens there
// follows from something else. The first is an example that was confirmed before.
func (p *prober) confirmed(ctx context.Context, what property, places, all []found) (named, beside []found) {
	calls, ends := p.talk.calls, p.env.Subject.Ends()
	named = places[:1:1]
	for _, f := range places[1:] {
		shows := f.again == nil && (f.effect.at == "" || what.reversed) // then it was confirmed when it was found, or is about another object
		for n, witness := 0, 0; !shows && n < len(all) && witness < mostWitnesses; n++ {
			if all[n].place() != f.place() {
				continue
			}
			witness++
			if p.talk.calls-calls >= mostConfirming || p.env.Subject.Ends()-ends >= mostFatal || p.budget.spent() || ctx.Err() != nil {
				shows = true // as far as is known
				break
			}
			late := p.talk.late
			if other, is := p.byOneself(ctx, what, all[n], all); is {
				f, shows = other, true
			}
			shows = shows || p.talk.late != late
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
func (p *prober) byOneself(ctx context.Context, what property, f found, all []found) (found, bool) {
	if f.again != nil {
		smallest := p.smallest(ctx, what, f)
		return smallest, true
	}
	schema := p.definition.schemaOf(f.pair.From)
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
	return p.alone(ctx, what, f, p.talk.renamed(less))
}

// alone returns the same finding for an object that is asked for alone, and whether it has it. One that is not answered in time shows nothing
// else, and neither does what is not asked for after that.
func (p *prober) alone(ctx context.Context, what property, f found, object *unstructured.Unstructured) (found, bool) {
	if f.again != nil {
		return f.again(ctx, object)
	}
	late := p.talk.late
	findings := what.check(ctx, f.pair, []*unstructured.Unstructured{object})
	if p.talk.late != late {
		return f, false
	}
	for _, one := range findings {
		again := p.newFound(one, f.pair, object)
		if one.place() == f.place() && p.env.Severity(one.part) == p.env.Severity(f.part) && p.rank(again) <= p.rank(f) {
			return again, true
		}
	}
	return f, false
}

// smallest returns the same finding for the smallest object that has it. It may take the neighbours in the batch, or not come every
// time: then it is returned as it is.
func (p *prober) smallest(ctx context.Context, what property, f found) found {
	f, again := p.alone(ctx, what, f, f.subject)
	if !again {
		return f
	}
	p.shrink(ctx, f.pair.From, f.subject, func(ctx context.Context, candidate *unstructured.Unstructured) bool {
		smaller, still := p.alone(ctx, what, f, candidate)
		if still {
			f = smaller
		}
		return still
	})
	return f
}
