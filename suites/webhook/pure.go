package webhook

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/pause"
)

// repetition has the spec that asks for the same again.
type repetition struct {
	judging

	tick time.Duration // after which the same is asked for again
}

const (
	// tick is how long after the first time the same is asked again, so that what depends on the second shows.
	tick = 1100 * time.Millisecond

	// parallel is how many requests are under way at once.
	parallel = 8
)

// asked is what came of objects when they were first asked for.
type asked struct {
	pair    corpus.Pair
	objects []*unstructured.Unstructured
	first   []outcome
}

// pure asks for the same objects again, at once and a second later, and for all of them many times in parallel, of one pair of versions
// and of all. It asks again for the way back, too: only what was converted has the annotations in which webhooks keep fields.
func (r *repetition) pure(ctx SpecContext) {
	r.standard.sound(ctx)
	r.effort.tried = 0
	var forth, back []asked
	for _, pair := range r.crossings.pairs(ctx) {
		objects := r.stock.all(ctx, pair.From)
		forth = append(forth, asked{pair, objects, r.journeys.forth(ctx, pair, objects)})
		if r.definition.oneWay(pair) {
			continue
		}
		home := asked{pair: reverse(pair)}
		for i, t := range r.journeys.roundTrip(ctx, pair, objects) {
			if t.back.object != nil {
				home.objects = append(home.objects, corpus.Restored(objects[i], t.there.object))
				home.first = append(home.first, t.back)
			}
		}
		back = append(back, home)
	}
	var all []found
	what := property{check: r.again}
	compare := func(a asked, then []outcome, way string) {
		for _, f := range r.unlike(a.pair, a.first, then, way) {
			all = append(all, found{finding: f, pair: a.pair, subject: a.objects[f.object]})
		}
	}
	for _, a := range slices.Concat(forth, back) {
		compare(a, r.talk.answers(ctx, a.pair, a.objects), "at once")
	}
	_ = pause.For(ctx, r.tick-time.Since(r.journeys.travelled)) // whether the spec was stopped shows in what is asked next
	for _, a := range slices.Concat(forth, back) {
		compare(a, r.talk.answers(ctx, a.pair, a.objects), "a while later")
	}
	forth = slices.DeleteFunc(forth, func(a asked) bool {
		return len(a.first) == 0 || len(a.first[0].x.request.Objects) < len(a.objects) // they are too many for one request
	})
	for _, a := range forth {
		for _, then := range r.atOnce(ctx, a) {
			compare(a, then, fmt.Sprintf("%d at the same time", parallel))
		}
	}
	if len(forth) > 1 {
		for n, then := range r.atOnce(ctx, forth...) {
			compare(forth[n%len(forth)], then, fmt.Sprintf("%d for all versions at the same time", parallel))
		}
	}
	r.env.Tried(r.effort.tried)
	r.trials.report(ctx, what, all)
}

// again is what shows for objects that are asked for several times in a row.
func (r *repetition) again(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
	first := r.talk.convert(ctx, pair, objects)
	for range parallel {
		if findings := r.unlike(pair, first, r.talk.answers(ctx, pair, objects), "at once"); len(findings) > 0 {
			return findings
		}
	}
	return nil
}

// unlike compares what came of the same objects twice. Only what came first is decoded.
func (r *repetition) unlike(pair corpus.Pair, first, then []outcome, way string) []finding {
	var findings []finding
	for i := range first {
		if first[i].object != nil {
			r.effort.tried++
		}
		at := pair.String() + ", asked again"
		then[i].x.before = &first[i].x
		switch {
		case first[i].object == nil:
		case bytes.Equal(first[i].raw, then[i].raw):
		case then[i].raw == nil:
			findings = append(findings, finding{i, at, "", fmt.Sprintf("%s: conversion failed for objects that it converted before: %s", way, then[i].x.judgement.Rejected()), none, then[i].x, effect{sort: refused}})
		default:
			schema, object := r.definition.schemaOf(pair.To), r.exhibits.decode(then[i].raw)
			for _, l := range slices.Concat(schema.Differences(first[i].object, object), schema.Reordered(first[i].object, object)) {
				findings = append(findings, finding{i, at, schema.Place(l.Path), way + ": " + l.String(), none, then[i].x, effect{sort: differs}})
			}
		}
	}
	return findings
}

// atOnce asks for objects that were asked for before many times at the same time, for each in turn.
func (r *repetition) atOnce(ctx context.Context, before ...asked) [][]outcome {
	version := r.standard.reviewVersion(ctx)
	requests := make([]exchange, parallel)
	for n := range requests {
		pair, objects := before[n%len(before)].pair, before[n%len(before)].objects
		request := r.talk.request(version, pair.To, objects...)
		body, err := request.Body()
		r.env.Require(err, "building a request")
		requests[n] = exchange{what: fmt.Sprintf("%s in ConversionReview %s", pair, version), to: pair.To, request: request, body: body}
	}
	responses := make([]contract.Response, parallel)
	var running sync.WaitGroup
	for n := range requests {
		running.Go(func() {
			responses[n] = r.env.Subject.Ask(ctx, func(ctx context.Context) contract.Response { return r.env.Subject.Client.Send(ctx, requests[n].body) })
		})
	}
	running.Wait()
	outcomes := make([][]outcome, parallel)
	for n, x := range requests {
		r.connection.reach(ctx, &x, func(context.Context) contract.Response { return responses[n] })
		x.judgement = x.request.Judge(x.response)
		outcomes[n] = make([]outcome, len(before[n%len(before)].objects))
		for i := range outcomes[n] {
			outcomes[n][i].x = x
			if x.judgement.Rejected() == nil {
				outcomes[n][i].raw = x.judgement.Objects[i]
			}
		}
	}
	return outcomes
}

// withObjects returns the body of a request with something else in place of its objects.
func withObjects(request contract.Request, objects string) []byte {
	return fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/%s","request":{"uid":%q,"desiredAPIVersion":%q,"objects":%s}}`,
		request.ReviewVersion, request.UID, request.DesiredAPIVersion, objects)
}

// spoil returns an object with a number in place of every field, and whether there was one.
func spoil(object *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
	spoiled := object.DeepCopy()
	found := false
	for field, value := range spoiled.Object {
		switch {
		case field == "apiVersion" || field == "kind" || field == "metadata":
			continue
		case value == "", value == nil:
			continue
		}
		spoiled.Object[field], found = int64(42), true
	}
	return spoiled, found
}
