package webhook

import (
	"context"
	"fmt"
	"math"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

const (
	// mostBad is how many objects that a webhook refuses are placed among others on each way.
	mostBad = 4

	// mostSpoiled is how many objects with a value that schemas exclude are tried on each way to find one that is refused, and mostAlone how
	// many of them alone, if they are converted together.
	mostSpoiled, mostAlone = 60, 12
)

// badObject asks for an object that cannot be converted between others that can: for one that the webhook was seen to refuse or, if it
// refuses none that the schema allows, for one that schemas exclude, or one of a version that
// does not exist. A webhook that makes something of it keeps its contract.
func (bs *batches) badObject(ctx SpecContext) {
	bs.standard.sound(ctx)
	bs.dependence.all(ctx) // which asks for objects alone
	tried := 0
	for _, pair := range bs.crossings.pairs(ctx) {
		bad := append(slices.Clone(bs.dependence.lonely[pair]), bs.refusedAlone(ctx, pair)...)
		if len(bad) == 0 {
			bad = bs.refusedSpoiled(ctx, pair)
		}
		for _, object := range bad[:min(len(bad), mostBad)] {
			bs.between(ctx, pair, object)
			tried++
		}
	}
	if tried > 0 {
		return
	}
	pair := bs.crossings.pairs(ctx)[0] // what is sound has one, and of such a version others say the same
	object := bs.stock.base(ctx, pair.From)[0].DeepCopy()
	if !bs.refusesVersion(ctx, pair, object) {
		Skip("not tested: the webhook refused no object that the schemas allow, no malformed one that was tried, and none of the version " + noSuchVersion)
	}
	bs.between(ctx, pair, object)
}

// refusesVersion gives an object a version that does not exist, and reports whether the webhook refuses it, or leaves it out. What it returns as it is, it
// need not know.
func (bs *batches) refusesVersion(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured) bool {
	object.SetGroupVersionKind(object.GroupVersionKind().GroupKind().WithVersion(noSuchVersion))
	x := bs.talk.ask(ctx, bs.standard.reviewVersion(ctx), pair, object)
	alone, failed := x.request.JudgeFailure(x.response)
	return failed && alone.Rejected() == nil || !failed && leavesOut(x)
}

// refusedAlone returns objects that the schema allows and that the webhook was seen to refuse on the way of a pair, each for another reason.
func (bs *batches) refusedAlone(ctx context.Context, pair corpus.Pair) []*unstructured.Unstructured {
	if !bs.definition.generates() {
		return nil
	}
	var refused []*unstructured.Unstructured
	seen := map[string]bool{}
	add := func(object *unstructured.Unstructured, x exchange) {
		if r := (refusal{version: pair.From, object: object, x: x}); x.to == pair.To && r.failed() && !crashed(&x) && !seen[r.words()] {
			seen[r.words()] = true
			refused = append(refused, object)
		}
	}
	for _, r := range bs.stock.pool(ctx, pair.From).refusals {
		add(r.object, r.x)
	}
	objects := bs.stock.each(ctx, pair.From)
	for i, o := range bs.journeys.forth(ctx, pair, objects) {
		if o.raw == nil {
			add(objects[i], o.x)
		}
	}
	return refused
}

// refusedSpoiled returns an object that the webhook refuses although it converts all that the schema allows: it has a number in place of every
// field or, in one place, a value of the right type that few schemas allow.
func (bs *batches) refusedSpoiled(ctx context.Context, pair corpus.Pair) []*unstructured.Unstructured {
	object := slices.MaxFunc(bs.stock.all(ctx, pair.From), func(a, b *unstructured.Unstructured) int { return len(corpus.Leaves(a)) - len(corpus.Leaves(b)) })
	if spoiled, ok := spoil(object); ok && bs.talk.answers(ctx, pair, []*unstructured.Unstructured{spoiled})[0].raw == nil {
		return []*unstructured.Unstructured{spoiled}
	}
	var spoiled []*unstructured.Unstructured
	for _, path := range corpus.Leaves(object) {
		value, _ := corpus.Value(object.Object, path)
		for _, other := range implausible(value) {
			if len(spoiled) < mostSpoiled {
				spoiled = append(spoiled, corpus.With(object, path, other))
			}
		}
	}
	for i, o := range bs.talk.answers(ctx, pair, spoiled) {
		if o.raw == nil || i < mostAlone && bs.dependence.byItself(ctx, pair, spoiled[i]) == nil {
			return spoiled[i : i+1]
		}
	}
	return nil
}

// implausible returns values of the type of another that enums, patterns and limits exclude.
func implausible(value any) []any {
	switch value.(type) {
	case string:
		return []any{"no such value!", ""}
	case int64:
		return []any{int64(-1), int64(math.MaxInt64)}
	}
	return nil
}

// between asks for an object that is refused alone between others, and fails the spec unless the webhook refuses that, too. What is wrong
// with the answer for the object alone is up to other specs.
func (bs *batches) between(ctx context.Context, pair corpus.Pair, bad *unstructured.Unstructured) {
	GinkgoHelper()
	objects := bs.dependence.batch(ctx, pair.From, batched)
	at := batched / 2
	bad = bad.DeepCopy()
	bad.SetName(objects[at].GetName())
	bad.SetUID(objects[at].GetUID())
	objects[at] = bad
	x := bs.talk.ask(ctx, bs.standard.reviewVersion(ctx), pair, objects...)
	together, failed := x.request.JudgeFailure(x.response)
	if failed && together.Rejected() == nil {
		return
	}
	single := bs.talk.ask(ctx, bs.standard.reviewVersion(ctx), pair, bad)
	alone, isRefused := single.request.JudgeFailure(single.response)
	if isRefused && alone.Rejected() != nil {
		Skip(fmt.Sprintf("cannot be judged while %s fails", alone.Rejected().Requirement))
	}
	switch v := x.judgement.Rejected(); {
	case failed:
		x.judgement = together
		bs.exhibits.fail(x, fmt.Sprintf("%s: expected a failure that says why when one object cannot be converted, got %s", x.what, together.Rejected()))
	case v != nil:
		bs.exhibits.fail(x, fmt.Sprintf("%s: expected all objects, or a failure, when object %d cannot be converted, got %s", x.what, at, v))
	case isRefused && bad.GroupVersionKind().Version == pair.From:
		bs.exhibits.fail(x, fmt.Sprintf("%s: expected a failure when object %d of %d cannot be converted, as for it alone (%s), got success", x.what, at, len(objects), single.judgement.Rejected()))
	}
}
