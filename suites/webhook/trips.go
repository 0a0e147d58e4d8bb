package webhook

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// journeys takes objects to another version and back; those of the stock once for all specs.
type journeys struct {
	asking
	stock    *stock
	coverage *coverage

	trips     map[corpus.Pair][]trip // of all objects of the stock
	travelled time.Time              // when the last of the trips ended
}

// trip is what came of an object on the way to another version and back.
type trip struct {
	there, back outcome
}

// roundTrip takes objects to the second version of a pair and back. Those of each are taken once for all specs.
func (j *journeys) roundTrip(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []trip {
	if !j.stock.areKnown(pair.From, objects) {
		return j.travel(ctx, pair, objects)
	}
	if j.trips[pair] == nil {
		each := j.stock.each(ctx, pair.From)
		trips := j.travel(ctx, pair, each)
		if ctx.Err() != nil {
			return trips[:len(objects)]
		}
		j.trips[pair], j.travelled = trips, time.Now()
		j.coverage.cover(ctx, pair, each, trips)
	}
	return j.trips[pair][:len(objects)]
}

// forth takes objects to the second version of a pair, which those of each have been taken to for roundTrip.
func (j *journeys) forth(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []outcome {
	if !j.stock.areKnown(pair.From, objects) {
		return j.talk.convert(ctx, pair, objects)
	}
	outcomes := make([]outcome, len(objects))
	for i, t := range j.roundTrip(ctx, pair, objects) {
		outcomes[i] = t.there
	}
	return outcomes
}

func (j *journeys) travel(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []trip {
	trips := make([]trip, len(objects))
	var onward []*unstructured.Unstructured
	var places []int
	for i, there := range j.talk.convert(ctx, pair, objects) {
		trips[i].there = there
		if there.object != nil {
			onward = append(onward, corpus.Restored(objects[i], there.object))
			places = append(places, i)
		}
	}
	for i, back := range j.talk.convert(ctx, reverse(pair), onward) {
		back.x.before = &trips[places[i]].there.x
		trips[places[i]].back = back
	}
	return trips
}

// reverse is the way back.
func reverse(pair corpus.Pair) corpus.Pair { return corpus.Pair{From: pair.To, To: pair.From} }

// there is the way of a round trip.
func there(pair corpus.Pair) string { return fmt.Sprintf("%s -> %s", pair, pair.From) }
