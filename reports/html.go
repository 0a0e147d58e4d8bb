package reports

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/requirement"
)

var (
	//go:embed page.html
	page string
	//go:embed changes.html
	changesPage string
	//go:embed style.html
	style string
	//go:embed page.js
	script string
)

// What a page has room for, so that browsers show one with thousands of failures too.
const (
	mostProblems  = 300     // that are told in full above all others
	mostExchanges = 400_000 // bytes of requests and responses
	mostExchange  = 8_000   // characters of one of them
)

// policy lets a page run its own script and load nothing.
func policy() string {
	hash := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'"
}

// HTML writes the report as one page that needs nothing from anywhere.
func (r *Report) HTML(w io.Writer) error {
	subjects, problems, room := r.Subjects(), r.problems(), mostExchanges
	listed := problems[:min(len(problems), mostProblems)]
	above := map[string]bool{}
	for _, result := range listed {
		above[anchor(result.ID, result.Subject)] = true
	}
	functions := template.FuncMap{
		"lower":       func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"brief":       brief,
		"anchor":      anchor,
		"base":        path.Base,
		"link":        link,
		"unsaid":      r.unsaid,
		"policy":      policy,
		"script":      func() template.HTML { return template.HTML("<script>" + script + "</script>") }, //nolint:gosec // it is ours
		"above":       func(result Result) bool { return above[anchor(result.ID, result.Subject)] },
		"problems":    func() []Result { return listed },
		"unlisted":    func() string { return unlisted(len(problems) - len(listed)) },
		"documents":   r.documents,
		"exchange":    func(result Result) []Part { return result.exchange(&room) },
		"several":     func() bool { return len(subjects) > 1 },
		"number":      func(subject string) int { return slices.Index(subjects, subject) },
		"concerned":   func() []int { return concerned(listed, subjects) },
		"called":      subjectName,
		"parts":       Result.parts,
		"view":        (*Load).view,
		"given":       given,
		"title":       title,
		"words":       words,
		"percentiles": percentiles,
		"cold":        coldText,
		"percent":     percent,
		"bound":       func(calls *float64) string { return fmt.Sprintf("%.4g", *calls) },
		"rfc3339":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"changeClass": func(s ChangeSort) string {
			return map[ChangeSort]string{NewlyFailing: "worse", NoLongerJudged: "worse", NewlyPassing: "better", NewlyJudged: "better"}[s]
		},
	}
	t, err := template.New("page").Funcs(functions).Parse(page + style + changesPage + loadPage)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b strings.Builder
	if err = t.Execute(&b, r); err != nil {
		return err
	}
	_, err = io.WriteString(w, visible(b.String()))
	return err
}

// problems are the results that have a place of their own above all others: those that failed, then those that could not
// be judged.
func (r *Report) problems() []Result {
	failed := slices.DeleteFunc(slices.Clone(r.Results), func(result Result) bool { return !r.Failing(result) })
	return append(failed, r.With(requirement.Errored)...)
}

// concerned are the numbers of the subjects that results are about.
func concerned(results []Result, subjects []string) []int {
	var all []int
	for i, subject := range subjects {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Subject == subject }) {
			all = append(all, i)
		}
	}
	return all
}

// unlisted says that there are more problems than a page shows above all others.
func unlisted(n int) string {
	if n == 0 {
		return ""
	}
	return more(n) + ", which are told with their chapters"
}

// exchange is the requests and responses of a result, as far as there is room left.
func (r Result) exchange(room *int) []Part {
	var parts []Part
	for _, file := range r.Files {
		name := path.Base(file.Path)
		if !strings.HasPrefix(name, "request") && !strings.HasPrefix(name, "response") || len(file.Data) == 0 || *room < mostExchange {
			continue
		}
		text := string(file.Data)
		var pretty bytes.Buffer
		if json.Indent(&pretty, bytes.TrimSpace(file.Data), "", "  ") == nil {
			text = pretty.String()
		}
		text = cut(text, mostExchange)
		*room -= len(text)
		parts = append(parts, Part{Name: name, Text: text, Code: true})
	}
	return parts
}

// anchor is what a link to something about a subject leads to.
func anchor(what any, subject string) string { return Visible(joined(fmt.Sprint(what), "@", subject)) }

// link returns a link to a file in the folder, and nothing for what would lead out of it or is not there.
func link(f File) string {
	if !f.local() || f.Missing {
		return ""
	}
	return (&url.URL{Path: f.Path}).EscapedPath()
}
