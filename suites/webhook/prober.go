package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// prober converses with the webhook under test on behalf of all specs of the area. What several specs look at is asked
// once.
type prober struct {
	env *suites.Env

	tick         time.Duration                                            // after which the same is asked for again, see pure
	firsts       map[string]exchange                                      // by review version, see first
	plain        []exchange                                               // see standard
	pools        map[string]*pool                                         // by version, see pool
	unwanted     map[string][]refusal                                     // see refusedSamples
	losing       map[string]bool                                          // see usual
	trips        map[corpus.Pair][]trip                                   // of all objects, see roundTrip
	surviving    map[corpus.Pair]map[string]bool                          // see survivors
	travelled    time.Time                                                // when the last of the trips ended
	everything   map[string][]*unstructured.Unstructured                  // by version, see each
	mixed        map[string]int                                           // by version, how many of everything are those of all
	special      map[string]map[corpus.Style][]*unstructured.Unstructured // by version, objects with one field each, whose value is of the style
	coverage     map[corpus.Pair]*corpus.Coverage                         // see cover
	results      map[corpus.Pair]reports.Coverage                         // of coverage, as they were reported last
	stale        map[string]*earlier                                      // by version, see earlier
	counted      bool                                                     // whether they were reported
	depending    *[]dependency                                            // see dependencies
	remembered   *memory                                                  // see memory
	lonely       map[corpus.Pair][]*unstructured.Unstructured             // objects of batches that were converted, and are not alone
	failing      *[]found                                                 // see failures
	closed       *[]found                                                 // see unconverted
	shut         *[]found                                                 // see refusedWays
	came         int                                                      // how many objects have made the way that a spec is about: its effective trials
	declarations map[string]bool                                          // that were reported, by spec and place

	definition *definition
	budget     *budget
	exhibits   *exhibits
	connection *connection
	talk       *conversation
}

// samples asks for the basic objects of a pair as they are.
func (p *prober) samples(ctx context.Context, reviewVersion string, pair corpus.Pair) exchange {
	x := p.talk.ask(ctx, reviewVersion, pair, p.base(ctx, pair.From)...)
	p.connection.notice(&x)
	p.connection.noticeLength(&x)
	return x
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

// objects skips the running spec when there is nothing to convert at a version: an empty request proves nothing.
func (p *prober) objects(ctx context.Context, version string) {
	GinkgoHelper()
	if len(p.base(ctx, version)) == 0 {
		Skip(fmt.Sprintf("there are no samples at %s and no object could be generated; give samples", version))
	}
}

// first returns the exchange for the first pair of versions in a version of ConversionReview.
func (p *prober) first(ctx context.Context, reviewVersion string) exchange {
	GinkgoHelper()
	for _, version := range p.env.Subject.Corpus.Mutual() {
		p.objects(ctx, version)
	}
	p.open(ctx)
	if p.firsts == nil {
		p.firsts = map[string]exchange{}
	}
	if _, known := p.firsts[reviewVersion]; !known {
		p.firsts[reviewVersion] = p.samples(ctx, reviewVersion, p.ways(ctx)[0])
	}
	return p.firsts[reviewVersion]
}

// reviewVersions returns the versions of ConversionReview to use. It need not know both: v1beta1 is used where it works,
// and v1 unless it is refused outright and v1beta1 works.
func (p *prober) reviewVersions(ctx context.Context) []string {
	v1, v1beta1 := p.first(ctx, "v1"), p.first(ctx, "v1beta1")
	switch {
	case v1beta1.judgement.Rejected() != nil:
		return []string{"v1"}
	case v1.refused():
		return []string{"v1beta1"}
	}
	return []string{"v1", "v1beta1"}
}

// reviewVersion returns the first version of ConversionReview to use.
func (p *prober) reviewVersion(ctx context.Context) string { return p.reviewVersions(ctx)[0] }

// standard returns one exchange for each pair of versions and each version of ConversionReview, with all samples in it.
func (p *prober) standard(ctx context.Context) []exchange {
	if p.plain == nil {
		var plain []exchange
		for _, reviewVersion := range p.reviewVersions(ctx) {
			for _, pair := range p.pairs(ctx) {
				plain = append(plain, p.samples(ctx, reviewVersion, pair))
			}
		}
		p.plain = plain // all or nothing: the spec may be stopped in between
		if at := slices.IndexFunc(plain, func(x exchange) bool { return x.judgement.Rejected() == nil }); at >= 0 {
			p.connection.proven = plain[at].body
		}
	}
	return p.plain
}

// judge is the body of specs for what the judge looks at: the requirement is kept in all standard exchanges and in those of
// generated objects, or the spec fails, or it says why that cannot be judged.
func (p *prober) judge(ctx context.Context, id requirement.ID) {
	GinkgoHelper()
	var tolerated *exchange
	for _, x := range slices.Concat(p.standard(ctx), p.generated(ctx)) {
		violations := x.judgement.Of(id)
		if slices.ContainsFunc(violations, rejected) {
			p.failOver(ctx, x, id)
		}
		if len(violations) > 0 && tolerated == nil {
			tolerated = &x
		}
	}
	for _, x := range p.standard(ctx) {
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
	if !p.definition.generates() || p.unsound(ctx) != nil {
		return nil
	}
	var all []exchange
	for _, pair := range p.pairs(ctx) {
		for _, o := range p.forth(ctx, pair, p.each(ctx, pair.From)) {
			isJudged := o.object != nil || !refusal{x: o.x}.failed()
			if last := len(all) - 1; isJudged && (last < 0 || all[last].request.UID != o.x.request.UID) {
				all = append(all, o.x)
			}
		}
	}
	for _, version := range p.env.Subject.Corpus.Versions {
		for _, r := range p.pool(ctx, version).refusals {
			if !r.failed() {
				all = append(all, r.x)
			}
		}
	}
	return all
}

// sound skips the spec unless the webhook converts the samples as they are: otherwise other specs say what is wrong.
func (p *prober) sound(ctx context.Context) {
	GinkgoHelper()
	if x := p.unsound(ctx); x != nil {
		p.exhibits.skip(*x)
	}
}

// unsound returns the first exchange of samples that API servers would reject, nil if there is none.
func (p *prober) unsound(ctx context.Context) *exchange {
	for _, x := range p.standard(ctx) {
		if x.judgement.Rejected() != nil {
			return &x
		}
	}
	return nil
}

// expect returns the converted objects of an exchange. The spec fails when they are not there although the samples
// convert; see sound.
func (p *prober) expect(ctx context.Context, x exchange, what string) []json.RawMessage {
	GinkgoHelper()
	p.sound(ctx)
	if v := x.judgement.Rejected(); v != nil {
		p.exhibits.fail(x, fmt.Sprintf("%s: conversion of %s failed: %s", x.what, what, v))
	}
	return x.judgement.Objects
}
