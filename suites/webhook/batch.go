package webhook

import (
	"encoding/json"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
)

// size is how many objects a batch has in these specs.
const size = 5

func batch(env *suites.Env, p *prober) {
	Describe("batch", func() {
		env.It(requirement.WebhookBatchIndependent,
			"compares the objects of a batch with the same ones alone, and in reverse", func(ctx SpecContext) {
				c := env.Subject.Corpus
				version := p.reviewVersion(ctx)
				for _, pair := range c.Pairs() {
					objects := c.Batch(pair.From, size)
					together := p.ask(ctx, version, pair, objects...)
					slices.Reverse(objects)
					reversed := p.ask(ctx, version, pair, objects...)
					slices.Reverse(objects)
					backwards := p.expect(ctx, reversed, "a batch in reverse")
					for i, converted := range p.expect(ctx, together, "a batch") {
						ask := func() map[string]any {
							return p.decode(p.expect(ctx, p.ask(ctx, version, pair, objects[i]), "an object alone")[0])
						}
						alone := ask()
						p.same(together, i, converted, alone, ask)
						p.same(reversed, size-1-i, backwards[size-1-i], alone, ask)
					}
				}
			})

		env.It(requirement.WebhookBatchMixedVersions,
			"asks for objects of all other versions in one request", func(ctx SpecContext) {
				c := env.Subject.Corpus
				if len(c.Versions) < 3 {
					Skip(fmt.Sprintf("needs objects at three versions, since API servers send none that are at the desired one already; there are %d", len(c.Versions)))
				}
				for _, to := range c.Versions {
					var mixed []*unstructured.Unstructured
					for _, from := range c.Versions {
						if from != to {
							mixed = append(mixed, c.Batch(from, 2)...)
						}
					}
					x := p.ask(ctx, p.reviewVersion(ctx), corpus.Pair{From: "all others", To: to}, mixed...)
					p.expect(ctx, x, "objects of several versions")
				}
			})
	})
}

// same fails the spec unless an object of a batch was converted as it is when it is asked for alone. A webhook that
// answers otherwise every time makes no difference between the two.
func (p *prober) same(x exchange, i int, together json.RawMessage, alone map[string]any, again func() map[string]any) {
	GinkgoHelper()
	differences := differencesOf(alone, p.decode(together))
	if len(differences) == 0 {
		return
	}
	if again := differencesOf(alone, again()); len(again) > 0 {
		Skip(fmt.Sprintf("the webhook answers the same request otherwise every time, so batches cannot be compared: %s", again[0]))
	}
	p.fail(x, fmt.Sprintf("%s: object %d of %d: expected the same as alone: %s", x.what, i, size, lines(differences)))
}

// decode decodes an object, integers as such.
func (p *prober) decode(raw json.RawMessage) map[string]any {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	p.env.Require(object.UnmarshalJSON(raw), "decoding an object")
	return object.Object
}
