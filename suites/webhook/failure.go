package webhook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func failure(env *suites.Env, p *prober) {
	Describe("failure", func() {
		env.It(requirement.WebhookFailureAvoided, "looks for failures in the conversion of valid objects", func(ctx SpecContext) {
			p.judge(ctx, requirement.WebhookFailureAvoided)
			p.refusals(ctx)
		})

		provoked := func(id requirement.ID, text string) {
			env.It(id, text, func(ctx SpecContext) {
				x := p.provoke(ctx)
				violations := x.judgement.Of(id)
				switch {
				case slices.ContainsFunc(violations, rejected):
					p.talks(ctx)
					p.fail(x, described(x, violations))
				case !x.judgement.Judged(id):
					p.skip(x)
				case len(violations) > 0:
					p.violated(requirement.Tolerated, x, described(x, violations))
				}
			})
		}
		provoked(requirement.WebhookFailureStatus, "provokes a failure and looks at the result")
		provoked(requirement.WebhookFailureUID, "provokes a failure and compares the uids of request and response")
	})
}

// refusals reports generated objects that the webhook did not convert. A webhook that broke down over one fails, and so does
// one that refuses an object with nothing in it. One that requires values that the schema does not require is Tolerated:
// clients are free to write others, but few will.
func (p *prober) refusals(ctx SpecContext) {
	GinkgoHelper()
	if !p.generates() || p.unsound(ctx) != nil {
		return
	}
	var all []found
	for _, version := range p.env.Subject.Corpus.Versions {
		for _, r := range p.pool(ctx, version).refusals {
			if !r.failed() {
				continue // for the requirement that its response violates
			}
			pair := corpus.Pair{From: r.version, To: r.x.to}
			path := strings.Join(corpus.Leaves(r.object), ", ")
			message := fmt.Sprintf("conversion failed for an object that the schema allows, with %s: %s", cmp.Or(path, "nothing in it"), r.x.judgement.Rejected())
			part := none
			if !crashed(&r.x) && (r.settled || len(corpus.Leaves(r.object)) > 0) {
				part = requirement.PartRefusedValue
			}
			all = append(all, found{finding{0, pair.String(), path, message, part, r.x}, pair, r.object})
		}
	}
	p.report(ctx, p.converted(nil), all)
}

// talks skips the spec unless the webhook answers with a ConversionReview where there is nothing to fail.
func (p *prober) talks(ctx SpecContext) {
	GinkgoHelper()
	for _, x := range p.standard(ctx) {
		if !x.judgement.Judged(requirement.WebhookResponseLean) {
			p.skip(x)
		}
	}
}

// provoke asks for what cannot be converted: for the documents' CronTabs a hostPort without a port, and for any object a
// version that does not exist. It returns the exchange with the judgement of the failure, and skips the spec when the
// webhook says that it converted them.
func (p *prober) provoke(ctx SpecContext) exchange {
	c := p.env.Subject.Corpus
	version := p.reviewVersion(ctx)
	if c.Documented {
		object := c.Objects("v1beta1")[0]
		object.Object["hostPort"] = "localhost"
		x := p.ask(ctx, version, corpus.Pair{From: "v1beta1", To: "v1"}, object)
		if judgement, failed := x.request.JudgeFailure(x.response); failed {
			x.judgement = judgement
			return x
		}
	}
	from := c.Versions[0]
	x := p.ask(ctx, version, corpus.Pair{From: from, To: "v0nosuchversion"}, p.base(ctx, from)[0])
	judgement, failed := x.request.JudgeFailure(x.response)
	if !failed {
		Skip("the webhook claims to convert even to the version v0nosuchversion, so no failure can be provoked")
	}
	x.judgement = judgement
	return x
}
