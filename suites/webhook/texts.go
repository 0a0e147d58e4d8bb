package webhook

import (
	"context"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
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

// texts looks for what places take in texts, wherever in the object these are: one that the webhook cannot keep spoils what it keeps beside it. It begins
// with what is not alike, and takes with it what is.
func (q *inquiry) texts(ctx context.Context, places []found) {
	known := map[int]string{}
	for i, f := range places {
		if f.alike {
			known[i], places[i].when = f.when, ""
		}
	}
	q.beside(ctx, places, func(ctx context.Context, places []found, first int) {
		for _, s := range specials() {
			t := &turn{example: places[first].subject, without: func(of found) *unstructured.Unstructured { return q.plain(of, s) }, words: "where a text " + s.words}
			if q.share(ctx, places, first, t) {
				return
			}
		}
	})
	for i, when := range known {
		if places[i].when == "" {
			places[i].when = when
		}
	}
}

// plain returns the object of a finding without what is special about its texts, as far as the schema allows; nil if it has none.
func (q *inquiry) plain(f found, s special) *unstructured.Unstructured {
	schema, plain := q.c.definition.schemaOf(f.pair.From), f.subject
	for _, path := range corpus.Leaves(f.subject) {
		value, _ := corpus.Value(f.subject.Object, path)
		text, isText := value.(string)
		if !isText || s.plain(text) == text {
			continue
		}
		if with := corpus.With(plain, path, s.plain(text)); len(schema.Problems(with.Object)) == 0 {
			plain = with
		}
	}
	if plain == f.subject {
		return nil
	}
	return plain
}
