package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
)

// TestReportForms has every form be the one that the run wrote, where it wrote it.
func TestReportForms(t *testing.T) {
	t.Parallel()
	const evidence = "exchanges/webhook.response.lean/request.json"
	plain, dir := t.TempDir(), t.TempDir()
	store(t, plain, string(read(t, "testdata/report.yaml")))
	check(t, os.MkdirAll(filepath.Join(plain, filepath.Dir(evidence)), 0o755))
	put(t, filepath.Join(plain, evidence), `{"kind":"ConversionReview"}`)
	inside(t, "report", plain, "--report-dir", dir) // now with the evidence
	report := func(args ...string) string { return inside(t, append([]string{"report"}, args...)...) }
	for _, format := range append(reporter.Formats(nil), reporter.Format[*reports.Report]{Name: "text"}) {
		out := report(dir, "--output", format.Name)
		if len(out) < 100 || format.File != "" && out != string(read(t, filepath.Join(dir, format.File))) {
			t.Errorf("%s: it is not what the run wrote: %s", format.Name, out)
		}
		elsewhere, beside := filepath.Join(t.TempDir(), "out"), filepath.Join(dir, "again")
		nothing := report(filepath.Join(dir, "report.json"), "--output", format.Name, "--file", elsewhere) +
			report(dir, "--output", format.Name, "--file", beside)
		moved := string(read(t, elsewhere))
		if leads := format.Name == "html" || format.Name == "markdown"; string(read(t, beside)) != out || nothing != "" || !leads && moved != out {
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

// TestGivenFlags has them come out as they can go in again.
func TestGivenFlags(t *testing.T) {
	cmd := newRun(streams{})
	if got := givenFlags(cmd.Flags()); len(got) > 0 {
		t.Errorf("without any: %q", got)
	}
	args := []string{"--filter", "storage,*.uid", "--filter=versions", "--strict", "--load-duration", "90s", "--report-dir", "my reports"}
	check(t, cmd.ParseFlags(args))
	want := []string{"--filter='storage,*.uid,versions'", "--load-duration=1m30s", "--report-dir='my reports'", "--strict=true"}
	if got := givenFlags(cmd.Flags()); !slices.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLogKeepsNoSecrets writes a log in pieces. It is about the file alone: the log itself is the whole process's.
func TestLogKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing", "apiserver.log")
	if _, err := openLog(path); err == nil || !strings.HasPrefix(err.Error(), "the log of the API server: ") || !strings.Contains(err.Error(), path) {
		t.Errorf("in a folder that is missing: %v", err)
	}
	path = filepath.Join(t.TempDir(), "apiserver.log")
	log, err := openLog(path)
	check(t, err)
	_, err1 := log.Write([]byte("it answered: tok"))
	_, err2 := log.Write([]byte("en=hidden-value\nand so"))
	_, err3 := log.Write([]byte(" on"))
	check(t, errors.Join(err1, err2, err3, log.Close()))
	if got := string(read(t, path)); got != reporter.LogTitle+"\nit answered: token=[redacted]\nand so on\n" {
		t.Errorf("got %q", got)
	}
}
