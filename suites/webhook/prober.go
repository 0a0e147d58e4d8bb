package webhook

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// prober converses with the webhook under test on behalf of all specs of the area. What several specs look at is asked
// once.
type prober struct {
	env *suites.Env

	tick    time.Duration       // after which the same is asked for again, see pure
	stale   map[string]*earlier // by version, see earlier
	counted bool                // whether they were reported

	definition *definition
	budget     *budget
	exhibits   *exhibits
	connection *connection
	talk       *conversation
	routes     *routes
	stock      *stock
	crossings  *crossings
	standard   *standards
	coverage   *coverage
	journeys   *journeys
	losses     *losses
	effort     *effort
	survivors  *survivors
	failures   *failures
	dependence *dependence
	recall     *recall
	findings   *findings
	examiner   *examiner
	trials     *trials
	keeping    *keeping
}

// bare returns the body without the empty response that API servers put beside the request: the documents' form.
func (p *prober) bare(request contract.Request) []byte {
	body, err := request.Body()
	p.env.Require(err, "building a request")
	var review map[string]json.RawMessage
	p.env.Require(json.Unmarshal(body, &review), "building a request")
	delete(review, "response")
	body, err = json.Marshal(review)
	p.env.Require(err, "building a request")
	return body
}

// judge is the body of specs for what the judge looks at: the requirement is kept in all standard exchanges and in those of
// generated objects, or the spec fails, or it says why that cannot be judged.
func (p *prober) judge(ctx context.Context, id requirement.ID) {
	GinkgoHelper()
	var tolerated *exchange
	for _, x := range slices.Concat(p.standard.exchanges(ctx), p.generated(ctx)) {
		violations := x.judgement.Of(id)
		if slices.ContainsFunc(violations, rejected) {
			p.failOver(ctx, x, id)
		}
		if len(violations) > 0 && tolerated == nil {
			tolerated = &x
		}
	}
	for _, x := range p.standard.exchanges(ctx) {
		if !x.judgement.Judged(id) {
			p.exhibits.skip(x)
		}
	}
	if tolerated != nil {
		p.exhibits.violated(requirement.Tolerated, *tolerated, described(*tolerated, tolerated.judgement.Of(id)))
	}
}

// generated returns the exchanges for the generated objects of each pair of versions: those that the webhook converted, and those whose
// response API servers would reject, the smallest of the mixed ones. Failures are left to refusals.
func (p *prober) generated(ctx context.Context) []exchange {
	if !p.definition.generates() || p.standard.unsound(ctx) != nil {
		return nil
	}
	var all []exchange
	for _, pair := range p.crossings.pairs(ctx) {
		for _, o := range p.journeys.forth(ctx, pair, p.stock.each(ctx, pair.From)) {
			isJudged := o.object != nil || !refusal{x: o.x}.failed()
			if last := len(all) - 1; isJudged && (last < 0 || all[last].request.UID != o.x.request.UID) {
				all = append(all, o.x)
			}
		}
	}
	for _, version := range p.env.Subject.Corpus.Versions {
		for _, r := range p.stock.pool(ctx, version).refusals {
			if !r.failed() {
				all = append(all, r.x)
			}
		}
	}
	return all
}
