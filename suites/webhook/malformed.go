package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
)

// malformed is a request that API servers never send.
type malformed struct {
	what    string
	method  string
	header  http.Header
	body    []byte
	lenient bool // whether a webhook may make something of it
}

// malformations returns requests of all kinds that ask for nothing, and some that ask in an odd way.
func (r *requests) malformations(ctx context.Context) []malformed {
	pair := r.routes.ways(ctx)[0]
	request := r.talk.request(r.standard.reviewVersion(ctx), pair.To, r.stock.base(ctx, pair.From)...)
	sound, err := request.Body()
	r.env.Require(err, "building a request")
	empty := fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/%s"}`, request.ReviewVersion)
	text := wire.Header()
	text.Set("Content-Type", "text/plain")
	post := func(what string, body []byte) malformed {
		return malformed{what: what, method: http.MethodPost, body: body}
	}
	return []malformed{
		{what: "a GET", method: http.MethodGet},
		post("an empty body", nil),
		post("half of a request", sound[:len(sound)/2]),
		post("JSON that is not an object", []byte(`["ConversionReview"]`)),
		post("null", []byte("null")),
		post("an object without a kind", []byte("{}")),
		post("an object of another kind", []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`)),
		post("a ConversionReview without a request", empty),
		post("a megabyte that is not JSON", []byte(strings.Repeat("x", 1<<20))),
		{what: "a request of the content type text/plain", method: http.MethodPost, header: text, body: sound, lenient: true},
		{what: "objects that are not objects", method: http.MethodPost, body: withObjects(request, `[null,1,"",[],{}]`), lenient: true},
		{what: "objects in the place of a list", method: http.MethodPost, body: withObjects(request, `{}`), lenient: true},
		{what: "an invalid desired version", method: http.MethodPost, body: r.desiring(request, "///"), lenient: true},
		{what: "a desired version of another group", method: http.MethodPost, body: r.desiring(request, "elsewhere.example.org/"+pair.To), lenient: true},
	}
}

func (r *requests) desiring(request contract.Request, version string) []byte {
	objects, err := json.Marshal(request.Objects)
	r.env.Require(err, "building a request")
	request.DesiredAPIVersion = version
	return withObjects(request, string(objects))
}

// malformed sends malformed requests, and expects them to be rejected as such.
func (r *requests) malformed(ctx SpecContext) {
	r.standard.sound(ctx)
	for _, m := range r.malformations(ctx) {
		x := r.raw(ctx, m)
		if !m.lenient && !refusedOutright(&x) {
			r.exhibits.violated(r.env.Severity(none), x, fmt.Sprintf("%s: expected an HTTP status of 400 or more, or a result other than success, got %s", m.what, answered(&x)))
			return
		}
	}
}

// raw sends something that is no request.
func (r *requests) raw(ctx context.Context, m malformed) exchange {
	x := exchange{what: m.what, body: m.body, raw: &m}
	r.connection.reach(ctx, &x, func(ctx context.Context) contract.Response {
		return r.env.Subject.Client.SendRaw(ctx, m.method, m.header, m.body)
	})
	return x
}

// refusedOutright reports whether a webhook answered with an error.
func refusedOutright(x *exchange) bool {
	if x.response.Err != nil {
		return false
	}
	return x.response.Status >= 400 || resultOf(x) != "Success" && resultOf(x) != ""
}

// resultOf is response.result.status of an answer, empty when there is none.
func resultOf(x *exchange) string {
	var review struct {
		Response struct {
			Result struct {
				Status string `json:"status"`
			} `json:"result"`
		} `json:"response"`
	}
	if json.Unmarshal(x.response.Body, &review) != nil {
		return ""
	}
	return review.Response.Result.Status
}

func answered(x *exchange) string {
	switch result := resultOf(x); {
	case x.response.Err != nil:
		return x.response.Err.Error()
	case result != "":
		return fmt.Sprintf("HTTP status %d and the result %s", x.response.Status, result)
	}
	return fmt.Sprintf("HTTP status %d and no result", x.response.Status)
}

// survival sends the same, and expects that the samples convert after each of them.
func (r *requests) survival(ctx SpecContext) {
	r.standard.sound(ctx)
	pair := r.routes.ways(ctx)[0]
	for _, m := range r.malformations(ctx) {
		spoiling := r.raw(ctx, m)
		after := r.talk.ask(ctx, r.standard.reviewVersion(ctx), pair, r.stock.base(ctx, pair.From)...)
		if v := after.judgement.Rejected(); v != nil {
			after.before = &spoiling
			r.exhibits.rejected(after, fmt.Sprintf("%s: conversion of the samples failed after %s: %s", after.what, m.what, v))
		}
	}
}

// unknownReviewVersion asks in a version of ConversionReview that does not exist.
func (r *requests) unknownReviewVersion(ctx SpecContext) {
	r.standard.sound(ctx)
	pair := r.routes.ways(ctx)[0]
	request := r.talk.request(noSuchVersion, pair.To, r.stock.base(ctx, pair.From)...)
	objects, err := json.Marshal(request.Objects)
	r.env.Require(err, "building a request")
	m := malformed{what: "a ConversionReview of the version " + request.ReviewVersion, method: http.MethodPost, body: withObjects(request, string(objects))}
	if x := r.raw(ctx, m); !refusedOutright(&x) {
		r.exhibits.violated(r.env.Severity(none), x, fmt.Sprintf("%s: expected an HTTP status of 400 or more, or a result other than success, got %s", m.what, answered(&x)))
	}
}

// listedReviewVersions asks in each version of ConversionReview that the definition lists.
func (r *requests) listedReviewVersions(ctx SpecContext) {
	r.definition.needsSchemas("what conversionReviewVersions lists")
	c := r.env.Subject.Corpus
	conversion := c.Definition.CRD.Spec.Conversion
	if c.Documented {
		r.env.Inapplicable("the CronTabs of the documents are tried in both versions; which of them a webhook must support depends on its own definition")
	}
	if _, assumed := c.Definition.CRD.Annotations[suites.Assumed]; assumed || conversion == nil || conversion.Webhook == nil {
		r.env.Inapplicable("the definition has no conversion webhook, so it lists no versions of ConversionReview")
	}
	r.standard.sound(ctx)
	pair := r.routes.ways(ctx)[0]
	for _, version := range conversion.Webhook.ConversionReviewVersions {
		if version != "v1" && version != "v1beta1" {
			continue // API servers know no others, and pass over them
		}
		x := r.talk.ask(ctx, version, pair, r.stock.base(ctx, pair.From)...)
		if v := x.judgement.Rejected(); v != nil {
			r.exhibits.rejected(x, fmt.Sprintf("%s: conversion of the samples failed in a version that conversionReviewVersions lists: %s", x.what, v))
		}
	}
}
