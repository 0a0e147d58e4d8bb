package reporter

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
)

// TestLines has what a terminal shows be harmless and narrow, whatever the names and reasons.
func TestLines(t *testing.T) {
	stopped := one(loadgen.Stage{Name: "x", Requests: 10, Partial: true, Unanswered: 2, ObjectsPerSecond: 1e9})
	for name, l := range map[string]*loadgen.Load{
		"sample": sample(t).Load, "grid": grid(t).Load, "wide": wide(t).Load, "hostile": hostileEverywhere(t).Load, "stopped": stopped, "nothing": {},
	} {
		for _, line := range LoadLines(l, Columns) {
			if n := utf8.RuneCountInString(line); n > Columns {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
			if line != visible.Text(line) || strings.Contains(line, "\n") {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
	for _, columns := range []int{-1, 40, 60, 99, 1000} {
		for _, line := range labelled("void", strings.Repeat("word ", 50)+strings.Repeat("long", 50), columns) {
			if n, most := utf8.RuneCountInString(line), min(max(columns, 40), Columns); n > most {
				t.Errorf("of %d columns a line has %d: %s", columns, n, line)
			}
		}
	}
	if narrow, wide := len(LoadLines(sample(t).Load, 50)), len(LoadLines(sample(t).Load, Columns)); narrow <= wide {
		t.Errorf("in 50 columns there are %d lines, in %d there are %d", narrow, Columns, wide)
	}
	text := strings.Join(LoadLines(stopped, Columns), "\n")
	if want := "\nstopped   before its end, with 2 requests waiting for a response"; !strings.Contains(text, want) {
		t.Errorf("there is no %q in\n%s", want, text)
	}
	if n := len(LoadLines(wide(t).Load, Columns)); n > 52 {
		t.Errorf("twenty stages of which all fail take %d lines", n)
	}
	if got := LoadLines((&loadgen.Load{}), Columns); len(got) > 0 {
		t.Errorf("nothing has the lines %q", got)
	}
}
