package webhook

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// responses has the specs about what the judge looks at in each response.
type responses struct {
	material
}

func response(env *suites.Env, ch *chapter) {
	judged := func(id requirement.ID, text string) {
		env.It(id, text, func(ctx SpecContext) { ch.responses.judge(ctx, id) })
	}

	Describe("response", func() {
		judged(requirement.WebhookResponseInTime, "waits for each response")
		judged(requirement.WebhookResponseHTTPStatus, "looks at the HTTP status of each response")
		judged(requirement.WebhookResponseContentType, "looks at the content type of each response")
		judged(requirement.WebhookResponseBody, "decodes the body of each response")
		judged(requirement.WebhookResponseReviewKind, "looks at the kind of each response")
		judged(requirement.WebhookResponseReviewVersion, "compares the versions of ConversionReview")
		judged(requirement.WebhookResponseStanza, "looks for the response in each ConversionReview")
		judged(requirement.WebhookResponseLean, "looks for the request in each response")
		judged(requirement.WebhookResponseUID, "compares the uids of request and response")
		judged(requirement.WebhookResponseStatus, "looks at the result of each conversion")
		judged(requirement.WebhookResponseAllObjects, "counts the converted objects")
		judged(requirement.WebhookResponseOrder, "compares the order of the objects")
		judged(requirement.WebhookResponseAPIVersion, "looks at the apiVersion of each object")
		judged(requirement.WebhookResponseKind, "compares the kind of each object")
	})

	Describe("permissible mutations", func() {
		judged(requirement.WebhookMetadataPresent, "looks for the metadata of each object")
		judged(requirement.WebhookMetadataName, "compares the name of each object")
		judged(requirement.WebhookMetadataNamespace, "compares the namespace of each object")
		judged(requirement.WebhookMetadataUID, "compares the UID of each object")
		judged(requirement.WebhookMetadataUnchanged, "compares the other metadata of each object")
		judged(requirement.WebhookMetadataLabelsValid, "looks at changed labels and annotations of each object")
	})
}

// talks skips the spec unless the webhook answers with a ConversionReview where there is nothing to fail.
func (rs *responses) talks(ctx SpecContext) {
	GinkgoHelper()
	for _, x := range rs.standard.exchanges(ctx) {
		if !x.judgement.Judged(requirement.WebhookResponseLean) {
			rs.exhibits.skip(x)
		}
	}
}

// judge is the body of specs for what the judge looks at: the requirement is kept in all standard exchanges and in those of
// generated objects, or the spec fails, or it says why that cannot be judged.
func (rs *responses) judge(ctx context.Context, id requirement.ID) {
	GinkgoHelper()
	var tolerated *exchange
	for _, x := range slices.Concat(rs.standard.exchanges(ctx), rs.generated(ctx)) {
		violations := x.judgement.Of(id)
		if slices.ContainsFunc(violations, rejected) {
			rs.failOver(ctx, x, id)
		}
		if len(violations) > 0 && tolerated == nil {
			tolerated = &x
		}
	}
	for _, x := range rs.standard.exchanges(ctx) {
		if !x.judgement.Judged(id) {
			rs.exhibits.skip(x)
		}
	}
	if tolerated != nil {
		rs.exhibits.violated(requirement.Tolerated, *tolerated, described(*tolerated, tolerated.judgement.Of(id)))
	}
}

// generated returns the exchanges for the generated objects of each pair of versions: those that the webhook converted, and those whose
// response API servers would reject, the smallest of the mixed ones. Failures are left to refusals.
func (rs *responses) generated(ctx context.Context) []exchange {
	if !rs.definition.generates() || rs.standard.unsound(ctx) != nil {
		return nil
	}
	var all []exchange
	for _, pair := range rs.crossings.pairs(ctx) {
		for _, o := range rs.journeys.forth(ctx, pair, rs.stock.each(ctx, pair.From)) {
			isJudged := o.object != nil || !refusal{x: o.x}.failed()
			if last := len(all) - 1; isJudged && (last < 0 || all[last].request.UID != o.x.request.UID) {
				all = append(all, o.x)
			}
		}
	}
	for _, version := range rs.env.Subject.Corpus.Versions {
		for _, r := range rs.stock.pool(ctx, version).refusals {
			if !r.failed() {
				all = append(all, r.x)
			}
		}
	}
	return all
}
