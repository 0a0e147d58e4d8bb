package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// conversation asks for conversions in the version of ConversionReview that the webhook speaks, and stops once it is late.
type conversation struct {
	env        *suites.Env
	exhibits   *exhibits
	connection *connection

	calls   int                                            // how many requests were made, which makes their UIDs
	hoard   int                                            // bytes of responses that are out of proportion to their requests, of which no more than maxHoard is kept
	late    *lateness                                      // the first answer that did not come in time while objects were tried; nothing more is asked then
	hasty   bool                                           // whether it is enough to know a few of the objects that the webhook ends over, as while objects are generated
	speaks  string                                         // the version of ConversionReview in which the webhook answers, empty before it is known
	written map[*unstructured.Unstructured]json.RawMessage // the objects of the stock as JSON, since they are sent again and again
}

// exchange is a request to the webhook, what came back, and what the judge says of it.
type exchange struct {
	what      string // such as "v1beta1 -> v1 in ConversionReview v1"
	to        string // version that was asked for
	request   contract.Request
	body      []byte // see sent
	response  contract.Response
	judgement contract.Judgement
	before    *exchange    // whose outcome was sent in this one, or that shows something together with it; nil if there is none
	raw       *malformed   // how it was sent if API servers send nothing like it
	client    *wire.Client // that sent it, if not the subject's
}

// sent is the body of the request. It is made again where the exchange is one of many that are kept.
func (x *exchange) sent() []byte {
	if x.body == nil && x.request.UID != "" {
		body, _ := x.request.Body() // it could be made before
		return body
	}
	return x.body
}

// outcome is what came of an object.
type outcome struct {
	raw    json.RawMessage // nil when it was not converted
	object map[string]any  // the same, decoded: by convert, not by answers
	x      exchange        // in which it was asked for
}

// ask asks for the conversion of objects at the version that begins the pair to the one that ends it.
func (cv *conversation) ask(ctx context.Context, reviewVersion string, pair corpus.Pair, objects ...*unstructured.Unstructured) exchange {
	request := cv.request(reviewVersion, pair.To, objects...)
	body, err := request.Body()
	cv.env.Require(err, "building a request")
	x := exchange{what: fmt.Sprintf("%s in ConversionReview %s", pair, reviewVersion), request: request, body: body}
	if fatal := cv.env.Subject.Fatal(pair.To, objects); fatal != nil {
		x.response = *fatal
	} else {
		x = cv.connection.send(ctx, x.what, request, body)
		cv.env.Subject.Note(pair.To, objects, x.response)
	}
	x.to = pair.To
	x.judgement = request.Judge(x.response)
	cv.shorten(&x)
	return x
}

// shorten drops most of a response that API servers reject if it is out of proportion to the request, once there were many of them:
// they may be kept for each object.
func (cv *conversation) shorten(x *exchange) {
	if most := proportionate(x); x.judgement.Rejected() != nil && len(x.response.Body) > most {
		if cv.hoard += len(x.response.Body); cv.hoard > maxHoard {
			x.response.Body, x.judgement.Message = kept(x), strings.Clone(x.judgement.Message[:min(len(x.judgement.Message), most)])
		}
	}
}

// maxHoard is how much is kept of responses that are out of proportion, in bytes.
const maxHoard = 16 << 20

func (cv *conversation) request(reviewVersion, to string, objects ...*unstructured.Unstructured) contract.Request {
	cv.calls++
	return contract.Request{
		ReviewVersion:     reviewVersion,
		UID:               uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "crdconform/%d", cv.calls)).String(),
		DesiredAPIVersion: cv.env.Subject.Corpus.APIVersion(to),
		Objects:           cv.json(objects),
	}
}

// json renders objects for a request. Those that are asked for again and again were rendered before.
func (cv *conversation) json(objects []*unstructured.Unstructured) []json.RawMessage {
	all := make([]json.RawMessage, 0, len(objects))
	for _, object := range objects {
		raw, known := cv.written[object]
		if !known {
			raw = corpus.JSON(object)[0]
		}
		all = append(all, raw)
	}
	return all
}

// remember keeps how objects are rendered, since they are asked for again and again.
func (cv *conversation) remember(objects []*unstructured.Unstructured) {
	for i, raw := range corpus.JSON(objects...) {
		cv.written[objects[i]] = raw
	}
}

// convert asks for the conversion of objects as answers does, and decodes what comes back. Nothing changes the decoded objects.
func (cv *conversation) convert(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []outcome {
	outcomes := cv.answers(ctx, pair, objects)
	for i, o := range outcomes {
		if o.raw != nil {
			outcomes[i].object = cv.exhibits.decode(o.raw)
		}
	}
	return outcomes
}

// perRequest is how many objects are asked for in a request, unless it is their number that matters.
const perRequest = 100

// answers asks for the conversion of objects, as many in one request as there may be and, if that fails, each alone. Once one of them was not
// answered in time, the spec is not answered any more: each other might take as long.
func (cv *conversation) answers(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []outcome {
	if len(objects) > perRequest {
		return slices.Concat(cv.answers(ctx, pair, objects[:perRequest]), cv.answers(ctx, pair, objects[perRequest:]))
	}
	if len(objects) == 0 {
		return nil
	}
	outcomes := make([]outcome, len(objects))
	var x exchange
	if cv.isLateHere() {
		x = cv.late.x
	} else {
		x = cv.ask(ctx, cv.spoken(ctx), pair, objects...)
	}
	switch {
	case x.judgement.Rejected() == nil:
		for i, raw := range x.judgement.Objects {
			outcomes[i] = outcome{raw: raw, x: x}
		}
	case len(objects) == 1 && isLate(&x):
		cv.late = &lateness{CurrentSpecReport().LeafNodeText, x}
		outcomes[0].x = x
	case len(objects) == 1 || cv.connection.isSilent():
		for i := range objects {
			outcomes[i].x = x
		}
	default:
		before := cv.env.Subject.Ends()
		for i, object := range objects {
			if cv.hasty && cv.env.Subject.Ends()-before >= suites.FewEnds {
				return slices.Concat(outcomes[:i], cv.alike(ctx, pair, objects[i:]))
			}
			outcomes[i] = cv.answers(ctx, pair, []*unstructured.Unstructured{object})[0]
		}
	}
	return outcomes
}

// bound is how much may be asked for one purpose.
type bound struct {
	talk        *conversation
	most        int // requests
	calls, ends int // before it
}

// atMost is a bound of so many requests from now on.
func (cv *conversation) atMost(requests int) bound {
	return bound{talk: cv, most: requests, calls: cv.calls, ends: cv.env.Subject.Ends()}
}

// isReached reports whether so many requests were made, or the program has ended over as many objects as it may.
func (b bound) isReached() bool {
	return b.talk.calls-b.calls >= b.most || b.talk.env.Subject.Ends()-b.ends >= mostFatal
}

// mostFatal is over how many objects a program may end while one is made smaller. Each takes as long as the program takes to start.
const mostFatal = 12

// hastily does something for which it is enough to know a few of the objects that the webhook ends over. It returns the answer that did not
// come in time meanwhile, if one did not, and forgets that: then what is asked for later is asked.
func (cv *conversation) hastily(do func()) *lateness {
	before := cv.late
	cv.hasty = true
	do()
	cv.hasty = false
	if cv.late == before {
		return nil
	}
	noticed := cv.late
	cv.late = before
	return noticed
}

// alike asks for the rest of a batch at once. If the program ends over it too, all of it is held for what it ends over.
func (cv *conversation) alike(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []outcome {
	x := cv.ask(ctx, cv.spoken(ctx), pair, objects...)
	if !suites.Ended(x.response) {
		defer func() { cv.hasty = true }()
		cv.hasty = false
		return cv.answers(ctx, pair, objects)
	}
	outcomes := make([]outcome, len(objects))
	for i := range outcomes {
		outcomes[i].x = x
	}
	return outcomes
}

// isLateHere reports whether an object was not converted in time in the running spec.
func (cv *conversation) isLateHere() bool {
	return cv.late != nil && cv.late.spec == CurrentSpecReport().LeafNodeText
}

// spoken is a version of ConversionReview that the webhook answers in. Nothing but generated objects may be at hand to
// find out, and it may refuse both because it does not convert between two versions.
func (cv *conversation) spoken(ctx context.Context) string {
	if cv.speaks != "" {
		return cv.speaks
	}
	speaks, settled := "v1", false
	for _, pair := range cv.env.Subject.Corpus.Pairs() {
		if speaks, settled = cv.spokenOn(ctx, pair); settled {
			break
		}
	}
	if ctx.Err() == nil {
		cv.speaks = speaks
	}
	return speaks
}

// spokenOn is the same on the way of a pair, and whether others need not be tried.
func (cv *conversation) spokenOn(ctx context.Context, pair corpus.Pair) (speaks string, settled bool) {
	c := cv.env.Subject.Corpus
	objects := c.Objects(pair.From)
	if len(objects) == 0 {
		objects = c.Definition.Generator(pair.From, cv.env.Seed(), nil).Objects(corpus.Plain, few)
	}
	ask := func(version string) exchange {
		x := cv.ask(ctx, version, pair, objects...)
		cv.connection.notice(&x)
		return x
	}
	x := ask("v1")
	switch {
	case cv.connection.isSilent():
	case x.refused():
		older := ask("v1beta1")
		switch {
		case older.judgement.Rejected() == nil || x.unknown() && !older.unknown():
			return "v1beta1", true
		case older.judgement.Stopped == requirement.WebhookFailureAvoided:
			return "v1", false
		}
	case x.speechless() && !slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		alone := cv.ask(ctx, "v1", pair, object)
		return !alone.speechless()
	}):
		cv.connection.hush(x.response) // no object makes a difference, so there is nothing to learn from others
	}
	return "v1", true
}

// speechless reports whether an answer is no ConversionReview with a response.
func (x *exchange) speechless() bool {
	return slices.Contains([]requirement.ID{requirement.WebhookResponseBody, requirement.WebhookResponseReviewKind, requirement.WebhookResponseStanza}, x.judgement.Stopped)
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

// unheard returns a word that the webhook has not met before.
func (cv *conversation) unheard(begin string) string { return fmt.Sprintf("%s-%d", begin, cv.calls) }

// renamed returns a copy of an object with a name and a UID that no object had before, so that the webhook cannot know it. A name that is long
// or has dots is as long and has as many then.
func (cv *conversation) renamed(object *unstructured.Unstructured) *unstructured.Unstructured {
	other := object.DeepCopy()
	name := cv.unheard("alone")
	if was := object.GetName(); isSpecial(was) {
		name += was[min(len(name), len(was)):]
	}
	other.SetName(name)
	other.SetUID(types.UID(uuid.NewSHA1(uuid.NameSpaceURL, []byte(other.GetName())).String()))
	return other
}

// anew returns a copy of an object that has nothing in its metadata by which the webhook can know it.
func (cv *conversation) anew(object *unstructured.Unstructured) *unstructured.Unstructured {
	other := cv.renamed(object)
	cv.calls++ // so that the next one has another name
	other.SetResourceVersion(strconv.Itoa(1000 + cv.calls))
	other.SetGeneration(int64(1000 + cv.calls))
	return other
}
