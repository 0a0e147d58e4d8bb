package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestRunOfOneRequirement checks a single requirement, and then once more by the commands that the report has for that.
func TestRunOfOneRequirement(t *testing.T) {
	t.Parallel()
	r := invoke(t, "run", "--filter", "storage.update.rewrites", "--load-duration", "0", "--seed", "42")
	r.exits(t, exitConforms)
	report := r.report(t)
	if report.Outcome != reports.Conformant || report.Seed != 42 || report.Load != nil || report.Webhook != nil {
		t.Errorf("got %+v", report)
	}
	if report.Cluster == nil || report.Cluster.Version != embedded.Release() || report.Cluster.WatchCache {
		t.Errorf("the cluster was %+v", report.Cluster)
	}
	if len(report.Results) != 1 || report.Results[0].ID != "storage.update.rewrites" || report.Results[0].Verdict != requirement.Passed {
		t.Fatalf("got %v", report.Results)
	}
	result := report.Results[0]
	if file, _, _ := strings.Cut(result.Location, ":"); !strings.HasPrefix(file, "suites/storage/") {
		t.Errorf("the spec is at %s", result.Location)
	}
	for _, want := range []string{
		": Kubernetes " + embedded.Release() + " (embedded), seed 42\n[1/1] Passed        storage.update.rewrites (",
		"\n\nstorage        1 Passed\nConforms: 1 requirement passed, in ",
		" s\nReport: crdconform-report/report.html\n",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("it says:\n%swant something with %q", r.out, want)
		}
	}
	if log := string(read(t, filepath.Join(r.dir, "crdconform-report", "apiserver.log"))); !strings.Contains(log, "Serving securely on 127.0.0.1:") || r.err != "" {
		t.Errorf("the API server logs %q, and %q to the screen", log, r.err)
	}
	for _, command := range []string{result.Rerun, report.Command} {
		again := invoke(t, strings.Fields(command)[1:]...)
		again.exits(t, exitConforms)
		if repeated := again.report(t); repeated.Seed != 42 || len(repeated.Results) != 1 || repeated.Results[0].Verdict != requirement.Passed {
			t.Errorf("%q came to %v", command, repeated.Results)
		}
	}
}

// TestRunWithLoadProfiles sends two profiles, whose stages stand side by side in the report.
func TestRunWithLoadProfiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a run with two loads")
	}
	r := invoke(t, "run", "--load-profile", "apiserver,ramp", "--load-duration", "500ms", "--filter", "versions.scope.cluster")
	l := r.report(t).Load
	if l == nil {
		t.Fatalf("no load was sent:\n%s", r.err)
	}
	var names []string
	for _, s := range l.Stages {
		names = append(names, s.Name)
		if s.Requests == 0 || s.Failed > 0 || s.Repeat != 1 {
			t.Errorf("%s: %d requests, %d failed, repeat %d", s.Name, s.Requests, s.Failed, s.Repeat)
		}
	}
	if want := []string{"clients 1", "clients 10", "ramp"}; !slices.Equal(names, want) || l.Profile != "apiserver + ramp" {
		t.Errorf("the profile %q has the stages %q, want %q", l.Profile, names, want)
	}
	if reporter.Void(l) == "" { // the machine was not busy
		r.exits(t, exitConforms)
	}
}

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

// TestUnwritableForm has one form of the report be impossible to write.
func TestUnwritableForm(t *testing.T) {
	t.Parallel()
	url, ca := serving(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "crdconform-report", "junit.xml", "occupied"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := startIn(t, dir, "check", url, "--ca-file", ca, "--filter", "webhook.response").end()
	r.exits(t, exitUnjudged)
	if !strings.HasPrefix(r.err, "crdconform: report folder crdconform-report: ") || !strings.Contains(r.err, "junit.xml") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("it says %q", r.err)
	}
	if !strings.Contains(r.out, "\nConforms: ") {
		t.Errorf("the verdict is lost:\n%s", r.out)
	}
	for _, name := range []string{"report.json", "report.html", "summary.md"} {
		if info, err := os.Stat(filepath.Join(dir, "crdconform-report", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReaderThatGoes has nobody read the output to its end, as with a pipe to head.
func TestReaderThatGoes(t *testing.T) {
	t.Parallel()
	url, ca := serving(t, "wrong-uid")
	for name, test := range map[string]struct {
		args []string
		code int
	}{
		"check": {[]string{"check", url, "--ca-file", ca, "--filter", "webhook.response"}, exitViolates},
		"run":   {[]string{"run", "--filter", "versions.scope.cluster"}, exitConforms},
		"list":  {[]string{"list"}, exitConforms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := unread(t, test.args...)
			r.exits(t, test.code)
			if r.err != "" {
				t.Errorf("it complains: %s", r.err)
			}
			if name != "list" && len(r.report(t).Results) == 0 {
				t.Error("the report has no results")
			}
		})
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
