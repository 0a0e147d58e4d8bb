package corpus

import (
	"regexp"
	"slices"
	"testing"
)

// TestWitnesses has patterns of public definitions, each with strings of which one goes where others do not.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		`^(Always|Never|IfNotPresent)$`:               {"Always", "Never", "IfNotPresent"},
		`^((?i)may|june|1[0-2]|[1-9])(:(may|june))?$`: {"may", "june", "10", "june:june"},
		`^([0-9]{1,5}(h|m|s|ms)){1,4}$`:               {"1h", "1m", "1s", "1ms", "1h1h"},
		`^(?:(?:[a-z]+\.)*[a-z]+|\*)$`:                {"a", "a.a", "*"},
		`^$|^https?://.+$`:                            {"", "http://a", "https://a"},
		`^[^/]+$`:                                     {"a"},
		`^[\x00-\x1f!]$`:                              {"!"},
		`^(\+|-)?\d{3}$`:                              {"111", "+111", "-111"},
	} {
		got := witnesses(pattern)
		for _, s := range want {
			if !slices.Contains(got, s) {
				t.Errorf("%s: got %q, want %q among them", pattern, got, s)
			}
		}
		for _, s := range got {
			if !regexp.MustCompile(pattern).MatchString(s) {
				t.Errorf("%s does not match %q", pattern, s)
			}
		}
	}
	if got := witnesses("("); got != nil {
		t.Errorf("no pattern, but %q", got)
	}
	if got := witnesses(`^(((a|b|c|d)(e|f|g|h)){2}[xyz]*){3}(i|j|k|l|m|n|o|p)(q|r|s|t|u|v|w|x){40}$`); len(got) == 0 || len(got) > mostWitnesses {
		t.Errorf("%d strings: %q", len(got), got)
	}
}
