package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// requests has the specs about requests that are unlike those for samples.
type requests struct {
	judging
}

func request(env *suites.Env, ch *chapter) {
	Describe("request", func() {
		env.It(requirement.WebhookRequestReviewVersions,
			"asks in ConversionReview v1 and v1beta1", func(ctx SpecContext) {
				v1, v1beta1 := ch.requests.askBare(ctx, "v1"), ch.requests.askBare(ctx, "v1beta1")
				switch {
				case v1.judgement.Rejected() == nil || v1beta1.judgement.Rejected() == nil:
				case v1.unknown() && v1beta1.unknown():
					ch.exhibits.fail(v1, fmt.Sprintf("expected conversion in ConversionReview v1 or v1beta1 to succeed, got HTTP status %d and %d",
						v1.response.Status, v1beta1.response.Status))
				default:
					ch.standard.expect(ctx, v1, "the samples")
				}
			})

		env.It(requirement.WebhookRequestConversionReviewVersions,
			"asks in each version of ConversionReview that the definition lists", ch.requests.listedReviewVersions)

		env.It(requirement.WebhookRequestUnknownReviewVersion,
			"asks in a version of ConversionReview that does not exist", ch.requests.unknownReviewVersion)

		env.It(requirement.WebhookRequestMalformed,
			"sends malformed requests", ch.requests.malformed)

		env.It(requirement.WebhookRequestSurvival,
			"sends malformed requests, and then the samples", ch.requests.survival)

		env.It(requirement.WebhookRequestResponseStub,
			"asks with and without an empty response beside the request", func(ctx SpecContext) {
				for _, x := range ch.standard.exchanges(ctx) {
					if x.judgement.Rejected() == nil {
						continue
					}
					if bare := ch.requests.sendBare(ctx, x.what, x.request); bare.judgement.Rejected() == nil {
						ch.exhibits.rejected(x, fmt.Sprintf("%s: expected the same answer with an empty response beside the request as without, got %s", x.what, x.judgement.Rejected()))
					}
					ch.exhibits.skip(x)
				}
			})

		env.It(requirement.WebhookRequestWithoutResourceVersion,
			"asks for objects without a resourceVersion", func(ctx SpecContext) {
				ch.requests.variant(ctx, "objects without a resourceVersion", func(object *unstructured.Unstructured) {
					object.SetResourceVersion("")
				})
			})

		env.It(requirement.WebhookRequestPartialObjects,
			"asks for objects that lack most fields", ch.requests.partialObjects)
	})
}

// partialObjects asks for what server-side apply takes out of objects: the fields that some manager owns. Those may be
// none, or one.
func (r *requests) partialObjects(ctx SpecContext) {
	r.variant(ctx, "objects without a field of their own", func(object *unstructured.Unstructured) {
		for field := range object.Object {
			if field != "apiVersion" && field != "kind" && field != "metadata" {
				delete(object.Object, field)
			}
		}
	})
	r.variant(ctx, "objects with empty fields", func(object *unstructured.Unstructured) {
		for field, value := range object.Object {
			if _, isMap := value.(map[string]any); isMap && field != "metadata" {
				object.Object[field] = map[string]any{}
			}
		}
	})
	what := r.keeping.converted(r.stock.owned)
	what.mutual = true
	r.trials.hold(ctx, what)
}

// mayBeCreated reports whether the schema of a version allows one of some objects, so that a webhook which breaks down over it breaks down
// over what clients create.
func (r *requests) mayBeCreated(version string, objects []*unstructured.Unstructured) bool {
	schema := r.definition.schemaOf(version)
	return schema == nil || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return len(schema.Problems(o.Object)) == 0 })
}

// askBare asks for the first pair without an empty response beside the request.
func (r *requests) askBare(ctx SpecContext, reviewVersion string) exchange {
	pair := r.routes.ways(ctx)[0]
	r.standard.needsObjects(ctx, pair.From)
	request := r.talk.request(reviewVersion, pair.To, r.stock.base(ctx, pair.From)...)
	return r.sendBare(ctx, fmt.Sprintf("%s in ConversionReview %s", pair, reviewVersion), request)
}

// sendBare sends a request without an empty response beside it.
func (r *requests) sendBare(ctx context.Context, what string, request contract.Request) exchange {
	x := r.connection.send(ctx, what, request, r.bare(request))
	x.judgement = request.Judge(x.response)
	return x
}

// variant asks for changed samples at every pair of versions.
func (r *requests) variant(ctx SpecContext, what string, change func(*unstructured.Unstructured)) {
	GinkgoHelper()
	for _, pair := range r.crossings.pairs(ctx) {
		if r.definition.oneWay(pair) {
			continue // API servers send such objects for what clients write, which is at versions that are served
		}
		objects := r.stock.base(ctx, pair.From)
		for _, object := range objects {
			change(object)
		}
		x := r.talk.ask(ctx, r.standard.reviewVersion(ctx), pair, objects...)
		if crashed(&x) && r.failures.breaksDown(ctx, pair) && r.mayBeCreated(pair.From, objects) {
			Skip(fmt.Sprintf("cannot be judged while %s fails (%s)", requirement.WebhookFailureAvoided, x.what))
		}
		r.standard.expect(ctx, x, what)
	}
}

// bare returns the body without the empty response that API servers put beside the request: the documents' form.
func (r *requests) bare(request contract.Request) []byte {
	body, err := request.Body()
	r.env.Require(err, "building a request")
	var review map[string]json.RawMessage
	r.env.Require(json.Unmarshal(body, &review), "building a request")
	delete(review, "response")
	body, err = json.Marshal(review)
	r.env.Require(err, "building a request")
	return body
}
