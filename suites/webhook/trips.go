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
		for i := range trips { // these are kept as long as the chapter runs
			trips[i].there.x.body, trips[i].back.x.body = nil, nil
			if before := trips[i].back.x.before; before != nil {
				before.body = nil
			}
		}
		j.trips[pair], j.travelled = trips, time.Now()
		j.coverage.cover(ctx, pair, each, trips)
	}
	return j.trips[pair][:len(objects)]
}

// forth takes objects to the second version of a pair, which those of each, that may come before others, have been taken to for roundTrip.
func (j *journeys) forth(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []outcome {
	known := j.stock.knownOf(pair.From, objects)
	outcomes := make([]outcome, known, len(objects))
	if known > 0 {
		for i, t := range j.roundTrip(ctx, pair, objects[:known]) {
			outcomes[i] = t.there
		}
	}
	return append(outcomes, j.talk.convert(ctx, pair, objects[known:])...)
}

func (j *journeys) travel(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []trip {
	trips := make([]trip, len(objects))
	var onward []*unstructured.Unstructured
	var places []int
	for i, there := range j.talk.convert(ctx, pair, objects) {
		there.object = shared(there.object, objects[i].Object)
		trips[i].there = there
		if there.object != nil {
			onward = append(onward, corpus.Restored(objects[i], there.object))
			places = append(places, i)
		}
	}
	before := &exchange{} // a copy, with which the other objects of the trips are not kept
	for i, back := range j.talk.convert(ctx, reverse(pair), onward) {
		back.object = shared(back.object, objects[places[i]].Object)
		if there := &trips[places[i]].there.x; there.request.UID != before.request.UID {
			x := *there
			before = &x
		}
		back.x.before = before
		trips[places[i]].back = back
	}
	return trips
}

// shared is what came of an object with the parts that are as they were in place of its own: what came of thousands is kept, and most of it is
// as it was.
func shared(object, sent map[string]any) map[string]any {
	for key, value := range object {
		object[key], _ = alike(value, sent[key])
	}
	return object
}

// alike is a value or, where both are equal, another one; of others, the parts.
func alike(value, other any) (one any, same bool) {
	switch value := value.(type) {
	case map[string]any:
		fields, isMap := other.(map[string]any)
		same = isMap && len(fields) == len(value)
		for key, inner := range value {
			was, had := fields[key]
			part, equal := alike(inner, was)
			value[key], same = part, same && had && equal
		}
	case []any:
		items, isList := other.([]any)
		same = isList && len(items) == len(value)
		for i := range min(len(value), len(items)) {
			part, equal := alike(value[i], items[i])
			value[i], same = part, same && equal
		}
	default:
		same = value == other
	}
	if same {
		return other, true
	}
	return value, false
}

// reverse is the way back.
func reverse(pair corpus.Pair) corpus.Pair { return corpus.Pair{From: pair.To, To: pair.From} }

// there is the way of a round trip.
func there(pair corpus.Pair) string { return fmt.Sprintf("%s -> %s", pair, pair.From) }
