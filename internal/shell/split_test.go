package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for command, want := range map[string][]string{
		"":                            nil,
		"  ":                          nil,
		"./bin/manager --port={port}": {"./bin/manager", "--port={port}"},
		"a  b\tc\nd":                  {"a", "b", "c", "d"},
		`'two words' "more words"`:    {"two words", "more words"},
		`a'b'"c"d`:                    {"abcd"},
		`''`:                          {""},
		`a\ b 'c\d' "e\"f\g"`:         {"a b", `c\d`, `e"f\g`},
		`"$HOME"`:                     {"$HOME"},
	} {
		if got, err := Split(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", command, got, err, want)
		}
	}
	for _, command := range []string{"'a", `"a`, `a\`} {
		if got, err := Split(command); err == nil {
			t.Errorf("%q: %q", command, got)
		}
	}
	for _, word := range []string{"", "it's", "a b", `back\slash`, "$x", `"`} {
		if got, err := Split(Quote(word)); err != nil || len(got) != 1 || got[0] != word {
			t.Errorf("%q is %q after it was quoted and split", word, got)
		}
	}
	if got, err := Split(strings.Join([]string{Quote("a b"), Quote("c")}, " ")); err != nil || len(got) != 2 {
		t.Errorf("got %q, %v", got, err)
	}
}
