package reporter

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
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

// Limits of a page, so that browsers can show one with thousands of failures.
const (
	mostProblems  = 300     // that are shown in full above all others
	mostExchanges = 400_000 // bytes of requests and responses
	mostExchange  = 8_000   // characters of one of them
)

// policy lets a page run its own script and load nothing.
func policy() string {
	hash := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'"
}

// mostInFull is how many requirements of a run that passes are shown in full: a page of all that are checked of an API server could not be
// mailed, and nobody would read it.
const mostInFull = 300

// HTML writes the report as one self-contained page.
func HTML(r *reports.Report, w io.Writer) error {
	subjects, causes, problems, room := Subjects(r), Causes(r), problems(r), mostExchanges
	if passes(r) {
		room = 0 // what is tolerated is not looked into by most, and its files are in the folder
	}
	listed := problems[:min(len(problems), mostProblems)]
	above := map[string]bool{}
	for _, result := range listed {
		above[anchor(result.ID, result.Subject)] = true
	}
	explained, terse := explainedIn(r), passes(r) && len(r.Results) > mostInFull
	places, placesNamed := placesOf(r)
	functions := pageFunctions()
	maps.Copy(functions, template.FuncMap{
		"headline":  func() string { return Headline(r) },
		"verdict":   func() string { verdict, _ := parted(r); return verdict },
		"reason":    func() string { _, reason := parted(r); return reason },
		"shares":    func() []share { return shares(r) },
		"passed":    func() bool { return passes(r) },
		"unsaid":    func() string { return unsaid(r) },
		"facts":     func() []Fact { return Facts(r) },
		"terse":     func() bool { return terse },
		"unpassed":  func() []Fact { return unpassedFacts(r) },
		"runFacts":  func() []Fact { return runFacts(r) },
		"verdicts":  func() []requirement.Verdict { return Verdicts(r) },
		"chapters":  func() []Chapter { return Chapters(r) },
		"subjects":  func() []string { return subjects },
		"several":   func() bool { return len(subjects) > 1 },
		"number":    func(subject string) int { return slices.Index(subjects, subject) },
		"concerned": func() []int { return concerned(listed, subjects) },
		"above":     func(result reports.Result) bool { return above[anchor(result.ID, result.Subject)] },
		"causes":    func() []Cause { return causes[:min(len(causes), mostProblems)] },
		"problems":  func() []reports.Result { return listed },
		"unlisted":  func() string { return unlisted(len(problems) - len(listed)) },
		"documents": func() []requirement.Document { return documents(r) },
		"places":    func() []place { return places },
		"placesOf":  placesNamed,
		"exchange":  func(result reports.Result) []Part { return exchange(result, &room) },
		"about":     func(causes []Cause) []int { return concernedBy(causes, subjects) },
		"whom":      func() string { return whom(r) },
		"explains":  func(id requirement.ID) string { return explained[id] },
		"parts":     func(result reports.Result) []pagePart { return pageParts(r, result) },
		"foundIn":   func(leg reports.Leg, step, of string) []reports.Result { return foundIn(r, leg, step, of) },
		"disrupted": func() []disruptionView { return disruptionViews(r) },
	})
	t, err := template.New("page").Funcs(functions).Parse(page + style + changesPage + loadPage + upgradePage + disruptionPage)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return writePage(w, t, r)
}

// writePage writes a page all of whose characters can be seen. It writes nothing if the template fails.
func writePage(w io.Writer, page *template.Template, data any) error {
	var b strings.Builder
	if err := page.Execute(&b, data); err != nil {
		return err
	}
	_, err := io.WriteString(w, visible.Graphic(b.String()))
	return err
}

// pageFunctions returns the template functions that do not depend on the report.
func pageFunctions() template.FuncMap {
	return template.FuncMap{
		"sorts":   sorts,
		"lower":   func(v any) string { return strings.ToLower(fmt.Sprint(v)) },
		"brief":   brief,
		"anchor":  anchor,
		"base":    path.Base,
		"link":    link,
		"policy":  policy,
		"script":  func() template.HTML { return template.HTML("<script>" + script + "</script>") }, //nolint:gosec // it is ours
		"called":  subjectName,
		"counted": func(n int, thing string) string { return visible.Count(n, thing, "") },
		"linked":  linked,
		"violating": func(all []Cause) bool {
			return slices.ContainsFunc(all, func(c Cause) bool { return c.Violating() != nil })
		},
		"betweenVersions":   func(all []Cause) bool { return slices.ContainsFunc(all, func(c Cause) bool { return c.Pairs != nil }) },
		"only":              func(c Cause) []Cause { return []Cause{c} },
		"minute":            func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"view":              viewOf,
		"given":             given,
		"title":             title,
		"words":             words,
		"percentiles":       percentiles,
		"times":             timeRows,
		"watched":           stageWatched,
		"quantity":          quantity,
		"margin":            objectiveMargin,
		"probed":            probeOutcome,
		"rowClass":          rowClass,
		"rowName":           compare.Name,
		"percentOf":         changePercent,
		"cold":              coldText,
		"percent":           percent,
		"bound":             func(calls *float64) string { return fmt.Sprintf("%.4g", *calls) },
		"rfc3339":           func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"summary":           Summary,
		"cellOf":            cellOf,
		"disruptionColumns": disruptionColumns,
		"cellText":          cellText,
		"changeClass": func(s reports.ChangeSort) string {
			return map[reports.ChangeSort]string{reports.NewlyFailing: "worse", reports.NoLongerJudged: "worse", reports.NewlyPassing: "better", reports.NewlyJudged: "better"}[s]
		},
	}
}

// longHeadline is how many bytes of a headline are more than a line.
const longHeadline = 90

// parted parts the headline of a run that could not be judged from the reason, if that is long.
func parted(r *reports.Report) (verdict, reason string) {
	if verdict = Headline(r); r.Outcome == reports.Unjudged && len(verdict) > longHeadline {
		verdict, reason, _ = strings.Cut(verdict, ": ")
	}
	return verdict, reason
}

// share is how many results have a verdict, or count as if they had it.
type share struct {
	Verdict requirement.Verdict
	Count   int
	Text    string
}

// shares are the parts of all results, as the headline counts them.
func shares(r *reports.Report) []share {
	counts, strictly := maps.Clone(r.Counts), ""
	if n := counts[requirement.Tolerated]; r.Strict && n > 0 {
		counts[requirement.Failed] += n
		delete(counts, requirement.Tolerated)
		strictly = fmt.Sprintf(", %d of them %s", n, requirement.Tolerated)
	}
	var all []share
	for _, v := range Verdicts(&reports.Report{Counts: counts}) {
		if counts[v] == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", counts[v], v)
		if v == requirement.Failed {
			text += strictly
		}
		all = append(all, share{v, counts[v], text})
	}
	return all
}

// problems returns the results that are shown above all others: those that failed, then those that are tolerated unless strict, then those
// that could not be judged.
func problems(r *reports.Report) []reports.Result {
	all := r.With(requirement.Failed)
	if r.Strict {
		all = append(all, r.With(requirement.Tolerated)...)
	}
	return append(all, r.With(requirement.Errored)...)
}

// concerned returns the numbers of the subjects of results.
func concerned(results []reports.Result, subjects []string) []int {
	var all []int
	for i, subject := range subjects {
		if slices.ContainsFunc(results, func(r reports.Result) bool { return r.Subject == subject }) {
			all = append(all, i)
		}
	}
	return all
}

// concernedBy returns the numbers of the subjects of causes.
func concernedBy(causes []Cause, subjects []string) []int {
	var results []reports.Result
	for _, c := range causes {
		for _, subject := range c.about {
			results = append(results, reports.Result{Subject: subject})
		}
	}
	return concerned(results, subjects)
}

// whom says in a few words what was judged: the definitions, and the API server.
func whom(r *reports.Report) string {
	const most = 3
	var names, parts []string
	if r.Webhook != nil {
		for _, k := range r.Webhook.Kinds {
			names = append(names, nonempty(k.Definition)...)
		}
	}
	for _, leg := range r.Upgrade {
		for _, k := range leg.Kinds {
			if !slices.Contains(names, k.Definition) {
				names = append(names, k.Definition)
			}
		}
	}
	switch n := len(names); {
	case n > most:
		parts = append(parts, fmt.Sprintf("%d definitions", n))
	case n > 0:
		parts = append(parts, listed(names))
	}
	if r.Cluster != nil {
		parts = append(parts, fmt.Sprintf("Kubernetes %s (%s)", r.Cluster.Version, r.Cluster.Name))
	}
	return strings.Join(parts, " on ")
}

// unlisted says that there are more problems than a page shows above all others.
func unlisted(n int) string {
	if n == 0 {
		return ""
	}
	return visible.More(n) + ", which are shown with their chapters"
}

// exchange returns the requests and responses of a result that still fit on the page.
func exchange(r reports.Result, room *int) []Part {
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
		text = visible.Cut(text, mostExchange)
		*room -= len(text)
		parts = append(parts, Part{Name: name, Text: text, Code: true})
	}
	return parts
}

// anchor returns the target of links to something about a subject.
func anchor(what any, subject string) string {
	return visible.Text(joined(fmt.Sprint(what), "@", subject))
}

// link returns a link to a file in the folder, or "" if it would lead out of the folder or the file is missing.
func link(f reports.File) string {
	if !layout.Local(f.Path) || f.Missing {
		return ""
	}
	return (&url.URL{Path: f.Path}).EscapedPath()
}
