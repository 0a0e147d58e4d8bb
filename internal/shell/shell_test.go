package shell

import "testing"

func TestQuote(t *testing.T) {
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
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
