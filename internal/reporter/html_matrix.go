package reporter

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

//go:embed matrix.html
var matrixPage string

// HTML writes the matrix as one self-contained page: differences first, then everything.
func (m *Matrix) HTML(w io.Writer) error {
	functions := template.FuncMap{
		"lower": func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"why": func(c MatrixCell) string {
			if c.Verdict == requirement.Passed {
				return ""
			}
			return brief(c.Reason)
		},
		"word":  MatrixCell.word,
		"brief": brief,
	}
	t, err := template.New("matrix").Funcs(functions).Parse(matrixPage + style)
	if err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	return writePage(w, t, m)
}
