package visible

import "testing"

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
