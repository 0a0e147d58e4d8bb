package webhook

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func request(env *suites.Env, p *prober) {
	Describe("request", func() {
		env.It(requirement.WebhookRequestReviewVersions,
			"asks in ConversionReview v1 and v1beta1", func(ctx SpecContext) {
				v1, v1beta1 := p.askBare(ctx, "v1"), p.askBare(ctx, "v1beta1")
				switch {
				case v1.judgement.Rejected() == nil || v1beta1.judgement.Rejected() == nil:
				case v1.unknown() && v1beta1.unknown():
					p.exhibits.fail(v1, fmt.Sprintf("expected conversion in ConversionReview v1 or v1beta1 to succeed, got HTTP status %d and %d",
						v1.response.Status, v1beta1.response.Status))
				default:
					p.standard.expect(ctx, v1, "the samples")
				}
			})

		env.It(requirement.WebhookRequestConversionReviewVersions,
			"asks in each version of ConversionReview that the definition lists", p.listedReviewVersions)

		env.It(requirement.WebhookRequestUnknownReviewVersion,
			"asks in a version of ConversionReview that does not exist", p.unknownReviewVersion)

		env.It(requirement.WebhookRequestMalformed,
			"sends malformed requests", p.malformed)

		env.It(requirement.WebhookRequestSurvival,
			"sends malformed requests, and then the samples", p.survival)

		env.It(requirement.WebhookRequestResponseStub,
			"asks with and without an empty response beside the request", func(ctx SpecContext) {
				for _, x := range p.standard.exchanges(ctx) {
					if x.judgement.Rejected() == nil {
						continue
					}
					if bare := p.sendBare(ctx, x.what, x.request); bare.judgement.Rejected() == nil {
						p.exhibits.fail(x, fmt.Sprintf("%s: expected the same answer with an empty response beside the request as without, got %s", x.what, x.judgement.Rejected()))
					}
					p.exhibits.skip(x)
				}
			})

		env.It(requirement.WebhookRequestWithoutResourceVersion,
			"asks for objects without a resourceVersion", func(ctx SpecContext) {
				p.variant(ctx, "objects without a resourceVersion", func(object *unstructured.Unstructured) {
					object.SetResourceVersion("")
				})
			})

		env.It(requirement.WebhookRequestPartialObjects,
			"asks for objects that lack most fields", p.partialObjects)
	})
}

// partialObjects asks for what server-side apply takes out of objects: the fields that some manager owns. Those may be
// none, or one.
func (p *prober) partialObjects(ctx SpecContext) {
	p.variant(ctx, "objects without a field of their own", func(object *unstructured.Unstructured) {
		for field := range object.Object {
			if field != "apiVersion" && field != "kind" && field != "metadata" {
				delete(object.Object, field)
			}
		}
	})
	p.variant(ctx, "objects with empty fields", func(object *unstructured.Unstructured) {
		for field, value := range object.Object {
			if _, isMap := value.(map[string]any); isMap && field != "metadata" {
				object.Object[field] = map[string]any{}
			}
		}
	})
	what := p.converted(p.stock.owned)
	what.mutual = true
	p.trials.hold(ctx, what)
}

// mayBeCreated reports whether the schema of a version allows one of some objects, so that a webhook which breaks down over it breaks down
// over what clients create.
func (p *prober) mayBeCreated(version string, objects []*unstructured.Unstructured) bool {
	schema := p.definition.schemaOf(version)
	return schema == nil || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return len(schema.Problems(o.Object)) == 0 })
}

// askBare asks for the first pair without an empty response beside the request.
func (p *prober) askBare(ctx SpecContext, reviewVersion string) exchange {
	pair := p.routes.ways(ctx)[0]
	p.standard.needsObjects(ctx, pair.From)
	request := p.talk.request(reviewVersion, pair.To, p.stock.base(ctx, pair.From)...)
	return p.sendBare(ctx, fmt.Sprintf("%s in ConversionReview %s", pair, reviewVersion), request)
}

// sendBare sends a request without an empty response beside it.
func (p *prober) sendBare(ctx context.Context, what string, request contract.Request) exchange {
	x := p.connection.send(ctx, what, request, p.bare(request))
	x.judgement = request.Judge(x.response)
	return x
}

// variant asks for changed samples at every pair of versions.
func (p *prober) variant(ctx SpecContext, what string, change func(*unstructured.Unstructured)) {
	GinkgoHelper()
	for _, pair := range p.crossings.pairs(ctx) {
		if p.definition.oneWay(pair) {
			continue // API servers send such objects for what clients write, which is at versions that are served
		}
		objects := p.stock.base(ctx, pair.From)
		for _, object := range objects {
			change(object)
		}
		x := p.talk.ask(ctx, p.standard.reviewVersion(ctx), pair, objects...)
		if crashed(&x) && p.failures.breaksDown(ctx, pair) && p.mayBeCreated(pair.From, objects) {
			Skip(fmt.Sprintf("cannot be judged while %s fails (%s)", requirement.WebhookFailureAvoided, x.what))
		}
		p.standard.expect(ctx, x, what)
	}
}
