package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/shell"
)

func TestShellQuote(t *testing.T) {
	for word, want := range map[string]string{
		"":                        "''",
		"plain":                   "plain",
		"https://a-b.c:1/d_e@f=g": "https://a-b.c:1/d_e@f=g",
		"a,b+c":                   "a,b+c",
		"two words":               "'two words'",
		"it's":                    `'it'\''s'`,
		"$HOME":                   "'$HOME'",
		"a;b":                     "'a;b'",
		"*":                       "'*'",
		"~/x":                     "'~/x'",
		"ä":                       "'ä'",
		"a\nb":                    "'a\nb'",
		`back\slash`:              `'back\slash'`,
	} {
		if got := shell.Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestShellSplit(t *testing.T) {
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
		if got, err := shell.Split(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", command, got, err, want)
		}
	}
	for _, command := range []string{"'a", `"a`, `a\`} {
		if got, err := shell.Split(command); err == nil {
			t.Errorf("%q: %q", command, got)
		}
	}
	for _, word := range []string{"", "it's", "a b", `back\slash`, "$x", `"`} {
		if got, err := shell.Split(shell.Quote(word)); err != nil || len(got) != 1 || got[0] != word {
			t.Errorf("%q is %q after it was quoted and split", word, got)
		}
	}
	if got, err := shell.Split(strings.Join([]string{shell.Quote("a b"), shell.Quote("c")}, " ")); err != nil || len(got) != 2 {
		t.Errorf("got %q, %v", got, err)
	}
}
