package reporter

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// elements parses a page as browsers do, and returns its elements.
func elements(t *testing.T, text []byte) []*html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all []*html.Node
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			all = append(all, node)
		}
	}
	return all
}

// named returns the elements with a name.
func named(all []*html.Node, name string) []*html.Node {
	return slices.DeleteFunc(slices.Clone(all), func(n *html.Node) bool { return n.Data != name })
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// content returns the text in an element.
func content(n *html.Node) string {
	var b strings.Builder
	for node := range n.Descendants() {
		if node.Type == html.TextNode {
			b.WriteString(node.Data)
		}
	}
	return b.String()
}

// hostileEverywhere is a report whose every text comes from outside.
func hostileEverywhere(t *testing.T) *reports.Report {
	t.Helper()
	r := sample(t)
	r.Tool, r.Error, r.Cluster.Name, r.Cluster.Version = hostile, hostile, hostile, hostile
	for i := range r.Webhook.Kinds {
		r.Webhook.Kinds[i] = reports.Kind{Definition: hostile, Group: hostile, Kind: hostile, Versions: []string{hostile, "v1"}, Lossy: []string{hostile}, Gaps: []string{hostile}}
	}
	r.Notes = []string{hostile}
	r.Load.Objectives = []loadgen.Objective{{Stage: hostile, Name: hostile, Unit: hostile, Source: hostile}}
	r.Load.Search = &loadgen.Search{Goal: hostile, Probes: []loadgen.Probe{{Measured: hostile}}}
	r.Load.Profile = hostile
	for i := range r.Load.Stages {
		s := &r.Load.Stages[i]
		s.VoidReason, s.Unsent = hostile, map[string]uint64{hostile: 1}
		s.Violations = map[requirement.ID]uint64{hostile: 1}
		for j := range s.Findings {
			s.Findings[j] = loadgen.Finding{Requirement: hostile, Text: hostile, Files: []reports.File{{Path: hostile}, {Path: "https://example.org/"}, {Path: layout.Findings + hostile}}}
		}
		s.Name, s.HTTP, s.ReviewVersion, s.Pairs, s.Errors = hostile, hostile, hostile, []loadgen.Pair{{From: hostile, To: hostile}}, map[string]uint64{hostile: 3}
	}
	for i := range r.Results {
		result := &r.Results[i]
		result.ID += requirement.ID(hostile)
		result.Level, result.Statement, result.Why, result.Note = requirement.Level(hostile), hostile, hostile, hostile
		if result.Subject != "" {
			result.Subject += hostile
		}
		result.Source = []requirement.Source{{Document: hostile, Line: 1, Section: hostile}}
		result.Spec, result.Location, result.Rerun, result.Output, result.Curl = hostile, hostile, hostile, hostile, hostile
		result.Files = []reports.File{{Path: hostile}, {Path: "https://example.org/"}, {Path: "//example.org/"}, {Path: "javascript:alert(1)"}, {Path: layout.Exchanges + hostile + "/object.yaml", Data: []byte(hostile)}}
	}
	r.Merged = []reports.MergedRun{{Report: hostile, Tool: hostile, Command: hostile, Outcome: reports.Outcome(hostile)}}
	r.Artifacts = []reports.File{{Path: hostile}, {Path: "https://example.org/"}, {Path: layout.Artifacts + "log"}}
	r.Changes = &reports.Changes{
		Baseline: hostile, Outcome: reports.Outcome(hostile), Headline: hostile, Notes: []string{hostile}, LoadNote: hostile,
		Requirements: []reports.Change{{ID: requirement.ID(hostile), Subject: hostile, Sort: reports.ChangeSort(hostile), Before: hostile, Reason: hostile}},
		Load:         &loadgen.Comparison{Rows: []loadgen.Row{{Stage: hostile, Statistic: hostile, Unit: hostile, Why: hostile, Verdict: hostile}}},
	}
	r.Results[0].ID = "'\" onload=alert(1) <b>" + requirement.ID(hostile)
	return r
}

// TestHTMLIsInert has nothing that comes from outside become markup, and nothing in the page load anything.
func TestHTMLIsInert(t *testing.T) {
	known := "a body br button circle code dd details div dl dt fieldset form g h1 h2 h3 head html input label legend li line main meta option output p path pre rect script section select small span strong style summary svg table tbody td text th thead time title tr ul"
	for name, r := range map[string]*reports.Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t)} {
		page := written(t, r, HTML)
		if scripts := named(elements(t, page), "script"); len(scripts) != 1 || content(scripts[0]) != script || len(scripts[0].Attr) > 0 {
			t.Errorf("%s: there are %d scripts, or another than the page's own", name, len(scripts))
		}
		for _, n := range elements(t, page) {
			if !slices.Contains(strings.Fields(known), n.Data) {
				t.Errorf("%s: there is a <%s>", name, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || slices.Contains([]string{"src", "srcset", "data", "action", "formaction", "poster", "background", "srcdoc", "ping"}, a.Key) {
					t.Errorf("%s: <%s> has %s=%q", name, n.Data, a.Key, a.Val)
				}
				if a.Key == "href" && n.Data != "a" || a.Key == "style" && strings.Contains(a.Val, "(") {
					t.Errorf("%s: <%s> has %s=%q", name, n.Data, a.Key, a.Val)
				}
			}
			if css := content(n); n.Data == "style" && (strings.Contains(css, "url(") || strings.Contains(css, "@import")) {
				t.Errorf("%s: the style loads something:\n%s", name, css)
			}
		}
		if control := regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202e}]`).Find(page); control != nil {
			t.Errorf("%s: the page has %q", name, control)
		}
	}
}

func TestHTMLLinks(t *testing.T) {
	for name, r := range map[string]*reports.Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t), "a stage that failed": failingStage(t)} {
		all := elements(t, written(t, r, HTML))
		ids := map[string]bool{}
		for _, n := range all {
			if id := attribute(n, "id"); id != "" && ids[id] {
				t.Errorf("%s: there are two of %q", name, id)
			} else {
				ids[id] = true
			}
		}
		var files []string
		for _, a := range named(all, "a") {
			to, err := url.Parse(attribute(a, "href"))
			switch {
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case to.Scheme == "https" && (to.Host == "kubernetes.io" || to.Host == "github.com") && to.User == nil && attribute(a, "rel") == "noreferrer":
			case to.Scheme != "" || to.Host != "" || to.RawQuery != "":
				t.Errorf("%s: a link leads to %s", name, to)
			case strings.HasPrefix(to.Path, layout.Requirements): // see TestRequirementPages
			case to.Path == "" && !ids[to.Fragment]:
				t.Errorf("%s: a link leads to %q, which is not there", name, to.Fragment)
			case to.Path != "":
				files = append(files, to.Path)
			}
		}
		var want []string
		for _, file := range r.Files() {
			if layout.Local(file.Path) {
				want = append(want, file.Path)
			}
		}
		for _, base := range bases(r.Load) {
			want = append(want, base+".hgrm", base+".csv")
		}
		slices.Sort(files)
		slices.Sort(want)
		if !slices.Equal(files, want) {
			t.Errorf("%s: links lead to the files %q, want %q", name, files, want)
		}
	}
}

// TestHTMLWithoutFiles has a page that is written away from its files name them, and lead to none.
func TestHTMLWithoutFiles(t *testing.T) {
	r := failingStage(t)
	Detach(r)
	page := written(t, r, HTML)
	for _, a := range named(elements(t, page), "a") {
		if to := attribute(a, "href"); !strings.HasPrefix(to, "#") {
			t.Errorf("a link leads to %s", to)
		}
	}
	for _, base := range bases(r.Load) {
		if !bytes.Contains(page, []byte(base+".hgrm")) {
			t.Errorf("%s.hgrm is not named", base)
		}
	}
}

func TestHTMLHasResults(t *testing.T) {
	r := sample(t)
	all := elements(t, written(t, r, HTML))
	byID := map[string]*html.Node{}
	for _, n := range all {
		byID[attribute(n, "id")] = n
	}
	for _, result := range r.Results {
		row, problem := byID[anchor(result.ID, result.Subject)], byID["problem-"+anchor(result.ID, result.Subject)]
		if row == nil {
			t.Errorf("%s is missing", result.ID)
			continue
		}
		if cell := named(slices.Collect(row.Descendants()), "td")[0]; content(cell) != result.Verdict.String() || attribute(cell, "class") != "verdict "+strings.ToLower(result.Verdict.String()) {
			t.Errorf("%s: got %s of class %s", result.ID, content(cell), attribute(cell, "class"))
		}
		shown := row
		if want := result.Verdict == requirement.Failed || result.Verdict == requirement.Errored; (problem != nil) != want {
			t.Errorf("%s is among the problems: %t, want %t", result.ID, problem != nil, want)
		} else if want {
			shown = problem
		}
		text := content(shown)
		if level := "\nlevel" + string(result.Level) + "\n"; !strings.Contains(text, level) {
			t.Errorf("%s: %q lacks %q", result.ID, text, level)
		}
		wants := slices.DeleteFunc(wanted(result), func(want string) bool { return want == string(result.Level) })
		for _, want := range wants {
			_, after, found := strings.Cut(text, visible.Text(want))
			if !found {
				t.Errorf("%s: %q lacks %q, or has it too early", result.ID, content(shown), visible.Text(want))
				continue
			}
			text = after
		}
	}
	if got, want := content(named(all, "title")[0]), "crdconform: "+Headline(r); got != want {
		t.Errorf("the title is %q, want %q", got, want)
	}
	if h1 := named(all, "h1")[0]; content(h1) != Headline(r) || attribute(h1, "class") != "nonconformant" {
		t.Errorf("the headline is %q of class %s", content(h1), attribute(h1, "class"))
	}
}

// wanted returns what every form for people says about a result, in order.
func wanted(result reports.Result) []string {
	want := []string{string(result.ID), string(result.Level), result.Statement, strings.TrimSpace(result.Reason), objectPart(result).Text, result.Why, remedy(result)}
	want = append(want, result.Curl, result.Rerun, result.Spec, result.Location, sources(result), result.Note)
	return slices.DeleteFunc(want, func(s string) bool { return s == "" })
}

// TestLegendOfStrictRuns counts as the headline does: what is tolerated unless strict has failed, and comes after what has failed in any case.
func TestLegendOfStrictRuns(t *testing.T) {
	t.Parallel()
	r := &reports.Report{Strict: true, Results: must(requirement.Passed, requirement.Tolerated, requirement.Failed, requirement.Tolerated)}
	Conclude(r)
	page := string(written(t, r, HTML))
	for _, want := range []string{
		`aria-label="1 Passed, 3 Failed, 2 of them Tolerated"><span class="passed" style="flex-grow: 1"></span><span class="failed" style="flex-grow: 3"></span></div>`,
		`<span class="failed">3 Failed, 2 of them Tolerated</span>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if failed, tolerated := strings.Index(page, `class="problem of of0" data-verdict="failed"`), strings.Index(page, `class="problem of of0" data-verdict="tolerated"`); failed < 0 || tolerated < failed {
		t.Errorf("the problem that failed is at %d, one that is tolerated at %d", failed, tolerated)
	}
}

// TestLongReasonsAreToldOnce has a page say once why a load or a scenario is void, and not in its headline.
func TestLongReasonsAreToldOnce(t *testing.T) {
	t.Parallel()
	const why = "the generator was too busy: 4667 of 120000 requests were sent late because other processes used the CPU; send less"
	load := &reports.Report{Load: one(loadgen.Stage{Requests: 1, VoidReason: why, Response: newTimes(t, recorded(t, 0)), Service: noTimes(t), Lag: noTimes(t)})}
	scenario := &reports.Report{
		Results:     []reports.Result{{Requirement: requirement.Requirement{ID: "disruption.restart.killed"}, Verdict: requirement.Errored, Reason: "void: " + why}},
		Disruptions: []reports.Disruption{{Requirement: "disruption.restart.killed", Void: []string{why}}},
	}
	failed := &reports.Report{Error: why + why}
	for _, test := range []struct {
		report *reports.Report
		h1     string
		times  int // a cause and a problem name the reason of a result, and its row leads there
	}{{load, "Could not judge the load", 1}, {scenario, "Could not judge 1 of 1 requirement", 3}, {failed, "Could not judge", 2}} {
		Conclude(test.report)
		page := written(t, test.report, HTML)
		if h1 := content(named(elements(t, page), "h1")[0]); h1 != test.h1 {
			t.Errorf("the headline is %q, want %q", h1, test.h1)
		}
		_, body, _ := strings.Cut(string(page), "</title>")
		if n := strings.Count(body, why); n != test.times {
			t.Errorf("%s: the reason is given %d times, want %d", test.h1, n, test.times)
		}
	}
}

func TestHTMLOfTroubles(t *testing.T) {
	for name, test := range map[string]struct {
		report reports.Report
		h1     string
		pre    []string // errors in full, if the headline is not all of it
	}{
		"nothing":              {reports.Report{}, "Could not judge: there was nothing to judge", nil},
		"a short error":        {reports.Report{Error: "no cluster"}, "Could not judge: no cluster", nil},
		"a long error":         {reports.Report{Error: "no cluster\nbecause"}, "Could not judge: no cluster", []string{"no cluster\nbecause"}},
		"failed, with error":   {reports.Report{Error: "no load", Results: must(requirement.Failed)}, "Does not conform: 1 of 1 requirement failed. Incomplete: no load", nil},
		"load without answers": {reports.Report{Load: one(loadgen.Stage{Requests: 1, Failed: 1, Response: noTimes(t), Service: noTimes(t), Lag: noTimes(t)})}, "Does not conform: 1 of 1 request under load failed", nil},
		"load without times":   {reports.Report{Load: one(loadgen.Stage{Requests: 1, Response: newTimes(t, recorded(t, 0)), Service: noTimes(t), Lag: noTimes(t)})}, "Conforms: the only response under load is correct", nil},
	} {
		r := test.report
		Conclude(&r)
		all := elements(t, written(t, &r, HTML))
		var pre []string
		for _, n := range named(all, "pre") {
			pre = append(pre, content(n))
		}
		if h1 := content(named(all, "h1")[0]); h1 != test.h1 || !slices.Equal(pre, test.pre) {
			t.Errorf("%s: got %q and %q, want %q and %q", name, h1, pre, test.h1, test.pre)
		}
		if got, want := len(named(all, "svg")) == 1, r.Load != nil; got != want {
			t.Errorf("%s: there is a chart: %t", name, got)
		}
	}
}

// browse returns what a browser makes of a page.
func browse(t *testing.T, page string, before ...action) []byte {
	t.Helper()
	return []byte(evaluated[string](visit(t, page, before...), t, "document.documentElement.outerHTML"))
}

// TestHTMLShowsOneSubject has a real browser show what is about one definition only, as somebody who chooses it sees. A
// script reports what is visible. The copy of the page lacks its policy so that the script can run.
func TestHTMLShowsOneSubject(t *testing.T) {
	r := sample(t)
	text := string(written(t, r, HTML))
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).FindString(text)
	if policy == "" {
		t.Fatal("the page has no policy")
	}
	choices := []string{`name="only">`, `name="only" id="only0">`, `name="only" id="only1">`, `name="only" id="only2">`}
	text = strings.NewReplacer(policy, "", ` name="only" checked>`, ` name="only">`).Replace(text)
	for i, choice := range choices {
		if strings.Count(text, choice) != 1 {
			t.Fatalf("there is no %s, or several", choice)
		}
		chosen := strings.Replace(text, choice, strings.TrimSuffix(choice, ">")+" checked>", 1)
		const script = `<script>document.title = [...document.querySelectorAll("h2, .chapter h3, summary code, .causes tbody tr")].filter(e => e.checkVisibility()).map(e => e.innerText.split("\t")[0]).join("; ")</script>`
		page := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(page, []byte(strings.Replace(chosen, "</body>", script+"</body>", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		ours := "conversion.answer.uid; storage.rewrite.order; "
		name := "Failed spec.name" + strings.Join(strings.Fields(visible.Text(hostile)), " ") + " is lost; "
		server, unjudged := "Failed conversion.answer.uid; Failed storage.rewrite.order; ", "Errored conversion.meta.labels; "
		lacking := "Failed spec.legacy is lost: v2 has no field of that name; "
		want := []string{
			"Causes; " + name + server + lacking + unjudged + "Problems; " + ours + "conversion.trip.back; conversion.meta.labels; Load; Chapters; versions; conversion; storage; conversion, widgets.example.com; conversion, gadgets.example.com; Sources",
			"Causes; " + server + unjudged + "Problems; " + ours + "conversion.meta.labels; Load; Chapters; versions; conversion; storage; Sources",
			"Causes; " + name + lacking + "Problems; conversion.trip.back; Load; Chapters; conversion, widgets.example.com; Sources",
			"Load; Chapters; conversion, gadgets.example.com; Sources",
		}[i]
		if got := content(named(elements(t, browse(t, page)), "title")[0]); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", choice, got, want)
		}
	}
}

// TestHTMLInABrowser has a real browser read the page.
func TestHTMLInABrowser(t *testing.T) {
	r := sample(t)
	folder, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Write(r); err != nil {
		t.Fatal(err)
	}
	all := elements(t, browse(t, filepath.Join(string(folder), "report.html")))
	if h1 := named(all, "h1"); len(h1) != 1 || content(h1[0]) != Headline(r) {
		t.Errorf("got the headlines %v, want %s", h1, Headline(r))
	}
	counts := fmt.Sprintf("%d tables, %d scripts, %d images", len(named(all, "table")), len(named(all, "script")), len(named(all, "img")))
	// There are a table of causes, of stages, of objectives and of times, one for each chapter, and one for each result that expected
	// something else, each with a row of headings.
	tables, want := 4+len(Chapters(r)), len(Causes(r))+1+2+3+len(r.Results)
	for _, result := range r.Results {
		if n := len(mismatches(result.Reason)); n > 0 {
			tables, want = tables+1, want+n
		}
	}
	if want := fmt.Sprintf("%d tables, 1 scripts, 0 images", tables); counts != want {
		t.Errorf("got %s, want %s", counts, want)
	}
	if got := len(named(all, "tr")); got != tables+want {
		t.Errorf("got %d rows, want %d", got, tables+want)
	}
	charts := named(all, "svg")
	if len(charts) != 2 {
		t.Fatalf("got %d charts, want one by percentile and one over time", len(charts))
	}
	for _, chart := range charts {
		if paths := named(slices.Collect(chart.Descendants()), "path"); len(paths) < 3 {
			t.Errorf("a chart has %d paths, want one for each curve and more", len(paths))
		}
	}
}
