package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// stored writes a report to a folder of its own, and returns that.
func stored(t *testing.T, change func(*reports.Report)) string {
	t.Helper()
	report := &reports.Report{Seconds: 12.34, Cluster: &reports.Cluster{Name: "embedded", Version: "v1.37.2"}}
	for _, r := range []reports.Result{
		{Requirement: requirement.Requirement{ID: "versions.scope.cluster"}, Verdict: requirement.Passed},
		{Requirement: requirement.Requirement{ID: "webhook.response.uid"}, Verdict: requirement.KnownFailing},
		{Requirement: requirement.Requirement{ID: "webhook.response.kind"}, Verdict: requirement.NotApplicable},
		{Requirement: requirement.Requirement{ID: "webhook.response.content-type"}, Verdict: requirement.Tolerated},
		{Requirement: requirement.Requirement{ID: "webhook.response.lean"}, Verdict: requirement.Failed},
	} {
		r.Level, r.Reason = requirement.Must, "got \x1b[31mtext"
		report.Results = append(report.Results, r)
	}
	report.Results[2].Files = []reports.File{{Path: "exchanges/webhook.response.lean/request.json", Data: []byte(`{"kind":"ConversionReview"}`)}}
	change(report)
	reporter.Conclude(report)
	dir := t.TempDir()
	folder, err := reporter.Open(dir)
	check(t, err)
	check(t, folder.Write(report))
	return dir
}

func asItIs(*reports.Report) {}

// TestReportForms has every form be the one that the run wrote, where it wrote it.
func TestReportForms(t *testing.T) {
	t.Parallel()
	dir := stored(t, asItIs)
	report := func(args ...string) string { return inside(t, append([]string{"report"}, args...)...) }
	const evidence = "exchanges/webhook.response.lean/request.json"
	for _, format := range append(reporter.Formats(nil), reporter.Format[*reports.Report]{Name: "text"}) {
		out := report(dir, "--format", format.Name)
		if len(out) < 100 || format.File != "" && out != string(read(t, filepath.Join(dir, format.File))) {
			t.Errorf("%s: it is not what the run wrote: %s", format.Name, out)
		}
		elsewhere, beside := filepath.Join(t.TempDir(), "out"), filepath.Join(dir, "again")
		nothing := report(filepath.Join(dir, "report.json"), "--format", format.Name, "--output", elsewhere) +
			report(dir, "--format", format.Name, "--output", beside)
		moved := string(read(t, elsewhere))
		if string(read(t, beside)) != out || nothing != "" || format.Name != "html" && moved != out {
			t.Errorf("%s: a file has something else, or it is printed too: %s", format.Name, nothing)
		}
		if link := `href="exchanges/`; format.Name == "html" && (strings.Contains(moved, link) || !strings.Contains(moved, evidence) || !strings.Contains(out, link)) {
			t.Error("a page in another folder leads to evidence that is not beside it, or does not name it")
		}
	}
	again := filepath.Dir(dir) // where nothing is read
	if out := report(dir, "--report-dir", again); !strings.HasPrefix(out, "Report: ") {
		t.Errorf("to a folder: %s", out)
	}
	for _, name := range []string{"report.html", "report.json", evidence} {
		if string(read(t, filepath.Join(again, name))) != string(read(t, filepath.Join(dir, name))) {
			t.Errorf("%s is another one", name)
		}
	}
}
