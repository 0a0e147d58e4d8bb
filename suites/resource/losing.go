package resource

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
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
		lost, t := map[string]bool{}, &travels{chapter: c, pair: pair, ends: c.env.Subject.Ends()}
		for i, back := range t.thereAndBack(ctx, others) {
			for _, place := range c.lostIn(schema, pair.From, others[i], back) {
				lost[place] = true
			}
		}
		for part := range slices.Chunk(singles, singlesEach) {
			for i, back := range t.thereAndBack(ctx, part) {
				places := c.lostIn(schema, pair.From, part[i], back)
				if len(places) == 0 || slices.ContainsFunc(places, func(place string) bool { return lost[place] }) {
					continue
				}
				lost[places[0]] = true
				if found = append(found, part[i]); len(found) == mostLosing {
					return found
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

// travels are ways of objects to the second version of a pair and back.
type travels struct {
	*chapter

	pair corpus.Pair
	ends int  // how often the webhook had ended before
	late bool // it gave no answer in time
	left int  // requests for parts of what it refuses
}

// thereAndBack returns what becomes of objects, nil for those that the webhook refuses. One that gives no answer in time, or ends again and
// again, is not asked any more: other specs say so.
func (t *travels) thereAndBack(ctx context.Context, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.left = mostRefused
	return t.parts(ctx, objects)
}

func (t *travels) parts(ctx context.Context, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var back []*unstructured.Unstructured
	if len(objects) > 0 && !t.late && ctx.Err() == nil && t.env.Subject.Ends()-t.ends < suites.FewEnds {
		if back, t.late = t.convertAll(ctx, t.pair.To, objects); back != nil {
			back, t.late = t.convertAll(ctx, t.pair.From, back)
		}
	}
	if back != nil {
		return back
	}
	if len(objects) < 2 || t.left <= 0 {
		return make([]*unstructured.Unstructured, len(objects))
	}
	t.left -= 2
	half := len(objects) / 2
	return append(t.parts(ctx, objects[:half]), t.parts(ctx, objects[half:])...)
}

// convertAll asks the webhook for objects at a version; nil if it does not convert all. It also reports whether no answer came in time.
func (c *chapter) convertAll(ctx context.Context, to string, objects []*unstructured.Unstructured) (converted []*unstructured.Unstructured, late bool) {
	request, response := c.ask(ctx, to, objects...)
	judgement := request.Judge(response)
	if judgement.Rejected() != nil || len(judgement.Objects) != len(objects) {
		return nil, response.TimedOut
	}
	converted = make([]*unstructured.Unstructured, len(objects))
	for i, text := range judgement.Objects {
		converted[i] = &unstructured.Unstructured{}
		if converted[i].UnmarshalJSON(text) != nil {
			return nil, false
		}
	}
	return converted, false
}
