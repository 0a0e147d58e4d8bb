package webhook

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func response(env *suites.Env, p *prober) {
	judged := func(id requirement.ID, text string) {
		env.It(id, text, func(ctx SpecContext) { p.judge(ctx, id) })
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
