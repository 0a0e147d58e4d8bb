package recording

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/reporter"
)

// TestText says of each list how many of it are not shown, and how many requests an interruption left, which are not among those
// without an answer.
func TestText(t *testing.T) {
	t.Parallel()
	some := func(n int) []Difference {
		return slices.Repeat([]Difference{{What: FieldDiffers}}, n)
	}
	failures := slices.Repeat([]Failure{{}}, shownMost+4)
	const all = "--output json shows all\n"
	for name, test := range map[string]struct {
		result Comparison
		want   []string
		no     string
	}{
		"more than is shown": {
			Comparison{Differences: some(shownMost + 1), Chance: some(shownMost + 2), Redaction: some(shownMost + 3), Failures: failures},
			[]string{"\nand 1 more; " + all, "not counted: and 2 more; " + all, "not counted: and 3 more; " + all, "failed on both sides: and 4 more; " + all},
			"\x00",
		},
		"all is shown":           {Comparison{Differences: some(shownMost), Chance: some(shownMost), Failures: failures[:shownMost]}, nil, "more"},
		"requests are left":      {Comparison{Requests: 20, Left: 13, Compared: 7, Interrupted: true}, []string{"\nInterrupted with 13 of 20 requests left\n0 differences in 7 requests, "}, "\x00"},
		"some had no answer":     {Comparison{Requests: 20, Left: 13, Compared: 5, Interrupted: true, Uncompared: "why"}, []string{"\n2 requests not compared, the first one because: why\nInterrupted with 13 of 20 "}, "\x00"},
		"with differences":       {Comparison{Requests: 1, Compared: 1, Interrupted: true, Differences: some(1)}, []string{"Interrupted with 0 of 1 request left; some differences may be by chance, because not all were asked about again\n1 difference in 1 request, "}, "\x00"},
		"it was not interrupted": {Comparison{Requests: 20, Compared: 20}, []string{"A: A\nB: B\n\n0 differences in 20 requests, "}, "\x00"},
	} {
		var b strings.Builder
		test.result.Text(reporter.Screen{Out: &b, More: "--output json"}, "A", "B", nil, true)
		for _, want := range test.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: it says\n%swant %q", name, b.String(), want)
			}
		}
		if strings.Contains(b.String(), test.no) {
			t.Errorf("%s: it says\n%s", name, b.String())
		}
	}
}

func TestShownValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "nothing", `"a"`: `"a"`, strings.Repeat("é", 200): strings.Repeat("é", 150) + "... (400 bytes)"} {
		var raw json.RawMessage
		if value != "" {
			raw = json.RawMessage(value)
		}
		if got := shownValue(raw); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}
