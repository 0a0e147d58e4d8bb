// Package gotest checks a conversion webhook in a Go test, and adds no module but this one to those that require it.
//
// It serves the webhook over TLS, has the program crdconform check it, and turns the report into subtests. Package crdconform does the
// same within the test's process, at the price of the modules of a whole API server.
package gotest

import (
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Webhook is a conversion webhook to check.
type Webhook struct {
	// CRD is the file, folder, pattern or kustomization with the definitions, relative to the folder of the test. If it is empty, a
	// crdconform.yaml in that folder must name them.
	CRD string

	// Handler converts, such as controller-runtime's conversion.NewWebhookHandler. It is called with the path /convert, unless Path
	// says otherwise.
	Handler http.Handler
	Path    string

	// Args are further arguments of "crdconform check", such as "--samples", "../config/samples".
	Args []string

	// ReportDir is the folder for the report. If it is empty, the report is in a temporary folder, which is removed unless the test
	// fails.
	ReportDir string

	// Program is the path of crdconform. If it is empty, the program is looked for on the PATH, and then among the tools of the
	// test's module, as in "go get -tool github.com/crdconform/crdconform/cmd/crdconform".
	Program string

	// Version is the release to install for this test alone if there is no program elsewhere, such as v1.0.0 or latest. That does not
	// touch the module of the test.
	Version string
}

// Check checks a webhook, with a subtest for each requirement. The subtest of a broken requirement fails; if API servers tolerate the
// violation, the subtest only logs it, unless the check is strict. One that is known to fail is only logged too. A requirement that is
// not applicable, or that was not judged, is skipped; if judging it went wrong, its subtest fails.
//
// Without crdconform, the test is skipped with the reason, or fails if the environment has CI=true. The check is interrupted shortly
// before the deadline of the test, and then fails. The go command caches the result of a test that passed or was skipped until the
// test, the definitions or files among Args change; -count=1 checks again, such as with another program.
func Check(t *testing.T, w Webhook) {
	t.Helper()
	if w.Handler == nil {
		t.Fatal("gotest.Check: the Handler of the Webhook is nil")
	}
	inputs(w)
	ctx := limited(t)
	program := find(ctx, t, w)
	url, authority := serve(ctx, t, w)
	dir := reportDir(t, w)
	args := []string{"check", url, "--ca-file", authority, "--report-dir", dir}
	if w.CRD != "" {
		args = append(args, "--crd", w.CRD)
	}
	began := time.Now().Truncate(time.Second)
	ran := run(ctx, t, program, append(args, w.Args...))
	r, err := read(filepath.Join(dir, "report.json"))
	if err != nil || r.Started.Before(began) || ran.code == usage {
		t.Fatalf("crdconform wrote no report: %s", ran)
	}
	t.Logf("crdconform %s, seed %d, report: %s", r.Tool, r.Seed, filepath.Join(dir, "report.html"))
	for _, note := range r.Notes {
		t.Logf("crdconform: %s", note)
	}
	for _, one := range r.Results {
		t.Run(one.name(), func(t *testing.T) { one.outcome(t, r.Strict) })
	}
	explained := slices.ContainsFunc(r.Results, func(one result) bool { return one.fails(r.Strict) })
	if ran.code != 0 && (ran.code != broken || !explained) {
		t.Errorf("crdconform could not judge all: %s", ran)
	}
}

// inputs looks at the files that the program is to read, since the go command caches results by the files that the test itself has looked
// at.
func inputs(w Webhook) {
	for _, pattern := range append([]string{w.CRD, "crdconform.yaml"}, w.Args...) {
		names, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		for _, name := range names {
			filepath.WalkDir(name, func(string, fs.DirEntry, error) error { return nil }) //nolint:errcheck,gosec // the program says what is wrong with a file
		}
	}
}
