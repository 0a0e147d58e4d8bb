package reports

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLines has what a terminal shows be harmless and narrow, whatever the names and reasons.
func TestLines(t *testing.T) {
	stopped := one(Stage{Name: "x", Requests: 10, Judged: 1, JudgeEvery: 10, Partial: true, Unanswered: 2, ObjectsPerSecond: 1e9})
	for name, l := range map[string]*Load{
		"sample": sample(t).Load, "grid": grid(t).Load, "wide": wide(t).Load, "hostile": hostileEverywhere(t).Load, "stopped": stopped, "nothing": {},
	} {
		for _, line := range l.Lines() {
			if n := utf8.RuneCountInString(line); n > columnsOfTerminal {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
			if line != Visible(line) || strings.Contains(line, "\n") {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
	text := strings.Join(stopped.Lines(), "\n")
	for _, want := range []string{"\nstopped   before its end, with 2 requests waiting for a response", "\njudged    1 of 10, since one in 10 was asked for"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if n := len(wide(t).Load.Lines()); n > 48 {
		t.Errorf("twenty stages of which all fail take %d lines", n)
	}
	if got := (&Load{}).Lines(); len(got) > 0 {
		t.Errorf("nothing has the lines %q", got)
	}
}
