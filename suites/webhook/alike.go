package webhook

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// change is what a webhook makes of a value, whichever of several fields has it.
type change struct{ before, after any }

// alike looks for fields in which the webhook changes the same value in the same way, as where one function converts them all.
func (q *inquiry) alike(ctx context.Context, places []found) {
	for _, known := range q.c.changes {
		q.follow(ctx, places, known, 1)
	}
	tried := 0
	for _, f := range places {
		before, at := q.valueOf(f)
		if before == nil || f.effect.sort == "lost" && at == f.effect.at {
			continue // or it may never come back
		}
		if tried++; tried > fewSharing || !isShared(places, q.hasValue, fewSharing) {
			return
		}
		if after, is := q.becomes(ctx, f, before); is && !q.c.definition.schemaOf(f.pair.From).Equal(at, before, after) {
			if c := (change{before, after}); q.follow(ctx, places, c, fewSharing) {
				q.c.changes = append(q.c.changes, c)
			}
		}
	}
}

// valueOf returns the value that is lost or changed for no reason that is known, and where it is; nil if it is a boolean, which has only one other, or
// no scalar. An item of a list is lost when what it is known by comes back as another value.
func (q *inquiry) valueOf(f found) (any, string) {
	if f.trip != there(f.pair) || !f.isUnmeant() || !q.isOpen(f) {
		return nil, ""
	}
	at := f.effect.at
	if f.effect.sort == "lost" {
		at = cmp.Or(q.c.definition.schemaOf(f.pair.From).Identity(at), at)
	}
	value, _ := corpus.Value(f.subject.Object, at)
	if _, isBoolean := value.(bool); isBoolean || !isScalar(value) {
		return nil, ""
	}
	return value, at
}

// hasValue reports whether a finding is about a value that may be changed as others are.
func (q *inquiry) hasValue(f found) bool {
	value, _ := q.valueOf(f)
	return value != nil
}

// isShared reports whether something is so of some number of fields, of which those at several versions may be one.
func isShared(places []found, is func(found) bool, number int) bool {
	fields := map[string]bool{}
	for _, f := range places {
		if is(f) {
			fields[cmp.Or(f.home, f.path)] = true
		}
	}
	return len(fields) >= number
}

// follow notes of the places that change a value in a given way that they do, and reports whether these are at least some number of fields.
func (q *inquiry) follow(ctx context.Context, places []found, c change, number int) bool {
	follows := map[string]bool{}
	for _, f := range places {
		if _, at := q.valueOf(f); at != "" {
			after, is := q.becomes(ctx, f, c.before)
			follows[f.place()] = is && q.c.definition.schemaOf(f.pair.From).Equal(at, c.after, after)
		}
	}
	if !isShared(places, func(f found) bool { return follows[f.place()] }, number) {
		return false
	}
	for i, f := range places {
		if follows[f.place()] {
			places[i].alike = true
			places[i].when = fmt.Sprintf("in the same way, such as from %s to %s", inShort(c.before), inShort(c.after))
		}
	}
	return true
}

// becomes returns what comes back of a value in the place of the one that a finding is about, if anything does.
func (q *inquiry) becomes(ctx context.Context, f found, value any) (any, bool) {
	_, at := q.valueOf(f)
	if !q.mayAsk(ctx) {
		return nil, false
	}
	object := corpus.With(f.subject, at, value)
	if len(q.c.definition.schemaOf(f.pair.From).Problems(object.Object)) > 0 {
		return nil, false
	}
	back := q.c.journeys.roundTrip(ctx, f.pair, []*unstructured.Unstructured{object})[0].back.object
	return corpus.Value(back, at)
}
