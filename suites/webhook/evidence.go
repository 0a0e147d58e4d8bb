package webhook

import (
	"context"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/corpus"
)

// gathering looks for the evidence of what a spec found: what shows by itself, and what that takes.
type gathering struct {
	material
	dependence *dependence
	recall     *recall
	examiner   *examiner
	causes     *causes
}

// mostExamples is how many findings are tried for one that an object shows alone.
const mostExamples = 3

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
func (g *gathering) evidence(ctx context.Context, what property, all []found) evidence {
	e := evidence{named: distinct(all)}
	if what.large {
		return e
	}
	if g.talk.isLateHere() {
		e.together = !g.isLateStill(ctx, e.named[0])
		return e
	}
	if e.memory = g.recall.bySize(ctx); len(e.memory.by) > 0 { // whatever an object shows alone
		return e.remembered()
	}
	for i, f := range e.named[:min(len(e.named), mostExamples)] {
		example, is := g.examiner.example(ctx, what, f)
		if is {
			e.named = slices.Insert(slices.Delete(e.named, i, i+1), 0, example)
			e.named, e.beside = g.examiner.confirmed(ctx, what, e.named, all)
			g.examiner.circumstances(ctx, what, e.named)
			g.causes.explain(ctx, what, e.named)
			return e
		}
		if i == 0 {
			g.dependence.independently(ctx)
		}
	}
	if g.talk.isLateHere() {
		return e // nothing was asked any more
	}
	e.memory = g.recall.memory(ctx)
	return e.remembered()
}

// remembered is the evidence of what no object shows alone, with what explains it.
func (e evidence) remembered() evidence {
	e.together = true
	for i := range e.named {
		e.named[i].when = e.memory.when()
		if e.named[i].when == "" && e.named[i].effect.sort != refused {
			e.named[i].when = unexplained
		}
	}
	return e
}

// isLateStill asks once more for an object that was not converted in time, and reports whether it is not converted in time again. It may have
// been another that the webhook was at; if that answers nothing any more, there is nothing to learn.
func (g *gathering) isLateStill(ctx context.Context, f found) bool {
	if g.connection.isSilent() || !isLate(&f.x) || !g.standard.convertsStill(ctx) {
		return true
	}
	again := g.talk.ask(ctx, g.talk.spoken(ctx), corpus.Pair{From: f.subject.GroupVersionKind().Version, To: f.x.to}, g.talk.renamed(f.subject))
	return isLate(&again)
}
