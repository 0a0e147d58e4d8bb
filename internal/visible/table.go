package visible

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is rows of cells. Numbers is how many columns after the first end below each other.
type Table struct {
	Head    []string
	Rows    [][]any
	Numbers int
}

// Raw is a cell with Markdown of its own.
type Raw string

// Add adds a row.
func (t *Table) Add(cells ...any) { t.Rows = append(t.Rows, cells) }

// Text returns lines whose columns are below each other.
func (t *Table) Text() string {
	rows := t.cells(Text)
	if len(t.Head) == 0 {
		rows = rows[1:]
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 && i <= t.Numbers {
				cell, space = space+cell, ""
			}
			line.WriteString(cell + space + "  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// Markdown returns the table in Markdown.
func (t *Table) Markdown() string {
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "---"
		if i > 0 && i <= t.Numbers {
			rule[i] = "---:"
		}
	}
	var b strings.Builder
	for _, row := range slices.Insert(t.cells(Markdown), 1, rule) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// cells returns the texts of the head and of all rows. Those that are not raw are made by a function.
func (t *Table) cells(made func(string) string) [][]string {
	rows := make([][]string, 1, len(t.Rows)+1)
	for _, head := range t.Head {
		rows[0] = append(rows[0], made(head))
	}
	for _, cells := range t.Rows {
		row := make([]string, 0, len(cells))
		for _, cell := range cells {
			text, raw := cell.(Raw)
			if !raw {
				text = Raw(made(fmt.Sprint(cell)))
			}
			row = append(row, string(text))
		}
		rows = append(rows, row)
	}
	return rows
}

// Markdown escapes text in a line, so that it is not taken for markup.
func Markdown(s string) string {
	return strings.NewReplacer(
		"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "~", "\\~", "$", "\\$", "&", "&amp;", "<", "&lt;", "|", "\\|", "[", "\\[", "\n", " ",
	).Replace(Text(s))
}
