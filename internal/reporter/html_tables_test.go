package reporter

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/visible"
)

// TestHTMLOfTables shows each cell, and has none become markup.
func TestHTMLOfTables(t *testing.T) {
	t.Parallel()
	const evil = "<script>alert(1)</script>"
	tables := &Tables{Title: "a title", Notes: "the end", Tables: []Table{
		{Table: &visible.Table{Head: []string{"VERSION", "STORED"}, Rows: [][]any{{"v1", 3}, {evil, "\x1b[2J4"}}}, Title: evil, Notes: "two\nlines"},
	}}
	var b strings.Builder
	if err := tables.HTML(&b); err != nil {
		t.Fatal(err)
	}
	all := elements(t, []byte(b.String()))
	if scripts := named(all, "script"); len(scripts) > 0 {
		t.Errorf("there is a script: %s", content(scripts[0]))
	}
	var cells []string
	for _, n := range all {
		if n.Data == "th" || n.Data == "td" {
			cells = append(cells, content(n))
		}
	}
	if len(cells) != 6 || !slices.Equal(cells[:5], []string{"VERSION", "STORED", "v1", "3", evil}) || strings.Contains(cells[5], "\x1b") {
		t.Errorf("the cells are %q", cells)
	}
	if notes := named(all, "pre"); len(notes) != 2 || content(notes[0]) != "two\nlines" || content(notes[1]) != "the end" {
		t.Errorf("there are %d notes", len(notes))
	}
}
