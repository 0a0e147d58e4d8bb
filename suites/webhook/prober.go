package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// prober converses with the webhook under test on behalf of all specs of the area. What several specs look at is asked
// once.
type prober struct {
	env *suites.Env

	tick         time.Duration // after which the same is asked for again, see pure
	calls        int
	hoard        int                                                      // bytes of responses that are out of proportion, see shorten
	silent       *contract.Response                                       // the response to the samples when it did not come in time, see notice
	late         *lateness                                                // see convert
	hasty        bool                                                     // whether it is enough to know a few of the objects that it ends over, see alike
	ended        error                                                    // what is known of a webhook that ended or hung while it was asked, see send
	last         exchange                                                 // that was answered
	speaks       string                                                   // see spoken
	firsts       map[string]exchange                                      // by review version, see first
	plain        []exchange                                               // see standard
	proven       []byte                                                   // the body of a request that the webhook converted, nil before there is one; see hung
	hands        *handshake                                               // see shake
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
	written      map[*unstructured.Unstructured]json.RawMessage           // those of everything, as JSON
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
}

// exchange is a request to the webhook, what came back, and what the judge says of it.
type exchange struct {
	what      string // such as "v1beta1 -> v1 in ConversionReview v1"
	to        string // version that was asked for
	request   contract.Request
	body      []byte
	response  contract.Response
	judgement contract.Judgement
	before    *exchange    // whose outcome was sent in this one, or that shows something together with it; nil if there is none
	raw       *malformed   // how it was sent if API servers send nothing like it
	client    *wire.Client // that sent it, if not the subject's
}

// ask asks for the conversion of objects at the version that begins the pair to the one that ends it.
func (p *prober) ask(ctx context.Context, reviewVersion string, pair corpus.Pair, objects ...*unstructured.Unstructured) exchange {
	request := p.request(reviewVersion, pair.To, objects...)
	body, err := request.Body()
	p.env.Require(err, "building a request")
	x := exchange{what: fmt.Sprintf("%s in ConversionReview %s", pair, reviewVersion), request: request, body: body}
	if fatal := p.env.Subject.Fatal(pair.To, objects); fatal != nil {
		x.response = *fatal
	} else {
		x = p.send(ctx, x.what, request, body)
		p.env.Subject.Note(pair.To, objects, x.response)
	}
	x.to = pair.To
	x.judgement = request.Judge(x.response)
	p.shorten(&x)
	return x
}

// shorten drops most of a response that API servers reject if it is out of proportion to the request, once there were many of them:
// they may be kept for each object.
func (p *prober) shorten(x *exchange) {
	if most := proportionate(x); x.judgement.Rejected() != nil && len(x.response.Body) > most {
		if p.hoard += len(x.response.Body); p.hoard > maxHoard {
			x.response.Body, x.judgement.Message = kept(x), strings.Clone(x.judgement.Message[:min(len(x.judgement.Message), most)])
		}
	}
}

// maxHoard is how much is kept of responses that are out of proportion, in bytes.
const maxHoard = 16 << 20

func (p *prober) request(reviewVersion, to string, objects ...*unstructured.Unstructured) contract.Request {
	p.calls++
	return contract.Request{
		ReviewVersion:     reviewVersion,
		UID:               uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "crdconform/%d", p.calls)).String(),
		DesiredAPIVersion: p.env.Subject.Corpus.APIVersion(to),
		Objects:           p.json(objects),
	}
}

// json renders objects for a request. Those that are asked for again and again were rendered before.
func (p *prober) json(objects []*unstructured.Unstructured) []json.RawMessage {
	all := make([]json.RawMessage, 0, len(objects))
	for _, object := range objects {
		raw, known := p.written[object]
		if !known {
			raw = corpus.JSON(object)[0]
		}
		all = append(all, raw)
	}
	return all
}

// samples asks for the basic objects of a pair as they are.
func (p *prober) samples(ctx context.Context, reviewVersion string, pair corpus.Pair) exchange {
	x := p.ask(ctx, reviewVersion, pair, p.base(ctx, pair.From)...)
	p.notice(&x)
	p.noticeLength(&x)
	return x
}

// noticeLength remembers a response to the samples that is longer than is read: no more are sent then, since each would take as much.
func (p *prober) noticeLength(x *exchange) {
	body, header := contract.LengthError(0), contract.HeaderError{}
	if p.silent != nil || !errors.As(x.response.Err, &body) && !errors.As(x.response.Err, &header) {
		return
	}
	x.response.Err = noMoreError{x.response.Err}
	x.judgement = x.request.Judge(x.response)
	silent := x.response
	p.silent = &silent
}

// send sends a body as it is.
func (p *prober) send(ctx context.Context, what string, request contract.Request, body []byte) exchange {
	x := exchange{what: what, request: request, body: body}
	if p.silent != nil {
		x.response = *p.silent
		return x
	}
	p.reach(ctx, &x, func(ctx context.Context) contract.Response { return p.env.Subject.Client.Send(ctx, body) })
	return x
}

// reach sends an exchange to the webhook, and notes the response. Once the webhook has ended, there is nothing more to judge.
func (p *prober) reach(ctx context.Context, x *exchange, send func(context.Context) contract.Response) {
	GinkgoHelper()
	if p.ended != nil {
		Skip(fmt.Sprintf("cannot be judged while %v", p.ended))
	}
	p.secured(ctx)
	x.response = p.env.Subject.Ask(ctx, send)
	if x.response.Interrupted { // then it says nothing about the webhook
		p.env.Require(x.response.Err, "asking the webhook")
	}
	switch {
	case x.response.TimedOut:
		if is, hung := p.hung(ctx); is {
			err := fmt.Errorf("it hangs: it does not answer any more, not even what it answered before: %w", hung)
			if x.before == nil && p.last.body != nil {
				x.before = &p.last
				err = fmt.Errorf("%w; the last request that it answered is in request-before.json, and got %s", err, answered(&p.last))
			}
			p.env.Subject.Hangs(fmt.Errorf("%s fails: %w", running(), err))
			p.broken(x, err)
		}
	case x.response.Err == nil:
		p.last = *x
	}
	if x.response.Err != nil && !x.response.TimedOut && !suites.Ended(x.response) {
		if gone := p.env.Subject.Gone(); gone != nil && errors.Is(x.response.Err, syscall.ECONNREFUSED) { // over another request
			p.ended = gone
			Skip(fmt.Sprintf("cannot be judged: %v", gone))
		}
		if err := p.end(ctx); err != nil {
			p.broken(x, err)
		}
	}
}

// broken fails the spec because of a webhook that does not answer any more. No other spec asks it again.
func (p *prober) broken(x *exchange, err error) {
	GinkgoHelper()
	p.ended = fmt.Errorf("%s fails: %w", running(), err)
	p.exhibits.attach(*x)
	over := ""
	if objects := p.exhibits.sent(x); len(objects) > 0 {
		over = " when it was asked to convert " + p.exhibits.named(objects)
	}
	Fail(fmt.Sprintf("expected it to answer%s, but %v", over, err))
}

// running is the requirement that the running spec checks.
func running() requirement.ID {
	id, _ := suites.LabelledBy(CurrentSpecReport().LeafNodeLabels)
	return id
}

// hung reports whether a webhook that did not answer in time does not answer what it converted before either, and returns what came of that: then
// each other request would take as long.
func (p *prober) hung(ctx context.Context) (is bool, why error) {
	if p.proven == nil {
		return false, nil
	}
	response := p.env.Subject.Client.Send(ctx, p.proven)
	return response.TimedOut && ctx.Err() == nil, response.Err
}

// end says why a webhook has ended that did not answer, if it has: its program did, which is known a moment after the connection broke, or
// it does not answer what it converted before either.
func (p *prober) end(ctx context.Context) error {
	const moments = 20
	alive := p.env.Subject.Alive
	var silent error
	for range moments {
		if alive != nil {
			if err := alive(); err != nil {
				return err
			}
		}
		if p.proven != nil {
			response := p.env.Subject.Client.Send(ctx, p.proven)
			silent = nil
			if response.Err != nil && !response.TimedOut && ctx.Err() == nil {
				silent = fmt.Errorf("it does not answer any more, not even what it answered before: %w", response.Err)
			}
		}
		if silent == nil && (alive == nil || p.proven != nil) {
			return nil
		}
		wait(ctx, 50*time.Millisecond)
	}
	return silent
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

// refused reports whether a webhook said that it does not know ConversionReview v1: by HTTP status, by a failure, or by
// answering in v1beta1. Whatever else goes wrong is not meant as an answer.
func (x *exchange) refused() bool {
	switch x.judgement.Stopped {
	case requirement.WebhookResponseHTTPStatus:
		return x.unknown()
	case requirement.WebhookFailureAvoided:
		return true
	case requirement.WebhookResponseReviewVersion:
		return slices.ContainsFunc(x.judgement.Of(requirement.WebhookResponseReviewVersion), func(v contract.Violation) bool {
			return strings.Contains(v.Actual, "apiextensions.k8s.io/v1beta1")
		})
	default:
		return false
	}
}

// unknown reports whether a webhook said by HTTP status that it cannot make anything of a request.
func (x *exchange) unknown() bool {
	return x.response.Status >= 400 && x.response.Status < 500 && x.response.RedirectedTo == ""
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
			p.proven = plain[at].body
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
