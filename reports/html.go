package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

//go:embed page.html
var page string

// HTML writes the report as one page that needs nothing from anywhere.
func (r *Report) HTML(w io.Writer) error {
	functions := template.FuncMap{
		"lower":   func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"brief":   brief,
		"sources": sources,
		"curve":   r.curve,
		"link":    link,
		"unsaid":  r.unsaid,
		"bad": func(result Result) bool {
			return r.Failing(result) || result.Verdict == requirement.Errored
		},
	}
	t, err := template.New("page").Funcs(functions).Parse(page)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b strings.Builder
	if err = t.Execute(&b, r); err != nil {
		return err
	}
	_, err = io.WriteString(w, Visible(b.String()))
	return err
}

// link returns a link to a file in the folder, and nothing for what would lead out of it.
func link(f File) string {
	if !f.local() {
		return ""
	}
	return (&url.URL{Path: f.Path}).EscapedPath()
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
