package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

//go:embed page.html
var page string

// HTML writes the report as one page that needs nothing from anywhere.
func (r *Report) HTML(w io.Writer) error {
	subjects := r.Subjects()
	functions := template.FuncMap{
		"lower":    func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"brief":    brief,
		"anchor":   anchor,
		"base":     path.Base,
		"curve":    r.curve,
		"link":     link,
		"unsaid":   r.unsaid,
		"bad":      r.bad,
		"problems": r.problems,
		"several":  func() bool { return len(subjects) > 1 },
		"number":   func(subject string) int { return slices.Index(subjects, subject) },
		"called":   subjectName,
		"parts":    Result.parts,
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

// problems are the results that have a place of their own above all others: those that failed, then those that could not
// be judged.
func (r *Report) problems() []Result {
	failed := slices.DeleteFunc(slices.Clone(r.Results), func(result Result) bool { return !r.Failing(result) })
	return append(failed, r.With(requirement.Errored)...)
}

// bad tells whether a result is one of the problems.
func (r *Report) bad(result Result) bool {
	return r.Failing(result) || result.Verdict == requirement.Errored
}

// anchor is what a link to something about a subject leads to.
func anchor(what any, subject string) string { return Visible(joined(fmt.Sprint(what), "@", subject)) }

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
