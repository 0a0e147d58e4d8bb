package reporter

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/crdconform/crdconform/internal/visible"
)

//go:embed tables.html
var tablesPage string

// Tables are tables that make a page.
type Tables struct {
	Title  string
	Tables []Table
	Notes  string // lines below all of them
}

// Table is one of Tables. The first cell of a row is its name.
type Table struct {
	*visible.Table

	Title string
	Notes string // lines below it
}

// HTML writes the tables as one self-contained page.
func (t *Tables) HTML(w io.Writer) error {
	page, err := template.New("tables").Parse(tablesPage + style)
	if err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	return writePage(w, page, t)
}
