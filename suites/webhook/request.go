package webhook

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
)

func request(env *suites.Env, p *prober) {
	Describe("request", func() {
		env.It(requirement.WebhookRequestReviewVersions,
			"asks in ConversionReview v1 and v1beta1", func(ctx SpecContext) {
				v1, v1beta1 := p.askBare(ctx, "v1"), p.askBare(ctx, "v1beta1")
				switch {
				case v1.judgement.Rejected() == nil || v1beta1.judgement.Rejected() == nil:
				case v1.unknown() && v1beta1.unknown():
					p.fail(v1, fmt.Sprintf("expected it to convert when asked in v1 or v1beta1, got HTTP status %d and %d",
						v1.response.Status, v1beta1.response.Status))
				default:
					p.expect(ctx, v1, "the samples")
				}
			})

		env.It(requirement.WebhookRequestResponseStub,
			"asks with and without an empty response beside the request", func(ctx SpecContext) {
				for _, x := range p.standard(ctx) {
					if x.judgement.Rejected() == nil {
						continue
					}
					if bare := p.askBare(ctx, x.request.ReviewVersion); bare.judgement.Rejected() == nil {
						p.fail(x, fmt.Sprintf("%s: expected the same answer with an empty response beside the request as without, got %s", x.what, x.judgement.Rejected()))
					}
					p.skip(x)
				}
			})

		env.It(requirement.WebhookRequestWithoutResourceVersion,
			"asks for objects without a resourceVersion", func(ctx SpecContext) {
				p.variant(ctx, "objects without a resourceVersion", func(object *unstructured.Unstructured) {
					object.SetResourceVersion("")
				})
			})

		env.It(requirement.WebhookRequestPartialObjects,
			"asks for objects that have metadata and nothing else", func(ctx SpecContext) {
				p.variant(ctx, "objects without a field of their own", func(object *unstructured.Unstructured) {
					for field := range object.Object {
						if field != "apiVersion" && field != "kind" && field != "metadata" {
							delete(object.Object, field)
						}
					}
				})
			})
	})
}

// askBare asks for the first pair without an empty response beside the request.
func (p *prober) askBare(ctx SpecContext, reviewVersion string) exchange {
	c := p.env.Subject.Corpus
	pair := c.Pairs()[0]
	request := p.request(reviewVersion, pair.To, c.Objects(pair.From)...)
	x := p.send(ctx, fmt.Sprintf("%s in ConversionReview %s", pair, reviewVersion), request, p.bare(request))
	x.judgement = request.Judge(x.response)
	return x
}

// variant asks for changed samples at every pair of versions.
func (p *prober) variant(ctx SpecContext, what string, change func(*unstructured.Unstructured)) {
	GinkgoHelper()
	c := p.env.Subject.Corpus
	for _, pair := range c.Pairs() {
		objects := c.Objects(pair.From)
		for _, object := range objects {
			change(object)
		}
		p.expect(ctx, p.ask(ctx, p.reviewVersion(ctx), pair, objects...), what)
	}
}
