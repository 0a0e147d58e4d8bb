package resource

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// What losing asks at most, and how many objects it returns. These are counts, so that a slow machine finds the same as a fast one.
const (
	mostSingles = 1000 // objects with one field each
	singlesEach = 100  // of these in a request
	mostRefused = 40   // requests for parts of those that the webhook refused
	mostLosing  = 3
)

// losing returns objects with one field each that do not come back whole by way of another version, for fields that other objects keep.
// Random values of a few objects may miss what some values show, such as a duration of less than a second: then the seed would decide on
// verdicts.
func (c *chapter) losing(ctx context.Context, generator *corpus.Generator, version string, pairs []corpus.Pair, others []*unstructured.Unstructured) []*unstructured.Unstructured {
	var singles []*unstructured.Unstructured
	var more []*unstructured.Unstructured // of fields that there was an object for before
	had := map[string]bool{}
	for _, single := range generator.Singles() {
		switch {
		case single.Style != corpus.Plain && single.Style != corpus.Zeros && single.Style != corpus.Integers:
		case had[single.Path]:
			more = append(more, single.Object)
		default:
			had[single.Path] = true
			singles = append(singles, single.Object)
		}
	}
	singles = append(singles, more...)
	singles = singles[:min(len(singles), mostSingles)]
	schema := c.env.Subject.Corpus.Definition.Schema(version)
	var found []*unstructured.Unstructured
	for _, pair := range pairs {
		lost := map[string]bool{}
		for i, back := range c.thereAndBack(ctx, pair, others) {
			for _, place := range c.lostIn(schema, pair.From, others[i], back) {
				lost[place] = true
			}
		}
		for start := 0; start < len(singles) && len(found) < mostLosing && ctx.Err() == nil; start += singlesEach {
			part := singles[start:min(start+singlesEach, len(singles))]
			for i, back := range c.thereAndBack(ctx, pair, part) {
				places := c.lostIn(schema, pair.From, part[i], back)
				if len(places) > 0 && len(found) < mostLosing && !slices.ContainsFunc(places, func(place string) bool { return lost[place] }) {
					lost[places[0]] = true
					found = append(found, part[i])
				}
			}
		}
	}
	return found
}

// lostIn returns the places that an object has lost, apart from what counts as nothing.
func (c *chapter) lostIn(schema *corpus.Schema, version string, before, after *unstructured.Unstructured) []string {
	if after == nil {
		return nil
	}
	lost, _ := c.losses(version, before.Object, after.Object)
	places := make([]string, 0, len(lost))
	for _, loss := range lost {
		places = append(places, schema.Pattern(loss.Path))
	}
	return places
}

// thereAndBack returns what becomes of objects on the way to the second version of a pair and back, nil for those that the webhook refuses.
func (c *chapter) thereAndBack(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	left := mostRefused
	var travel func(objects []*unstructured.Unstructured) []*unstructured.Unstructured
	travel = func(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
		back := c.convertAll(ctx, pair.From, c.convertAll(ctx, pair.To, objects))
		if back != nil || len(objects) < 2 || left <= 0 || ctx.Err() != nil {
			return append(back, make([]*unstructured.Unstructured, len(objects)-len(back))...)
		}
		left -= 2
		half := len(objects) / 2
		return append(travel(objects[:half]), travel(objects[half:])...)
	}
	return travel(objects)
}

// convertAll asks the webhook for objects at a version; nil if it does not convert all.
func (c *chapter) convertAll(ctx context.Context, to string, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	if len(objects) == 0 {
		return nil
	}
	request, response := c.ask(ctx, to, objects...)
	judgement := request.Judge(response)
	if judgement.Rejected() != nil || len(judgement.Objects) != len(objects) {
		return nil
	}
	converted := make([]*unstructured.Unstructured, len(objects))
	for i, text := range judgement.Objects {
		converted[i] = &unstructured.Unstructured{}
		if converted[i].UnmarshalJSON(text) != nil {
			return nil
		}
	}
	return converted
}
