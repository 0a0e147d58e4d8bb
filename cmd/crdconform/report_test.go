package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// stored writes a report to a folder of its own, and returns that.
func stored(t *testing.T, change func(*reports.Report)) string {
	t.Helper()
	report := reported(false)
	report.Results = report.Results[:7] // without what could not be judged
	report.Cluster = &reports.Cluster{Name: "embedded", Version: "v1.37.2"}
	report.Results[6].Files = []reports.File{{Path: "exchanges/webhook.response.lean/request.json", Data: []byte(`{"kind":"ConversionReview"}`)}}
	change(report)
	reporter.Conclude(report)
	dir := t.TempDir()
	folder, err := reporter.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Write(report); err != nil {
		t.Fatal(err)
	}
	return dir
}

func asItIs(*reports.Report) {}

// reportWith runs "crdconform report", and returns its exit code and what it wrote.
func reportWith(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = execute(t.Context(), append([]string{"report"}, args...), streams{out: &o, err: &e})
	return code, o.String(), e.String()
}

// TestReportForms has every form be the one that the run wrote, where it wrote it.
func TestReportForms(t *testing.T) {
	t.Parallel()
	dir := stored(t, asItIs)
	files := map[string]string{"text": ""}
	for _, format := range reporter.Formats(nil) {
		files[format.Name] = format.File
	}
	for form, file := range files {
		code, out, errs := reportWith(t, dir, "--format", form)
		if code != exitConforms || errs != "" || len(out) < 100 {
			t.Errorf("%s: exit code %d, %d bytes, %s", form, code, len(out), errs)
		}
		if file != "" && out != string(read(t, filepath.Join(dir, file))) {
			t.Errorf("%s: it is not %s", form, file)
		}
		target := filepath.Join(t.TempDir(), "out")
		if code, nothing, errs := reportWith(t, filepath.Join(dir, "report.json"), "--format", form, "--output", target); code != exitConforms || nothing != "" || errs != "" || form != "html" && string(read(t, target)) != out {
			t.Errorf("%s, to a file: exit code %d, %q, %s", form, code, nothing, errs)
		}
		if page := string(read(t, target)); form == "html" && (strings.Contains(page, `href="exchanges/`) || !strings.Contains(page, "exchanges/webhook.response.lean/request.json") || !strings.Contains(out, `href="exchanges/`)) {
			t.Error("a page in another folder leads to evidence that is not beside it, or does not name it")
		}
		beside := filepath.Join(dir, "again") // the report
		if code, _, errs := reportWith(t, dir, "--format", form, "--output", beside); code != exitConforms || errs != "" || string(read(t, beside)) != out {
			t.Errorf("%s, to a file beside the report: exit code %d, %s", form, code, errs)
		}
	}
	if _, out, _ := reportWith(t, dir, "--format", "conformance", "--implementation", "project=widgets,version=v1"); !strings.Contains(out, "implementation:\n  project: widgets\n  version: v1\n") {
		t.Errorf("it does not say whose it is:\n%s", out)
	}
	again := filepath.Dir(dir) // where nothing is read
	if code, out, errs := reportWith(t, dir, "--report-dir", again); code != exitConforms || errs != "" || !strings.HasPrefix(out, "Report: ") {
		t.Fatalf("to a folder: exit code %d, %s%s", code, out, errs)
	}
	for _, name := range []string{"report.html", "report.json", "exchanges/webhook.response.lean/request.json"} {
		if string(read(t, filepath.Join(again, name))) != string(read(t, filepath.Join(dir, name))) {
			t.Errorf("%s is another one", name)
		}
	}
}

func TestReportMerges(t *testing.T) {
	t.Parallel()
	a, b := stored(t, func(r *reports.Report) { r.Results = r.Results[:1] }), stored(t, func(r *reports.Report) { r.Results = r.Results[1:] })
	code, out, errs := reportWith(t, a, b, "--format", "junit")
	var suites struct {
		Cases []struct{} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal([]byte(out), &suites); err != nil || code != exitConforms || errs != "" || len(suites.Cases) != 7 {
		t.Errorf("exit code %d, %d cases, %v, %s", code, len(suites.Cases), err, errs)
	}
	if _, page, _ := reportWith(t, a, b, "--format", "html"); strings.Contains(page, `href="exchanges/`) || !strings.Contains(page, "exchanges/run-2/webhook.response.lean/request.json") {
		t.Error("the page leads to files that are not beside it, or does not name them")
	}
	merged := filepath.Join(t.TempDir(), "merged")
	if code, _, errs := reportWith(t, a, b, "--report-dir", merged); code != exitConforms || !strings.Contains(string(read(t, filepath.Join(merged, "report.html"))), `href="exchanges/run-2/webhook.response.lean/request.json"`) {
		t.Errorf("to a folder: exit code %d, %s, or the page does not lead to the evidence", code, errs)
	}
	several := stored(t, func(r *reports.Report) { r.Results[0].Subject = "widgets.example.com" })
	if code, _, errs := reportWith(t, a, several, "--side-by-side"); code != exitUsage || !strings.Contains(errs, "is about several definitions, such as ") {
		t.Errorf("of several definitions side by side: exit code %d, %s", code, errs)
	}
	other := stored(t, func(r *reports.Report) { r.Cluster.Version = "v1.36.0" })
	if code, _, errs := reportWith(t, a, other); code != exitUsage || !strings.Contains(errs, "they cannot be merged; crdconform report --side-by-side shows them next to each other") {
		t.Errorf("of two clusters: exit code %d, %s", code, errs)
	}
	for form, want := range map[string]string{"text": "REQUIREMENT", "markdown": "| requirement |", "html": "<!DOCTYPE html>", "json": `"kind": "Matrix"`} {
		if code, out, errs := reportWith(t, a, other, "--side-by-side", "--format", form); code != exitConforms || !strings.Contains(out, want) {
			t.Errorf("side by side as %s: exit code %d, %s\n%s", form, code, errs, out)
		}
	}
}

// TestReportCompares tells by the exit code whether a run is worse than an earlier one.
func TestReportCompares(t *testing.T) {
	t.Parallel()
	before := stored(t, asItIs)
	verdict := func(id requirement.ID, v requirement.Verdict) func(*reports.Report) {
		return func(r *reports.Report) {
			at := slices.IndexFunc(r.Results, func(one reports.Result) bool { return one.ID == id })
			r.Results[at].Verdict = v
		}
	}
	const passes, fails = "versions.scope.cluster", "webhook.response.lean"
	for name, test := range map[string]struct {
		now  string
		code int
		want string
	}{
		"the same":         {stored(t, asItIs), exitConforms, "Changes: 7 the same\n"},
		"newly failing":    {stored(t, verdict(passes, requirement.Failed)), exitViolates, "newly failing:\n    versions.scope.cluster: Passed, now Failed"},
		"newly passing":    {stored(t, verdict(fails, requirement.Passed)), exitConforms, "newly passing:\n    webhook.response.lean: Failed, now Passed"},
		"no longer judged": {stored(t, verdict(passes, requirement.Errored)), exitUnjudged, "no longer judged:\n    versions.scope.cluster: Passed, now Errored"},
		"gone":             {stored(t, func(r *reports.Report) { r.Results = r.Results[1:] }), exitUnjudged, "now absent: it was not selected, or the run did not reach it"},
	} {
		code, out, errs := reportWith(t, test.now, "--baseline", before)
		if code != test.code || !strings.Contains(out, test.want) || (errs == "") != (code == exitConforms) {
			t.Errorf("%s: exit code %d, %s\n%s", name, code, errs, out)
		}
	}
	now := stored(t, verdict(passes, requirement.Failed))
	_, out, _ := reportWith(t, now, "--baseline", before, "--format", "json")
	var r reports.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Changes == nil || r.Changes.Requirements[0].Sort != reports.NewlyFailing {
		t.Errorf("as JSON: %v\n%s", err, out)
	}
	for _, form := range []string{"html", "markdown"} {
		if _, out, _ := reportWith(t, now, "--baseline", before, "--format", form); !strings.Contains(out, "newly failing") {
			t.Errorf("%s does not say what changed", form)
		}
	}
}

// TestReportComparesLoads has nobody be told that nothing got worse when the load did, or is not known any more.
func TestReportComparesLoads(t *testing.T) {
	t.Parallel()
	stage := loadgen.Stage{Name: "batch 10", Repeat: 1, Requests: 1000, Judged: 1000, Batch: 10}
	with := func(changes ...func(*loadgen.Load)) string {
		l := &loadgen.Load{Profile: "batch", Stages: []loadgen.Stage{stage}, Objectives: []loadgen.Objective{{Stage: stage.Name, Name: "p99", Limit: 10, Measured: 5, Unit: "ms", Met: true}}}
		for _, change := range changes {
			change(l)
		}
		for i, s := range l.Stages {
			none := histogram.Times(hdrhistogram.New(1, 1e9, 3))
			s.Response, s.Service, s.Lag = none, none, none
			l.Stages[i] = s
		}
		return stored(t, func(r *reports.Report) { r.Load = l })
	}
	good := with()
	void := with(func(l *loadgen.Load) { l.Stages[0].VoidReason = "the generator was too busy" })
	stopped := with(func(l *loadgen.Load) { l.Stages[0].Partial = true })
	rejected := with(func(l *loadgen.Load) {
		l.Stages[0].Failed, l.Stages[0].Errors = 200, map[string]uint64{"failed": 200}
	})
	missed := with(func(l *loadgen.Load) { l.Objectives[0].Measured, l.Objectives[0].Met = 12, false })
	other := with(func(l *loadgen.Load) { l.Stages[0].Batch = 20 })
	limit := []string{"--max-regress", "p99=10%"}
	for name, test := range map[string]struct {
		before, now string
		args        []string
		code        int
		want, err   string
	}{
		"the same":               {good, good, nil, exitConforms, "Changes: no difference of the load proved, 7 the same\n", ""},
		"20 % rejected":          {good, rejected, nil, exitViolates, "newly failing:\n    load, batch 10: responses: good, now failed: 200 failed (200 failed)", "1 of the load newly failing"},
		"rejected no more":       {rejected, good, nil, exitConforms, "newly passing:\n    load, batch 10: responses: failed, now good", ""},
		"an objective is missed": {good, missed, nil, exitViolates, "newly failing:\n    load, batch 10: p99: met, now missed: p99 12 ms (limit 10 ms)", "worse than "},
		"gone":                   {good, stored(t, asItIs), nil, exitUnjudged, "this run: it has no load test", "load, batch 10: responses: good, now absent"},
		"gone, with a limit":     {good, stored(t, asItIs), limit, exitUnjudged, "this run: it has no load test", "load, batch 10: responses: good, now absent"},
		"was void":               {void, good, nil, exitConforms, ": its load test is void: the generator was too", ""},
		"was void, with a limit": {void, good, limit, exitUnjudged, "not compared", "--max-regress: the load was not compared: " + void + ": its load test is void"},
		"is void":                {good, void, nil, exitUnjudged, "this run: its load test is void: the generator", "good, now void"},
		"was stopped":            {stopped, good, nil, exitConforms, ": its load test was stopped before its end", ""},
		"other load, limited":    {good, other, limit, exitUnjudged, "not compared: the baseline sent", "--max-regress: the load was not compared: the baseline sent"},
		"other load":             {good, other, nil, exitConforms, "not compared: the baseline sent", ""},
	} {
		code, out, errs := reportWith(t, append([]string{test.now, "--baseline", test.before}, test.args...)...)
		if flat := strings.Join(strings.Fields(out), " "); code != test.code || !strings.Contains(out, test.want) && !strings.Contains(flat, test.want) || !strings.Contains(errs, test.err) || (errs == "") != (code == exitConforms) {
			t.Errorf("%s: exit code %d, %s\n%s", name, code, errs, out)
		}
	}
	code, out, errs := reportWith(t, rejected, "--baseline", good, "--format", "junit")
	if code != exitViolates || !strings.Contains(out, `<testcase name="nothing got worse" classname="changes"`) || !strings.Contains(out, `<failure message="1 of the load newly failing`) || !strings.Contains(errs, "worse than "+good+": 1 of the load newly failing") {
		t.Errorf("as JUnit: exit code %d, %s\n%s", code, errs, out)
	}
	if code, out, errs = reportWith(t, good, "--baseline", good, "--format", "junit"); code != exitConforms || errs != "" || !strings.Contains(out, `classname="changes"`) {
		t.Errorf("as JUnit of the same: exit code %d, %s\n%s", code, errs, out)
	}
}

func TestReportRefuses(t *testing.T) {
	t.Parallel()
	dir, other := stored(t, asItIs), stored(t, asItIs)
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, read(t, filepath.Join(dir, "report.json"))[:500], 0o644); err != nil {
		t.Fatal(err)
	}
	formats := reporter.Names(reporter.Formats(nil))
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "report requires the folder of a run, or several"},
		{[]string{"missing"}, filepath.Join("missing") + ": no such file; give the folder of a run, or the report.json in it"},
		{[]string{broken}, "broken.json: it is truncated in line "},
		{[]string{dir, "--format", "pdf"}, "--format pdf: unknown format (want text, " + strings.Join(formats[:len(formats)-1], ", ") + " or " + formats[len(formats)-1]},
		{[]string{dir, "--report-dir", dir}, "the report is read from this folder; give another"},
		{[]string{filepath.Join(dir, "report.json"), "--report-dir", dir}, "the report is read from this folder; give another"},
		{[]string{dir, "--baseline", other, "--report-dir", other}, "the report is read from this folder; give another"},
		{[]string{dir, "--report-dir", "x", "--format", "html"}, "leave out --format, --output and --side-by-side"},
		{[]string{dir, "--side-by-side"}, "--side-by-side requires at least two reports"},
		{[]string{dir, dir, "--side-by-side", "--format", "junit"}, "--format junit: with --side-by-side, the format must be text, markdown, html or json"},
		{[]string{dir, dir, "--side-by-side", "--baseline", dir}, "cannot be combined with --baseline"},
		{[]string{dir, "--baseline", broken}, "--baseline: " + broken + ": it is truncated in line"},
		{[]string{dir, "--max-regress", "p99=10%"}, "--max-regress is only valid with --baseline"},
		{[]string{dir, "--baseline", dir, "--max-regress", "p99=10%"}, "--max-regress: neither of the reports has a load test"},
		{[]string{dir, "--implementation", "project=x"}, "--implementation is only valid with --format conformance"},
		{[]string{dir, "--format", "conformance", "--implementation", "name=x"}, `--implementation: unknown key "name"`},
	} {
		code, out, errs := reportWith(t, test.args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, test.want) || strings.Count(errs, "\n") != 2 {
			t.Errorf("%q: exit code %d, %s%s, want %s", test.args, code, out, errs, test.want)
		}
	}
	if code, _, errs := reportWith(t, dir, "--output", filepath.Join(dir, "missing", "x")); code != exitUnjudged || !strings.Contains(errs, "--output: ") {
		t.Errorf("to where nothing can be written: exit code %d, %s", code, errs)
	}
}
