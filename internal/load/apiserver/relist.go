package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

const (
	// requestLimit is how long API servers take for a request before they give it up, by default.
	requestLimit = 60 * time.Second

	// InFlight is how many objects an API server has converted at a time for one cache, as seen with Kubernetes 1.37. Without
	// a cache it is one.
	InFlight = 10
)

// firstList predicts how long the first LIST takes that finds no cache, given how many conversions are made at a time:
//
//	objects * caches / inFlight * (service + added) + objects * list + pause / 2
//
// Service and added are for as many at a time: between one and ten, and beyond ten, on the line through both.
func firstList(c loadgen.RelistCost, objects, inFlight int) time.Duration {
	each := between(c.Service.One+c.AddedOne, c.Service.Ten+c.AddedTen, inFlight)
	each = max(each, c.Service.One, 0)
	ms := float64(objects)*float64(max(c.Caches, 1))/float64(max(inFlight, 1))*each + float64(objects)*c.ListPerObject + c.Pause/2
	return time.Duration(ms * float64(time.Millisecond))
}

// between is on the line through what holds for one and what holds for ten.
func between(one, ten float64, inFlight int) float64 { return one + float64(inFlight-1)/9*(ten-one) }

// within is the greatest number of objects whose first LIST takes no longer than a limit, at most a billion.
func within(c loadgen.RelistCost, limit time.Duration, inFlight int) int {
	low, high := 0, 1_000_000_000 // the first does, and what is beyond the second is not looked at
	for low < high {
		middle := (low + high + 1) / 2
		if firstList(c, middle, inFlight) <= limit {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// relist finds out what the first LIST costs, and predicts it.
func (r *run) relist(ctx context.Context) error {
	cost, err := r.cost(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.note("the first LIST is not predicted: %v", err)
		return nil
	}
	r.result.Relist = &loadgen.Relist{Cost: cost, InFlight: 1}
	if r.Cluster.WatchCache() {
		r.result.Relist.InFlight = InFlight * cost.Caches
	}
	r.predict()
	return nil
}

// cost measures what the first LIST is made of.
func (r *run) cost(ctx context.Context) (loadgen.RelistCost, error) {
	c := loadgen.RelistCost{Caches: 1}
	if r.Cluster.WatchCache() {
		c.Caches, c.Pause = len(r.served)-1, float64(again.Milliseconds())
	}
	err := r.warm(ctx)
	if err == nil {
		c.Service, err = r.direct(ctx)
	}
	if err != nil {
		return c, err
	}
	plain, err1 := r.mean(ctx, Get, r.storage, 1)
	one, err2 := r.mean(ctx, Get, r.other, 1)
	ten, err3 := r.mean(ctx, Get, r.other, 10)
	list, err4 := r.mean(ctx, List, r.storage, 1)
	c.AddedOne, c.AddedTen = max(one-plain-c.Service.One, 0), max(ten-plain-c.Service.Ten, 0)
	c.ListPerObject = list / float64(r.Seeded)
	return c, cmp.Or(err1, err2, err3, err4)
}

// predict makes the predictions, with what was seen after losses of the cache.
func (r *run) predict() {
	l := r.result.Relist
	if l == nil {
		return
	}
	var confirmed *loadgen.ColdList
	for i := range r.result.Cold {
		c := &r.result.Cold[i]
		if c.Rebuilt && c.Complete && (confirmed == nil || c.After == AfterRestart) {
			confirmed = c
		}
	}
	if confirmed != nil {
		l.InFlight, l.InFlightSeen = confirmed.Webhook.MostInFlight, confirmed.After
	}
	l.Predictions = nil
	for _, n := range []int{1000, 5000, 20_000, 100_000} {
		t := firstList(l.Cost, n, l.InFlight)
		l.Predictions = append(l.Predictions, loadgen.Prediction{Objects: n, Seconds: t.Seconds(), OverLimit: t > requestLimit})
	}
	l.WithinLimit = within(l.Cost, requestLimit, l.InFlight)
	if confirmed != nil {
		predicted := firstList(l.Cost, r.Seeded, l.InFlight).Seconds()
		l.Confirmation = &loadgen.Confirmation{
			After: confirmed.After, Objects: r.Seeded, Predicted: predicted, Measured: confirmed.Seconds, Ratio: predicted / confirmed.Seconds,
			Apart: apart(l, r.Seeded, predicted, confirmed),
		}
	}
}

// far is from which ratio on, or below its inverse, a prediction is far from what was measured.
const far = 1.25

// apart says how far a prediction is from what was measured, and what may be why.
func apart(l *loadgen.Relist, objects int, predicted float64, c *loadgen.ColdList) string {
	text := "as measured"
	switch percent := math.Round(100 * (predicted/c.Seconds - 1)); {
	case percent > 0:
		text = fmt.Sprintf("%.0f %% more than measured", percent)
	case percent < 0:
		text = fmt.Sprintf("%.0f %% less than measured", -percent)
	}
	if !isFar(predicted, c.Seconds) {
		return text
	}
	if pause := l.Cost.Pause / 1000; math.Abs(predicted-c.Seconds) <= pause {
		return fmt.Sprintf("%s, which is within the %.0f ms after which a refused client asks again", text, l.Cost.Pause)
	}
	// What makes the measured time longer than the predicted one, or shorter, by how much that was more than predicted.
	longer := c.Seconds > predicted
	var why []string
	add := func(predicted, measured float64, format string, arguments ...any) {
		if isFar(predicted, measured) && (measured > predicted) == longer {
			why = append(why, fmt.Sprintf(format, arguments...))
		}
	}
	call, was := between(l.Cost.Service.One, l.Cost.Service.Ten, l.InFlight), 1000*c.Webhook.Seconds/float64(max(c.Webhook.Calls, 1))
	add(call, was, "a call took %.3g ms then, and %.3g ms when the webhook was asked directly", was, call)
	busy := c.Webhook.Seconds / c.Seconds
	add(1/float64(l.InFlight), 1/busy, "%.2g calls were under way on average, but the prediction assumes %d", busy, l.InFlight)
	calls := objects * max(l.Cost.Caches, 1)
	add(float64(calls), float64(c.Webhook.Calls), "there were %d calls, but the prediction assumes %d", c.Webhook.Calls, calls)
	if len(why) == 0 {
		added := between(l.Cost.AddedOne, l.Cost.AddedTen, l.InFlight)
		why = append(why, fmt.Sprintf("the cause is not the webhook but the API server, for which the prediction assumes %.3g ms a call, as under load on this machine", max(added, 0)))
	}
	return text + ": " + strings.Join(why, "; ")
}

func isFar(a, b float64) bool { return a > far*b || b > far*a }

// mean is how long requests take on the average, in milliseconds. It was measured under load already, or is now.
func (r *run) mean(ctx context.Context, verb Verb, version string, concurrency int) (float64, error) {
	for _, l := range r.result.Load {
		if l.Verb == verb && l.Version == version && l.Concurrency == concurrency {
			return good(l)
		}
	}
	r.progress(fmt.Sprintf("%s at %s, %d at a time", verb, version, concurrency))
	l, _ := r.loop(ctx, concurrency, r.client(r.request(verb, version, concurrency)))
	return good(l)
}

// good is the mean of a load if it says anything.
func good(l loadgen.ServerLoad) (float64, error) {
	if l.Failed > 0 {
		return 0, fmt.Errorf("%d of %d requests failed, the first of them with: %s", l.Failed, l.Requests, l.Failures[0].First)
	}
	if l.Requests == 0 {
		return 0, fmt.Errorf("no request was answered within %.0f s", l.Seconds)
	}
	return l.Times.Mean, nil
}

// direct measures the webhook by itself, with objects as the API server has them.
func (r *run) direct(ctx context.Context) (loadgen.Service, error) {
	client, err := wire.Connect(r.Webhook)
	if err != nil {
		return loadgen.Service{}, err
	}
	defer client.Close()
	requests, bodies, err := r.reviews(ctx)
	if err != nil {
		return loadgen.Service{}, err
	}
	var times []loadgen.Times
	for _, concurrency := range []int{1, 10} {
		r.progress(fmt.Sprintf("calling the webhook itself, %d at a time", concurrency))
		l, _ := r.loop(ctx, concurrency, func(ctx context.Context, asking, n int) error {
			i := (asking + n*concurrency) % len(bodies)
			response := client.Send(ctx, bodies[i])
			if response.Interrupted {
				return response.Err
			}
			judgement := requests[i].Judge(response)
			if violation := judgement.Rejected(); violation != nil {
				return fmt.Errorf("%s", violation)
			}
			return nil
		})
		if _, err := good(l); err != nil {
			return loadgen.Service{}, fmt.Errorf("calling the webhook itself: %w", err)
		}
		times = append(times, l.Times)
	}
	return loadgen.Service{One: times[0].Mean, Ten: times[1].Mean, Max: times[1].Max}, nil
}

// variety is how many different objects the webhook itself is asked to convert.
const variety = 64

// reviews are requests with one object each, as the API server stores it.
func (r *run) reviews(ctx context.Context) ([]contract.Request, [][]byte, error) {
	body, err := r.clients.Do(ctx, kube.Request{Path: r.clients.Path(r.storage)})
	if err != nil {
		return nil, nil, fmt.Errorf("listing the objects at %s: %w", r.storage, err)
	}
	list, err := fleet.Listed[json.RawMessage](body)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the objects at %s: %w", r.storage, err)
	}
	var requests []contract.Request
	var bodies [][]byte
	for _, item := range list.Items[:min(len(list.Items), variety)] {
		request := contract.Request{
			ReviewVersion: r.reviewVersion(), UID: uuid.NewString(), DesiredAPIVersion: r.clients.Group + "/" + r.other, Objects: []json.RawMessage{item},
		}
		body, err := request.Body()
		if err != nil {
			return nil, nil, err
		}
		requests, bodies = append(requests, request.Prepare()), append(bodies, body)
	}
	return requests, bodies, nil
}

// reviewVersion is the version of ConversionReview that API servers use: the first on the list that they know.
func (r *run) reviewVersion() string {
	for _, version := range r.definition.Spec.Conversion.Webhook.ConversionReviewVersions {
		if version == "v1" || version == "v1beta1" {
			return version
		}
	}
	return "v1"
}
