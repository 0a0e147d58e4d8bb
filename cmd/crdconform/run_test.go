package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/requirement"
)

// TestReaderThatGoes has nobody read the output to its end, as with a pipe to head.
func TestReaderThatGoes(t *testing.T) {
	t.Parallel()
	executable.Prepare(t, "crdconform", t.TempDir(), "list").Unread(t).Exits(t, exitConforms)
	fault, _ := webhook.FaultNamed("wrong-uid")
	url, ca := serve(t, webhook.Handler(fault), nil)
	readerGoes(t, exitViolates, "check", url, "--ca-file", ca, "--filter", "webhook.response")
}

// readerGoes runs a command line with nobody to read what it says, which is no problem of the report's.
func readerGoes(t *testing.T, code int, args ...string) {
	t.Helper()
	r := executable.Prepare(t, "crdconform", t.TempDir(), args...).Unread(t)
	r.Exits(t, code)
	if r.Err != "" {
		t.Errorf("it complains: %s", r.Err)
	}
	if len(reportOf(t, r).Results) == 0 {
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
		"not":                   {false, all, workloadFlags{duration: time.Second}, true, true, ""},
		"everything":            {true, all, workloadFlags{duration: time.Second}, false, false, ""},
		"a chapter":             {true, of("versions"), workloadFlags{duration: time.Second}, false, false, ""},
		"no load, as requested": {true, all, workloadFlags{given: true}, false, false, ""},
		"a load":                {true, all, workloadFlags{duration: time.Second, given: true}, false, false, "--read-only: no load is sent; leave --load-profile"},
		"webhooks":              {true, of("webhook"), workloadFlags{duration: time.Second}, false, false, "--read-only: the selected requirements are about webhooks"},
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
