package webhook

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// special is what may be special about a text.
type special struct {
	words string
	plain func(text string) string // without what is special about it
}

// specials are what webhooks mistake in texts: how they encode them, and with what they separate, quote and compare them.
func specials() []special {
	without := func(is func(rune) bool) func(string) string {
		return func(text string) string {
			return strings.Map(func(r rune) rune {
				if is(r) {
					return 'x'
				}
				return r
			}, text)
		}
	}
	return []special{
		{"has a character beyond ASCII", without(func(r rune) bool { return r > unicode.MaxASCII })},
		{"has a control character or a line end", without(unicode.IsControl)},
		{"has a space at an end", strings.TrimSpace},
		{"has a quote or a backslash", without(func(r rune) bool { return strings.ContainsRune("\"'`\\", r) })},
		{"has punctuation", without(func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })},
		{"has an upper-case letter", strings.ToLower},
	}
}

// texts looks for what places take in texts, wherever in their objects these are: one that the webhook cannot keep spoils what it keeps beside it. What is
// changed in the same way as others (alike) shows nothing of that, and may be spoilt, too.
func (q *inquiry) texts(ctx context.Context, places []found) {
	known := map[int]string{}
	for i, f := range places {
		if f.alike {
			known[i], places[i].when = f.when, ""
		}
	}
	for _, s := range specials() {
		tried := 0
		for i, f := range places {
			if f.alike || !q.isOpen(f) || f.effect.sort == moved || tried == fewSharing || q.plain(f, s) == nil {
				continue
			}
			tried++
			t := &turn{example: f.subject, words: "where a text " + s.words, without: func(of found) *unstructured.Unstructured { return q.plain(of, s) }}
			if q.spoils(ctx, f, places, s) && q.share(ctx, places, i, t) {
				break
			}
		}
	}
	for i, when := range known {
		if places[i].when == "" {
			places[i].when = when
		}
	}
}

// spoils reports whether another place shows in an object without what is special about its own texts, beside the field of a finding.
func (q *inquiry) spoils(ctx context.Context, f found, places []found, s special) bool {
	steps, tried := fieldpath.Split(f.effect.at), 0
	if len(steps) < 2 {
		return false
	}
	field := fieldpath.Join(steps[:2])
	value, _ := corpus.Value(f.subject.Object, field)
	for _, other := range places {
		if other.pair != f.pair || !q.isOpen(other) || fieldpath.Within(other.effect.at, field) || tried == fewSharing {
			continue
		}
		plain := q.plain(other, s)
		if plain == nil {
			continue
		}
		both := plain.DeepCopy()
		if _, has := corpus.Value(plain.Object, field); has || unstructured.SetNestedField(both.Object, value, steps[0].Key, steps[1].Key) != nil {
			continue
		}
		if tried++; q.mayAsk(ctx) && q.isSpoilt(ctx, other, plain, both) {
			return true
		}
	}
	return false
}

// isSpoilt reports whether what a finding is about comes back from the first of two valid objects and not from the second.
func (q *inquiry) isSpoilt(ctx context.Context, f found, objects ...*unstructured.Unstructured) bool {
	schema := q.c.definition.schemaOf(f.pair.From)
	if len(schema.Problems(objects[1].Object)) > 0 {
		return false
	}
	var isLost []bool
	for i, t := range q.c.journeys.roundTrip(ctx, f.pair, objects) {
		isLost = append(isLost, t.back.object == nil || isLostAt(schema.Losses(objects[i].Object, t.back.object), f.effect.at))
	}
	return !isLost[0] && isLost[1]
}

// plain returns the object of a finding without what is special about its texts, as far as the schema allows; nil if it has none.
func (q *inquiry) plain(f found, s special) *unstructured.Unstructured {
	schema, all := q.c.definition.schemaOf(f.pair.From), map[string]string{}
	whole := f.subject
	for _, path := range corpus.Leaves(f.subject) {
		value, _ := corpus.Value(f.subject.Object, path)
		if text, isText := value.(string); isText && s.plain(text) != text {
			all[path] = s.plain(text)
			whole = corpus.With(whole, path, all[path])
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(schema.Problems(whole.Object)) == 0 {
		return whole
	}
	plain := f.subject
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if with := corpus.With(plain, path, all[path]); len(schema.Problems(with.Object)) == 0 {
			plain = with
		}
	}
	if plain == f.subject {
		return nil
	}
	return plain
}
