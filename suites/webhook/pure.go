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
)

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
func (p *prober) pure(ctx SpecContext) {
	p.standard.sound(ctx)
	p.effort.came = 0
	var forth, back []asked
	for _, pair := range p.crossings.pairs(ctx) {
		objects := p.stock.all(ctx, pair.From)
		forth = append(forth, asked{pair, objects, p.journeys.forth(ctx, pair, objects)})
		if p.definition.oneWay(pair) {
			continue
		}
		home := asked{pair: reverse(pair)}
		for i, t := range p.journeys.roundTrip(ctx, pair, objects) {
			if t.back.object != nil {
				home.objects = append(home.objects, corpus.Restored(objects[i], t.there.object))
				home.first = append(home.first, t.back)
			}
		}
		back = append(back, home)
	}
	var all []found
	what := property{check: p.again}
	compare := func(a asked, then []outcome, way string) {
		for _, f := range p.unlike(a.pair, a.first, then, way) {
			all = append(all, found{finding: f, pair: a.pair, subject: a.objects[f.object]})
		}
	}
	for _, a := range slices.Concat(forth, back) {
		compare(a, p.talk.answers(ctx, a.pair, a.objects), "at once")
	}
	wait(ctx, p.tick-time.Since(p.journeys.travelled))
	for _, a := range slices.Concat(forth, back) {
		compare(a, p.talk.answers(ctx, a.pair, a.objects), "a while later")
	}
	forth = slices.DeleteFunc(forth, func(a asked) bool {
		return len(a.first) == 0 || len(a.first[0].x.request.Objects) < len(a.objects) // they are too many for one request
	})
	for _, a := range forth {
		for _, then := range p.atOnce(ctx, a) {
			compare(a, then, fmt.Sprintf("%d at the same time", parallel))
		}
	}
	if len(forth) > 1 {
		for n, then := range p.atOnce(ctx, forth...) {
			compare(forth[n%len(forth)], then, fmt.Sprintf("%d for all versions at the same time", parallel))
		}
	}
	p.env.Tried(p.effort.came)
	p.trials.report(ctx, what, all)
}

// again is what shows for objects that are asked for several times in a row.
func (p *prober) again(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
	first := p.talk.convert(ctx, pair, objects)
	for range parallel {
		if findings := p.unlike(pair, first, p.talk.answers(ctx, pair, objects), "at once"); len(findings) > 0 {
			return findings
		}
	}
	return nil
}

// unlike compares what came of the same objects twice. Only what came first is decoded.
func (p *prober) unlike(pair corpus.Pair, first, then []outcome, way string) []finding {
	var findings []finding
	for i := range first {
		if first[i].object != nil {
			p.effort.came++
		}
		at := pair.String() + ", asked again"
		then[i].x.before = &first[i].x
		switch {
		case first[i].object == nil:
		case bytes.Equal(first[i].raw, then[i].raw):
		case then[i].raw == nil:
			findings = append(findings, finding{i, at, "", fmt.Sprintf("%s: conversion failed for objects that it converted before: %s", way, then[i].x.judgement.Rejected()), none, then[i].x, effect{sort: refused}})
		default:
			schema, object := p.definition.schemaOf(pair.To), p.exhibits.decode(then[i].raw)
			for _, l := range slices.Concat(schema.Differences(first[i].object, object), schema.Reordered(first[i].object, object)) {
				findings = append(findings, finding{i, at, schema.Place(l.Path), way + ": " + l.String(), none, then[i].x, effect{sort: differs}})
			}
		}
	}
	return findings
}

// wait waits, unless the spec is stopped.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// atOnce asks for objects that were asked for before many times at the same time, for each in turn.
func (p *prober) atOnce(ctx context.Context, before ...asked) [][]outcome {
	version := p.standard.reviewVersion(ctx)
	requests := make([]exchange, parallel)
	for n := range requests {
		pair, objects := before[n%len(before)].pair, before[n%len(before)].objects
		request := p.talk.request(version, pair.To, objects...)
		body, err := request.Body()
		p.env.Require(err, "building a request")
		requests[n] = exchange{what: fmt.Sprintf("%s in ConversionReview %s", pair, version), to: pair.To, request: request, body: body}
	}
	responses := make([]contract.Response, parallel)
	var running sync.WaitGroup
	for n := range requests {
		running.Go(func() {
			responses[n] = p.env.Subject.Ask(ctx, func(ctx context.Context) contract.Response { return p.env.Subject.Client.Send(ctx, requests[n].body) })
		})
	}
	running.Wait()
	outcomes := make([][]outcome, parallel)
	for n, x := range requests {
		p.connection.reach(ctx, &x, func(context.Context) contract.Response { return responses[n] })
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

// withObjects returns the body of a request with something else in place of its objects.
func withObjects(request contract.Request, objects string) []byte {
	return fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/%s","request":{"uid":%q,"desiredAPIVersion":%q,"objects":%s}}`,
		request.ReviewVersion, request.UID, request.DesiredAPIVersion, objects)
}

// wrong reports whether what is at a path is against the schema, which is also reported.
func wrong(schema *corpus.Schema, object map[string]any, path string) bool {
	return slices.ContainsFunc(schema.Problems(object), func(problem corpus.Problem) bool { return problem.Path == path })
}
