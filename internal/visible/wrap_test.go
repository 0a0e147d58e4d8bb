package visible

import (
	"slices"
	"testing"
)

func TestWrapped(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                   {""},
		"a  b":               {"a  b"},
		"one two three four": {"one two", "three four"},
		"  one two three":    {"  one two", "  three"},
		"a longerthanthat b": {"a", "longerthanthat", "b"},
		"ééééé ééééé":        {"ééééé", "ééééé"},
	} {
		if got := Wrapped(line, 10); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
