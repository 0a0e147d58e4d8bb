package reports

import (
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
		"lower":       func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"brief":       brief,
		"anchor":      anchor,
		"base":        path.Base,
		"link":        link,
		"unsaid":      r.unsaid,
		"bad":         r.bad,
		"problems":    r.problems,
		"several":     func() bool { return len(subjects) > 1 },
		"number":      func(subject string) int { return slices.Index(subjects, subject) },
		"called":      subjectName,
		"parts":       Result.parts,
		"view":        (*Load).view,
		"given":       given,
		"title":       title,
		"percentiles": percentiles,
		"cold":        coldText,
		"percent":     percent,
		"bound":       func(calls *float64) string { return fmt.Sprintf("%.4g", *calls) },
	}
	t, err := template.New("page").Funcs(functions).Parse(page + loadPage)
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
