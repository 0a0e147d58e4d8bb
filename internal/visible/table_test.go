package visible

import (
	"net"
	"strings"
	"testing"
)

// TestTable has one table in both forms: text in cells becomes no markup, and numbers end below each other.
func TestTable(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"name", "n", "a|b"}, Numbers: 1}
	table.Add("é", 5, "x\x1b[2J")
	table.Add(Raw("`long`"), 12, "")
	if got, want := table.Text(), "name     n  a|b\né        5  x\uFFFD[2J\n`long`  12\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := table.Markdown(), "| name | n | a\\|b |\n| --- | ---: | --- |\n| é | 5 | x\uFFFD\\[2J |\n| `long` | 12 |  |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&Table{Rows: [][]any{{"a", "b"}, {"long"}}}).Text(); got != "a     b\nlong\n" {
		t.Errorf("got %q", got)
	}
}

// TestShortened has what does not fit left out, and says so.
func TestShortened(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for got, want := range map[string]string{
		First(strings.Split("abcdefg", ""), 5): "a, b, c, d, e and 2 more", First(nil, 2): "", First(names[:2], 2): "a, b", First(names, 2): "a, b and 1 more", First(names, 1): "a and 2 more",
		strings.Join(Few(names, 2, ", in report.html"), "; "): "a; b; and 1 more, in report.html", strings.Join(Few(names, 3, "!"), "; "): "a; b; c", strings.Join(names, ""): "abc",
		strings.Join(Strings([]net.IP{{10, 0, 0, 1}, {10, 0, 0, 2}}), " "): "10.0.0.1 10.0.0.2",
		Line(" a\n\tb "): "a b", Short("äb", 3): "äb", Short("äbc", 3): "äb...", Short("aäb", 2): "a...",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
