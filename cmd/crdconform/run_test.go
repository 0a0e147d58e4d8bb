package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// TestRunWithLoad sends a load after the specs of several patterns.
func TestRunWithLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a whole run with a load")
	}
	r := invoke(t, "run", "--load-duration", "1s", "--load-batch", "2", "--filter", "versions.scope.cluster,versions.names", "--skip", "versions.names.published", "--watch-cache")
	report := r.report(t)
	l := report.Load
	if l == nil || len(l.Stages) != 1 || reporter.Requests(l) != 100 || l.Stages[0].Objects != 200 || reporter.FailedRequests(l) != 0 {
		t.Fatalf("the load was %+v", l)
	}
	if reporter.Void(l) != "" { // the machine was busy
		r.exits(t, exitUnjudged)
	} else {
		r.exits(t, exitConforms)
	}
	if got := report.Counts[requirement.Passed]; got != len(report.Results) || got < 3 || !report.Cluster.WatchCache || report.Webhook == nil {
		t.Errorf("got %v with %+v and %+v", report.Counts, report.Cluster, report.Webhook)
	}
	for _, result := range report.Results {
		if result.ID == "versions.names.published" || !strings.HasSuffix(result.Rerun, " --watch-cache") {
			t.Errorf("got %s, to be repeated by %q", result.ID, result.Rerun)
		}
	}
	if want := " --filter=versions.scope.cluster,versions.names "; !strings.Contains(report.Command, want) {
		t.Errorf("the command was %q, want something with %q", report.Command, want)
	}
	for _, line := range reporter.LoadLines(l, reporter.Columns) {
		if !strings.Contains(r.out, "\n"+line+"\n") {
			t.Errorf("it says:\n%swant a line %q", r.out, line)
		}
	}
}

// TestReaderThatGoes has nobody read the output to its end, as with a pipe to head.
func TestReaderThatGoes(t *testing.T) {
	t.Parallel()
	unread(t, "list").exits(t, exitConforms)
	url, ca := serving(t, "wrong-uid")
	readerGoes(t, exitViolates, "check", url, "--ca-file", ca, "--filter", "webhook.response")
}

// readerGoes runs a command line with nobody to read what it says, which is no problem of the report's.
func readerGoes(t *testing.T, code int, args ...string) {
	t.Helper()
	r := unread(t, args...)
	r.exits(t, code)
	if r.err != "" {
		t.Errorf("it complains: %s", r.err)
	}
	if len(r.report(t).Results) == 0 {
		t.Error("the report has no results")
	}
}

// TestReadOnlyIsAboutTheCluster has the reference webhook, which runs in this process, neither judged nor loaded where a cluster is
// only looked at.
func TestReadOnlyIsAboutTheCluster(t *testing.T) {
	t.Parallel()
	all := func(requirement.ID) bool { return true }
	of := func(area string) func(requirement.ID) bool {
		return func(id requirement.ID) bool { return id.Area() == area }
	}
	for name, test := range map[string]struct {
		readOnly bool
		selects  func(requirement.ID) bool
		load     workloadFlags
		webhook  bool
		loads    bool
		want     string // error
	}{
		"not":                    {false, all, workloadFlags{duration: time.Second}, true, true, ""},
		"everything":             {true, all, workloadFlags{duration: time.Second}, false, false, ""},
		"a chapter":              {true, of("versions"), workloadFlags{duration: time.Second}, false, false, ""},
		"no load, as it is told": {true, all, workloadFlags{given: true}, false, false, ""},
		"a load":                 {true, all, workloadFlags{duration: time.Second, given: true}, false, false, "--read-only: no load is sent; leave --load-profile"},
		"webhooks":               {true, of("webhook"), workloadFlags{duration: time.Second}, false, false, "--read-only: the selected requirements are about webhooks"},
	} {
		r := &runner{selects: test.selects, load: test.load}
		r.api.options.ReadOnly = test.readOnly
		chapter := slices.ContainsFunc(r.chapters(engine.Pods{}), func(a suites.Area) bool { return a.Name == "webhook" })
		if chapter != test.webhook || r.wantsLoad() != test.loads {
			t.Errorf("%s: the chapter webhook is there: %t, and a load: %t", name, chapter, r.wantsLoad())
		}
		if err := r.looks(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
