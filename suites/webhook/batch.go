package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// batched and mostBatched are how many objects a batch has whose objects are compared one by one.
const (
	batched     = 5
	mostBatched = 16

	// steadiness is how often an object must be converted in the same way, for a difference to be the fault of its neighbours.
	steadiness = 64

	// repeated is how often a batch is asked for again in which an object was converted otherwise than alone.
	repeated = 8
)

func batch(env *suites.Env, p *prober) {
	Describe("batch", func() {
		env.It(requirement.WebhookBatchIndependent,
			"compares the objects of a batch with the same ones alone, in reverse, and after others", p.independent)
		env.It(requirement.WebhookBatchMixedVersions,
			"asks for objects of all other versions in one request", p.mixedVersions)
		env.It(requirement.WebhookBatchSizes,
			"asks for 1, 2, 500 and 1500 objects, and for 500 large ones", p.sizes)
		env.It(requirement.WebhookBatchEmpty,
			"asks for no objects", p.empty)
		env.It(requirement.WebhookBatchBadObject,
			"puts an object that cannot be converted between others", p.badObject)
	})
}

// independent converts objects together, in reverse, each alone, and after one that has what no other has.
func (p *prober) independent(ctx SpecContext) {
	p.standard.sound(ctx)
	for _, d := range p.dependencies(ctx) {
		if len(d.unsteady) == 0 {
			d = p.because(ctx, d)
			p.env.Found(p.differing(d))
			p.exhibits.fail(d.x, d.message())
		}
	}
	for _, d := range p.dependencies(ctx) {
		Skip(fmt.Sprintf("the webhook does not always answer the same request alike, so batches cannot be compared: %s", d.unsteady[0]))
	}
}

// fewLines returns the first losses as the lines of a message.
func fewLines(losses []corpus.Loss) string {
	text := lossLines(losses[:min(len(losses), mostTold)])
	if more := len(losses) - mostTold; more > 0 {
		text += fmt.Sprintf("\nand %d more places like this", more)
	}
	return text
}

// dependent reports whether what becomes of an object depends on the others in the request.
func (p *prober) dependent(ctx context.Context) bool {
	return slices.ContainsFunc(p.dependencies(ctx), func(d dependency) bool { return len(d.unsteady) == 0 })
}

// independently skips the spec if what becomes of an object depends on others: what is found then need not show for the object alone.
func (p *prober) independently(ctx context.Context) {
	GinkgoHelper()
	if p.dependent(ctx) {
		Skip("cannot be judged while webhook.batch.independent fails: the result for an object depends on others")
	}
}

// dependency is an object that was converted otherwise together with others than it was alone.
type dependency struct {
	pair     corpus.Pair
	apart    []corpus.Loss // the difference from the same object alone
	unsteady []corpus.Loss // the difference between two conversions of the object alone: then it is not a dependency
	refused  bool          // the objects convert alone, and not together
	at       int           // in the request
	x        exchange
	when     string // what of the request matters, see because
}

// dependencies returns the first such object of each pair of versions. It is found out once for all specs.
func (p *prober) dependencies(ctx context.Context) []dependency {
	if p.depending != nil {
		return *p.depending
	}
	found := []dependency{}
	for _, pair := range p.crossings.pairs(ctx) {
		if d, ok := p.dependency(ctx, pair); ok {
			found = append(found, d)
		}
	}
	if ctx.Err() == nil {
		p.depending = &found
	}
	return found
}

func (p *prober) dependency(ctx context.Context, pair corpus.Pair) (dependency, bool) {
	objects := namesakes(p.batch(ctx, pair.From, max(batched, min(len(p.stock.all(ctx, pair.From)), mostBatched))))
	backwards := slices.Clone(objects)
	slices.Reverse(backwards)
	together, reversed := p.talk.ask(ctx, p.standard.reviewVersion(ctx), pair, objects...), p.talk.ask(ctx, p.standard.reviewVersion(ctx), pair, backwards...)
	if together.judgement.Rejected() != nil || reversed.judgement.Rejected() != nil {
		return dependency{pair: pair, x: together, refused: true}, together.judgement.Rejected() != nil && p.refusedTogether(ctx, pair, objects)
	}
	last := len(objects) - 1
	singly := make([]json.RawMessage, len(objects))
	for i, object := range objects {
		alone := p.byItself(ctx, pair, object)
		singly[i] = alone
		if alone == nil {
			p.lonely[pair] = append(p.lonely[pair], object)
			continue
		}
		for _, d := range []dependency{{at: i, x: together}, {at: last - i, x: reversed}} {
			if d.apart = p.apart(pair, alone, d.x.judgement.Objects[d.at]); len(d.apart) > 0 {
				d.pair = pair
				d.unsteady = p.otherwise(ctx, d, object, alone)
				return d, true
			}
		}
	}
	number := crowd
	if pair == p.crossings.pairs(ctx)[0] {
		number = mostTogether // once is enough for what takes so many
	}
	if d, is := p.crowded(ctx, pair, number); is {
		return d, true
	}
	return p.traces(ctx, pair, objects, singly)
}

// namesakes gives every second object the name of the one before, in another namespace.
func namesakes(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for i, object := range objects {
		if i%2 == 1 && object.GetNamespace() != "" && objects[i-1].GetNamespace() == object.GetNamespace() {
			object.SetName(objects[i-1].GetName())
			object.SetNamespace("other")
		}
	}
	return objects
}

// traces looks in objects for what the webhook keeps of others: each is asked for again after one that has labels, annotations and entries
// of maps that no other has. What they were converted to before is given. Objects that the webhook met before show nothing new.
func (p *prober) traces(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured, singly []json.RawMessage) (dependency, bool) {
	word := fmt.Sprintf("trace-%d", p.talk.calls)
	most := slices.MaxFunc(objects, func(a, b *unstructured.Unstructured) int { return len(corpus.Leaves(a)) - len(corpus.Leaves(b)) })
	marked := p.talk.answers(ctx, pair, []*unstructured.Unstructured{p.definition.schemaOf(pair.From).Marked(most, word)})[0]
	if marked.raw == nil {
		return dependency{}, false
	}
	for i, o := range p.talk.answers(ctx, pair, objects) {
		if !bytes.Contains(o.raw, []byte(word)) {
			continue
		}
		d := dependency{pair: pair, at: i, x: p.talk.ask(ctx, p.talk.spoken(ctx), pair, objects[i])}
		if d.at = 0; d.x.judgement.Rejected() == nil {
			d.apart, d.x.before = p.apart(pair, singly[i], d.x.judgement.Objects[0]), &marked.x
		}
		if len(d.apart) > 0 {
			return d, true
		}
	}
	return dependency{}, false
}

// refusedTogether reports whether objects that are not converted together are converted alone, and whether it is them rather than
// their number: as many copies of one are converted.
func (p *prober) refusedTogether(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) bool {
	copies := p.talk.ask(ctx, p.standard.reviewVersion(ctx), pair, corpus.Multiply(objects[:1], len(objects))...)
	return copies.judgement.Rejected() == nil && !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return p.byItself(ctx, pair, o) == nil })
}

// byItself is what an object converts to when it is asked for alone, nil when it is not converted.
func (p *prober) byItself(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured) json.RawMessage {
	return p.talk.answers(ctx, pair, []*unstructured.Unstructured{object})[0].raw
}

// unsteady returns how an object is converted otherwise when it is asked for alone once more, and again. It is nil if it never is.
func (p *prober) unsteady(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, alone json.RawMessage) []corpus.Loss {
	for range steadiness {
		if lost := p.apart(pair, alone, p.byItself(ctx, pair, object)); len(lost) > 0 {
			return lost
		}
	}
	return nil
}

// otherwise is what unsteady returns of an object that is converted otherwise among others; and the difference from that if it is converted
// as alone once the same batch is asked for again: it was the time, or what was asked before, and not the others.
func (p *prober) otherwise(ctx context.Context, d dependency, object *unstructured.Unstructured, alone json.RawMessage) []corpus.Loss {
	if lost := p.unsteady(ctx, d.pair, object, alone); len(lost) > 0 {
		return lost
	}
	for range repeated {
		again := p.talk.ask(ctx, d.x.request.ReviewVersion, d.pair, p.exhibits.sent(&d.x)...)
		if again.judgement.Rejected() != nil || len(p.apart(d.pair, alone, again.judgement.Objects[d.at])) > 0 {
			return nil
		}
	}
	return d.apart
}

// apart returns the differences between two conversions of an object. Nil is one that failed.
func (p *prober) apart(pair corpus.Pair, a, b json.RawMessage) []corpus.Loss {
	if bytes.Equal(a, b) {
		return nil
	}
	return p.definition.schemaOf(pair.To).Differences(p.exhibits.decode(a), p.exhibits.decode(b))
}

// batch returns a number of objects of a version with names of their own.
func (p *prober) batch(ctx context.Context, version string, n int) []*unstructured.Unstructured {
	return corpus.Multiply(p.stock.all(ctx, version), n)
}

func (p *prober) mixedVersions(ctx SpecContext) {
	p.routes.needsThree(ctx, "needs objects at three versions, because API servers send no objects that already have the desired version")
	p.standard.sound(ctx) // so there are objects at every version
	for _, to := range p.env.Subject.Corpus.Mutual() {
		if from := p.sources(ctx, to); len(from) > 1 {
			x, d, is := p.severalVersions(ctx, to, from)
			p.standard.expect(ctx, x, "objects of several versions")
			if is {
				d = p.because(ctx, d)
				p.env.Found(p.differing(d))
				p.exhibits.fail(d.x, d.words(to))
			}
		}
	}
}

// sources returns the versions from which the webhook converts to another.
func (p *prober) sources(ctx context.Context, to string) []string {
	var from []string
	for _, pair := range p.crossings.pairs(ctx) {
		if pair.To == to {
			from = append(from, pair.From)
		}
	}
	return from
}

// confused returns the requirement that fails because what becomes of an object depends on the others in a request, none of them at the
// desired version. It is empty if none does.
func (p *prober) confused(ctx context.Context) requirement.ID {
	GinkgoHelper()
	if p.dependent(ctx) {
		return requirement.WebhookBatchIndependent
	}
	for _, to := range p.env.Subject.Corpus.Mutual() {
		if from := p.sources(ctx, to); len(from) > 1 {
			if x, _, is := p.severalVersions(ctx, to, from); is || x.judgement.Rejected() != nil {
				return requirement.WebhookBatchMixedVersions
			}
		}
	}
	return ""
}

// ownVersion asks for objects at their own version, and then for such objects among others. API servers of today do neither.
func (p *prober) ownVersion(ctx SpecContext) {
	what := p.identity(ctx)
	p.standard.sound(ctx)
	p.effort.came = 0
	all, _ := p.against(ctx, what)
	p.env.Tried(p.effort.came)
	p.report(ctx, what, all)
	found, by := p.among(ctx)
	if by != "" && !found && len(all) == 0 {
		Skip(fmt.Sprintf("cannot be judged while %s fails: the result for an object depends on others", by))
	}
}

// among asks for objects that already have the desired version between others. It reports whether it found something, and returns the
// requirement by which another finding is explained.
func (p *prober) among(ctx context.Context) (found bool, by requirement.ID) {
	GinkgoHelper()
	for _, pair := range p.crossings.pairs(ctx) {
		if p.definition.oneWay(pair) {
			continue
		}
		own := corpus.Pair{From: pair.To, To: pair.To}
		if p.byItself(ctx, own, p.stock.all(ctx, pair.To)[0]) == nil {
			continue // which the property reports
		}
		x, d, is := p.severalVersions(ctx, pair.To, []string{pair.From, pair.To})
		message := ""
		switch v := x.judgement.Rejected(); {
		case v != nil:
			message = fmt.Sprintf("%s: expected objects that are at %s already to be returned unchanged among others, got %s", x.what, pair.To, v)
		case is && by == "":
			if by = p.confused(ctx); by == "" {
				message = d.words(pair.To)
			}
		}
		if message != "" {
			found = true
			p.exhibits.violated(p.env.Severity(none), x, message)
		}
	}
	return found, by
}

// severalVersions asks for objects at several versions, and returns the first that is converted otherwise than alone.
func (p *prober) severalVersions(ctx context.Context, to string, from []string) (exchange, dependency, bool) {
	GinkgoHelper()
	var mixed []*unstructured.Unstructured
	for _, version := range from {
		mixed = append(mixed, p.batch(ctx, version, 2)...)
	}
	mixed = corpus.Multiply(shuffled(mixed), len(mixed)) // each has a name of its own, or nobody could say which is which
	x := p.talk.ask(ctx, p.standard.reviewVersion(ctx), corpus.Pair{From: strings.Join(from, " and "), To: to}, mixed...)
	if x.judgement.Rejected() != nil {
		return x, dependency{}, false
	}
	for i, object := range mixed {
		pair := corpus.Pair{From: object.GroupVersionKind().Version, To: to}
		alone := p.byItself(ctx, pair, object)
		if lost := p.apart(pair, alone, x.judgement.Objects[i]); alone != nil && len(lost) > 0 && len(p.unsteady(ctx, pair, object, alone)) == 0 {
			return x, dependency{pair: pair, apart: lost, at: i, x: x}, true
		}
	}
	return x, dependency{}, false
}

// words say which object of several versions is converted otherwise than alone.
func (d dependency) words(to string) string {
	return fmt.Sprintf("%s: object %d of %d, which is at %s: expected the same as alone at %s: %s%s", d.x.what, d.at, len(d.x.request.Objects), d.pair.From, to, fewLines(d.apart), d.only())
}

// shuffled returns objects in an order in which those of one version are not next to each other, and the versions are not sorted.
func shuffled(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var others []*unstructured.Unstructured
	for start := range 2 {
		for i := len(objects) - 1 - start; i >= 0; i -= 2 {
			others = append(others, objects[i])
		}
	}
	return others
}

// empty asks for nothing. API servers of today never do.
func (p *prober) empty(ctx SpecContext) {
	p.standard.sound(ctx)
	for _, pair := range p.crossings.pairs(ctx) {
		x := p.talk.ask(ctx, p.standard.reviewVersion(ctx), pair)
		if v := x.judgement.Rejected(); v != nil {
			p.exhibits.violated(p.env.Severity(none), x, fmt.Sprintf("%s: expected success for a request without objects, got %s", x.what, v))
			return
		}
	}
}
