package gotest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// report is what subtests need of report.json.
type report struct {
	Tool    string    `json:"tool"`
	Started time.Time `json:"started"`
	Seed    int64     `json:"seed"`
	Strict  bool      `json:"strict"`
	Notes   []string  `json:"notes"`
	Results []result  `json:"results"`
}

// result is the verdict on one requirement.
type result struct {
	ID        string `json:"id"`
	Subject   string `json:"subject"`
	Statement string `json:"statement"`
	Why       string `json:"why"`
	Verdict   string `json:"verdict"`
	Reason    string `json:"reason"`
}

// read reads a report.
func read(path string) (report, error) {
	var r report
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

// reportDir returns the folder for the report.
func reportDir(t *testing.T, w Webhook) string {
	t.Helper()
	dir := w.ReportDir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "crdconform-"); err != nil { //nolint:usetesting // it is to be there when a failed test is over
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if !t.Failed() {
				os.RemoveAll(dir) //nolint:errcheck,gosec // what is left is in a temporary folder
			}
			os.Remove(dir) //nolint:errcheck,gosec // unless there is something in it
		})
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}

// name returns the name of the subtest.
func (r result) name() string { return strings.TrimPrefix(r.Subject+"/"+r.ID, "/") }

// fails reports whether the result fails its subtest. A verdict that this package does not know does.
func (r result) fails(strict bool) bool {
	switch r.Verdict {
	case "Passed", "NotApplicable", "Unknown", "KnownFailing":
		return false
	case "Tolerated":
		return strict
	}
	return true
}

// outcome turns the result into the outcome of its subtest.
func (r result) outcome(t *testing.T, strict bool) {
	t.Helper()
	switch {
	case r.fails(strict):
		t.Errorf("%s\n%s\nwhy it matters: %s", r.Statement, r.Reason, r.Why)
	case r.Verdict == "Tolerated":
		t.Logf("tolerated by API servers: %s\n%s", r.Statement, r.Reason)
	case r.Verdict == "KnownFailing":
		t.Logf("known to fail: %s", r.Reason)
	case r.Verdict != "Passed":
		t.Skip(r.Reason)
	}
}
