package webhook

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// survivors knows from which places values come back, and so what of a loss is meant.
type survivors struct {
	material

	known map[corpus.Pair]*corpus.Survivors
}

// on returns the places from which a value comes back on the way of a pair.
func (s *survivors) on(ctx context.Context, pair corpus.Pair) *corpus.Survivors {
	if known := s.known[pair]; known != nil {
		return known
	}
	surviving, objects := corpus.NewSurvivors(s.definition.schemaOf(pair.From)), s.stock.each(ctx, pair.From)
	for i, t := range s.journeys.roundTrip(ctx, pair, objects) {
		if t.back.object != nil {
			surviving.Add(objects[i], t.back.object)
		}
	}
	if ctx.Err() == nil {
		s.known[pair] = surviving
	}
	return surviving
}

// around is the place that another is in.
func around(place string) string {
	steps := fieldpath.Split(place)
	return fieldpath.Join(steps[:len(steps)-1])
}

// mostAbout is how many requests a spec may send to learn what became of what is lost.
const mostAbout = 200

// keptElsewhere says why what the other version has no field for is lost by mistake all the same. Both results are empty if it is not known to be. A
// way on which some objects lose the field does not count as keeping it.
//   - that version shows it in another field, which it returns as well
//   - what a third version lacks as well comes back from there
//   - it comes back from that version to a third one that has the field
func (s *survivors) keptElsewhere(ctx context.Context, f found, isLost func(corpus.Pair, string) bool, asked *int) (instead, at string) {
	if at = s.follows(ctx, f, f.pair, asked); at != "" {
		return at + " in its place", at
	}
	for _, other := range s.crossings.pairs(ctx) {
		if other.From != f.pair.From || other.To == f.pair.To || s.definition.oneWay(other) || s.definition.schemaOf(other.To).Has(f.path) || !s.on(ctx, other).Has(f.path) || isLost(other, f.path) {
			continue
		}
		if s.follows(ctx, f, other, asked) == "" {
			return "no field of that name, and " + there(other) + " keeps it, though " + other.To + " has none either", ""
		}
	}
	for _, other := range s.crossings.pairs(ctx) {
		if other.From != f.pair.From && other.To == f.pair.To && !s.definition.oneWay(other) && s.definition.schemaOf(other.From).Has(f.path) && s.on(ctx, other).Has(f.path) && !isLost(other, f.path) {
			return "no field of that name, and " + there(other) + " keeps it", ""
		}
	}
	return "", ""
}

// follows returns a field of the second version of a pair, outside of metadata, that is converted otherwise from the object of a finding than
// from that without what is lost, or with another value there. It is empty if there is none, or nothing more may be asked.
func (s *survivors) follows(ctx context.Context, f found, pair corpus.Pair, asked *int) string {
	schema := s.definition.schemaOf(pair.From)
	if f.effect.at == "" || schema == nil || *asked >= mostAbout || s.connection.isSilent() || s.talk.isLateHere() {
		return ""
	}
	if _, has := corpus.Value(f.subject.Object, f.effect.at); !has {
		return ""
	}
	*asked++
	if places := s.shown(ctx, pair, f.subject, f.effect.at); len(places) > 0 {
		*asked += sameAgain
		return s.definition.schemaOf(pair.To).Pattern(places[0])
	}
	return ""
}

// sameAgain is how often an object is converted again to learn what differs from one request to the next.
const sameAgain = 2

// shown returns the places of the second version of a pair, outside of metadata, that are converted otherwise from an object than from that
// without a value, or with another one in its place.
func (s *survivors) shown(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, path string) []string {
	schema, others := s.definition.schemaOf(pair.From), []*unstructured.Unstructured{object}
	without, member := corpus.Without(object, path), (*unstructured.Unstructured)(nil)
	if schema.Prepare(without.Object); len(schema.Problems(without.Object)) == 0 {
		others = append(others, without)
	} else if member = s.otherMember(ctx, object, without, path); member != nil {
		others = append(others, member)
	}
	if variant := changed(schema, object, nil, path); variant != nil {
		others = append(others, variant)
	}
	outcomes := s.talk.convert(ctx, pair, others)
	var places []string
	for i, o := range outcomes {
		if outcomes[0].object == nil || o.object == nil {
			continue
		}
		for _, l := range apart(s.definition.schemaOf(pair.To), outcomes[0].object, o.object) {
			if _, has := corpus.Value(outcomes[0].object, l.Path); !has && others[i] == member {
				continue // it shows what the object does not have
			}
			if !spoilt(l.Path, object, outcomes[0], o) && !spoilt(l.Path, others[i], o, outcomes[0]) {
				places = append(places, l.Path)
			}
		}
	}
	if len(places) == 0 {
		return nil
	}
	for range sameAgain {
		if o := s.talk.convert(ctx, pair, others[:1])[0]; o.object != nil {
			for _, l := range apart(s.definition.schemaOf(pair.To), outcomes[0].object, o.object) {
				places = slices.DeleteFunc(places, func(path string) bool { return fieldpath.Within(l.Path, path) || fieldpath.Within(path, l.Path) })
			}
		}
	}
	return places
}

// otherMember returns a valid copy of an object that has another field beside a place than the one there, for one that must have either and of which
// nothing but that it is there can be changed. It is nil if none was found.
func (s *survivors) otherMember(ctx context.Context, object, without *unstructured.Unstructured, path string) *unstructured.Unstructured {
	schema := s.definition.schemaOf(object.GroupVersionKind().Version)
	value, _ := corpus.Value(object.Object, path)
	if fields, is := value.(map[string]any); !is || len(fields) > 0 {
		return nil
	}
	for _, donor := range s.stock.each(ctx, object.GroupVersionKind().Version) {
		members, _ := corpus.Value(donor.Object, around(path))
		fields, _ := members.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			other := corpus.With(without, fieldpath.Child(around(path), name), fields[name])
			if _, has := corpus.Value(other.Object, path); !has && len(schema.Problems(other.Object)) == 0 {
				return other
			}
		}
	}
	return nil
}

// spoilt reports whether a place is converted as it is from one object, and nothing comes of it from another. Then a value elsewhere does not
// show there, but kept the webhook from converting the rest, as one does that it cannot decode.
func spoilt(path string, object *unstructured.Unstructured, converted, other outcome) bool {
	before, has := corpus.Value(object.Object, path)
	after, is := corpus.Value(converted.object, path)
	lost, _ := corpus.Value(other.object, path)
	return has && is && corpus.IsEmpty(lost) && reflect.DeepEqual(before, after)
}
