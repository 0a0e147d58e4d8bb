package reporter

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestPreviousReport keeps the last report that judged something until another does, with its evidence and without what is not its own.
func TestPreviousReport(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"mine.txt": "mine"})
	run := func(r reports.Report) (page string) {
		t.Helper()
		if err := SetAside(dir); err != nil {
			t.Fatal(err)
		}
		folder := open(t, dir)
		Conclude(&r)
		if err := folder.Write(&r); err != nil {
			t.Fatal(err)
		}
		page, err := folder.Keep(&r)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	exchange := reports.File{Path: "exchanges/storage.update.rewrites/request.json", Data: []byte("{}")}
	judged := reports.Report{Results: []reports.Result{{Requirement: must(requirement.Failed)[0].Requirement, Verdict: requirement.Failed, Files: []reports.File{exchange}}}}
	for i, step := range []struct {
		report reports.Report
		kept   bool
	}{{judged, false}, {reports.Report{Error: "no webhook"}, true}, {reports.Report{Error: "again"}, true}, {judged, false}, {reports.Report{Error: "no webhook"}, true}} {
		page := run(step.report)
		if want := filepath.Join(dir, "previous", "report.html"); (page == want) != step.kept || page != "" && !step.kept {
			t.Errorf("step %d: %q is kept", i, page)
		}
		files := list(t, dir)
		if files["mine.txt"] != "mine" || strings.Contains(files["report.json"], "no webhook") != (step.report.Error == "no webhook") {
			t.Errorf("step %d: there are %v", i, names(files))
		}
		if failed := FailedBefore(dir); len(failed) != 1 || failed[0].ID != judged.Results[0].ID {
			t.Errorf("step %d: failed before: %v", i, failed)
		}
		if kept := strings.Contains(files["previous/report.json"], `"Failed"`); kept != step.kept {
			t.Errorf("step %d: the report that judged is kept: %t", i, kept)
		}
	}
}

// TestForeignForms wants forms that are not of this program to be left alone, in a folder that others write to as well.
func TestForeignForms(t *testing.T) {
	for file, text := range map[string]string{
		"report.html": "<title>coverage</title>",
		"report.json": `{"tool": "crdconform's friend"}`,
		"junit.xml":   `<testsuites name="go test of crdconform">`,
		"summary.md":  "what crdconform found",
		LogFile:       "I1129 08:24:14.197479    1158 handler.go:309] Adding GroupVersion",
	} {
		dir := t.TempDir()
		fill(t, dir, map[string]string{file: text})
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "the "+file+" in it was not written by crdconform, and would be overwritten") {
			t.Errorf("it says: %v", err)
		}
		if got := list(t, dir)[file]; got != text {
			t.Errorf("%s is %q", file, got)
		}
	}
}

// TestForeignLatency wants a latency.json of others to be left alone by a load test, and one of an earlier load test to be replaced.
func TestForeignLatency(t *testing.T) {
	for text, ours := range map[string]bool{`{"p50": 3}`: false, `{"profile": "batch", "stages": []}`: true} {
		dir := t.TempDir()
		fill(t, dir, map[string]string{latencyFile: text})
		r := &reports.Report{Load: load(t)}
		Conclude(r)
		err := Folder(dir).Write(r)
		if left := list(t, dir)[latencyFile] == text; left == ours || ours != (err == nil) || !ours && !strings.Contains(err.Error(), "the latency.json in it was not written by crdconform, and is left as it is") {
			t.Errorf("%s: left as it is: %t: %v", text, left, err)
		}
	}
}

// TestOwnForms wants forms of this program to be replaced, also those of a run that was killed before it wrote the report.
func TestOwnForms(t *testing.T) {
	whole := t.TempDir()
	r := &reports.Report{Error: "no webhook"}
	Conclude(r)
	if err := Folder(whole).Write(r); err != nil {
		t.Fatal(err)
	}
	for file, text := range list(t, whole) {
		dir := t.TempDir()
		fill(t, dir, map[string]string{file: text, "junit.xml": ""})
		if _, err := Open(dir); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
