package webhook

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// batches has the specs that ask for several objects at once.
type batches struct {
	judging
	roundTrips *roundTrips
}

// batched and mostBatched are how many objects a batch has whose objects are compared one by one.
const (
	batched     = 5
	mostBatched = 16

	// steadiness is how often an object must be converted in the same way, for a difference to be the fault of its neighbours.
	steadiness = 64

	// repeated is how often the same is asked for again that may come and go, such as a batch in which an object was converted otherwise than alone.
	repeated = 8
)

func batch(env *suites.Env, ch *chapter) {
	Describe("batch", func() {
		env.It(requirement.WebhookBatchIndependent,
			"compares the objects of a batch with the same ones alone, in reverse, and after others", ch.batches.independent)
		env.It(requirement.WebhookBatchMixedVersions,
			"asks for objects of all other versions in one request", ch.batches.mixedVersions)
		env.It(requirement.WebhookBatchSizes,
			"asks for 1, 2, 500 and 1500 objects, and for 500 large ones", ch.batches.sizes)
		env.It(requirement.WebhookBatchEmpty,
			"asks for no objects", ch.batches.empty)
		env.It(requirement.WebhookBatchBadObject,
			"puts an object that cannot be converted between others", ch.batches.badObject)
	})
}

// independent converts objects together, in reverse, each alone, and after one that has what no other has.
func (bs *batches) independent(ctx SpecContext) {
	bs.standard.sound(ctx)
	for _, d := range bs.dependence.all(ctx) {
		if len(d.unsteady) == 0 {
			d = bs.dependence.because(ctx, d)
			bs.env.Found(bs.dependence.differing(d))
			bs.exhibits.fail(d.x, d.message())
		}
	}
	for _, d := range bs.dependence.all(ctx) {
		Skip(fmt.Sprintf("the webhook does not always answer the same request alike, so batches cannot be compared: %s", d.unsteady[0]))
	}
}

func (bs *batches) mixedVersions(ctx SpecContext) {
	bs.routes.needsThree(ctx, "needs objects at three versions, because API servers send no objects that already have the desired version")
	bs.standard.sound(ctx) // so there are objects at every version
	for _, to := range bs.env.Subject.Corpus.Mutual() {
		if from := bs.sources(ctx, to); len(from) > 1 {
			x, d, is := bs.dependence.severalVersions(ctx, to, from)
			if x.judgement.Rejected() != nil {
				bs.dependence.together(ctx)
			}
			bs.standard.expect(ctx, x, "objects of several versions")
			if is {
				d = bs.dependence.because(ctx, d)
				bs.env.Found(bs.dependence.differing(d))
				bs.exhibits.fail(d.x, d.words(to))
			}
		}
	}
}

// sources returns the versions from which the webhook converts to another.
func (bs *batches) sources(ctx context.Context, to string) []string {
	var from []string
	for _, pair := range bs.crossings.pairs(ctx) {
		if pair.To == to {
			from = append(from, pair.From)
		}
	}
	return from
}

// confused returns the requirement that fails because what becomes of an object depends on the others in a request, none of them at the
// desired version. It is empty if none does.
func (bs *batches) confused(ctx context.Context) requirement.ID {
	GinkgoHelper()
	if bs.dependence.dependent(ctx) {
		return requirement.WebhookBatchIndependent
	}
	for _, to := range bs.env.Subject.Corpus.Mutual() {
		if from := bs.sources(ctx, to); len(from) > 1 {
			if x, _, is := bs.dependence.severalVersions(ctx, to, from); is || x.judgement.Rejected() != nil {
				return requirement.WebhookBatchMixedVersions
			}
		}
	}
	return ""
}

// ownVersion asks for objects at their own version, and then for such objects among others. API servers of today do neither.
func (bs *batches) ownVersion(ctx SpecContext) {
	what := bs.roundTrips.identity(ctx)
	bs.standard.sound(ctx)
	bs.effort.tried = 0
	all, _ := bs.trials.against(ctx, what)
	bs.env.Tried(bs.effort.tried)
	bs.trials.report(ctx, what, all)
	found, by := bs.among(ctx)
	if by != "" && !found && len(all) == 0 {
		Skip(fmt.Sprintf("cannot be judged while %s fails: the result for an object depends on others", by))
	}
}

// among asks for objects that already have the desired version between others. It reports whether it found something, and returns the
// requirement by which another finding is explained.
func (bs *batches) among(ctx context.Context) (found bool, by requirement.ID) {
	GinkgoHelper()
	for _, pair := range bs.crossings.pairs(ctx) {
		if bs.definition.oneWay(pair) {
			continue
		}
		own := corpus.Pair{From: pair.To, To: pair.To}
		if bs.dependence.byItself(ctx, own, bs.stock.all(ctx, pair.To)[0]) == nil {
			continue // which the property reports
		}
		x, d, is := bs.dependence.severalVersions(ctx, pair.To, []string{pair.From, pair.To})
		message := ""
		switch v := x.judgement.Rejected(); {
		case v != nil && bs.dependence.refuses(ctx):
			by = requirement.WebhookBatchIndependent
		case v != nil:
			message = fmt.Sprintf("%s: expected objects that are at %s already to be returned unchanged among others, got %s", x.what, pair.To, v)
		case is && by == "":
			if by = bs.confused(ctx); by == "" {
				message = d.words(pair.To)
			}
		}
		if message != "" {
			found = true
			bs.exhibits.violated(bs.env.Severity(none), x, message)
		}
	}
	return found, by
}

// empty asks for nothing. API servers of today never do.
func (bs *batches) empty(ctx SpecContext) {
	bs.standard.sound(ctx)
	for _, pair := range bs.crossings.pairs(ctx) {
		x := bs.talk.ask(ctx, bs.standard.reviewVersion(ctx), pair)
		if v := x.judgement.Rejected(); v != nil {
			bs.exhibits.violated(bs.env.Severity(none), x, fmt.Sprintf("%s: expected success for a request without objects, got %s", x.what, v))
			return
		}
	}
}
