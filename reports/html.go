package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

//go:embed page.html
var page string

// HTML writes the report as one page that needs nothing from anywhere.
func (r *Report) HTML(w io.Writer) error {
	functions := template.FuncMap{
		"lower":   func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"first":   firstLine,
		"sources": sources,
		"curve":   r.curve,
		"bad": func(result Result) bool {
			return r.Failing(result) || result.Verdict == requirement.Errored
		},
	}
	t, err := template.New("page").Funcs(functions).Parse(page)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return t.Execute(w, r)
}

// curve returns the chart of the load as an SVG element.
func (r *Report) curve() (template.HTML, error) {
	var b bytes.Buffer
	if err := r.Load.curve(&b); err != nil {
		return "", err
	}
	// An element inside of a page has no XML declaration and no document type.
	svg := b.String()
	if at := strings.Index(svg, "<svg"); at > 0 {
		svg = svg[at:]
	}
	return template.HTML(svg), nil //nolint:gosec // it was drawn here, from numbers
}
