package crdconform

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Run checks a webhook as part of a test, with a subtest for each requirement. The subtest of a broken requirement fails; if API
// servers tolerate the violation, the subtest only logs it, unless the check is strict. One that is known to fail is only logged too. A
// requirement that is not applicable, or that was not judged, is skipped; if judging it went wrong, its subtest fails. Reports are
// written to the ReportDir of the Config, if it is set.
//
// Run uses Ginkgo, which allows one tree of specs per process. The test must therefore be in a package whose tests have no Ginkgo
// specs of their own; in any other package, Run fails the test and says why.
//
// While Run runs, klog writes to the log of the run, Gomega has different defaults, and the reporter of Ginkgo is silent. These
// settings belong to the process, so they affect tests that run in parallel. Run restores them before it returns. Only GinkgoWriter
// stays as Ginkgo leaves it: it buffers everything written to it, which serves no purpose without specs.
func Run(t *testing.T, c Check) {
	t.Helper()
	if foreign() {
		t.Fatal("crdconform.Run: this test binary has Ginkgo specs of its own, which would be lost; move the test to a package without any")
	}
	wanted := c.ReportDir != ""
	depth := "/"
	if c.RerunCommand == nil {
		c.RerunCommand = func(_ string, id requirement.ID) string {
			return fmt.Sprintf("go test -run '^%s$%s^%s$'", t.Name(), depth, id)
		}
	}
	plan, err := c.description().Prepare()
	if plan != nil && plan.Definitions()[0] != "" {
		depth = "//" // any definition
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("crdconform: seed %d", plan.Seed())
	report := plan.Run(t.Context(), nil, nil)
	if wanted {
		save(t, plan, report)
	}
	for _, r := range report.Results {
		t.Run(subtest(r), func(t *testing.T) { outcome(t, r, c.Strict) })
	}
	reportRest(t, report)
}

// Upgrade describes an upgrade to rehearse: from the releases in Config.Old, oldest first, to the release of Config.CRDs and
// Config.Webhook, with the objects of Config.Rehearse, or with generated objects if there are none. Zero fields stand for their
// defaults, as in Check.
type Upgrade struct {
	config.Config

	// Handler is the webhook of the new release, to serve over TLS instead of Config.Webhook.
	Handler http.Handler

	// OldHandlers are the webhooks of the old releases, one for each entry of Config.Old, with nil for a release without one. They
	// replace Config.Rehearse.Programs.
	OldHandlers []http.Handler

	// HandlerPath is the URL path at which the handlers are called; /convert if empty.
	HandlerPath string
}

// Rehearse rehearses an upgrade as part of a test, on built-in API servers, with a subtest for each requirement. The subtest of a
// broken requirement fails; if the violation is tolerated, the subtest only logs it, unless the rehearsal is strict. One that is
// known to fail is only logged too. A requirement that is not applicable, or that was not judged, is skipped; if judging it went
// wrong, its subtest fails. Reports are written to the ReportDir of the Config, if it is set. While Rehearse runs, klog writes to the
// log of the run.
func Rehearse(t *testing.T, u Upgrade) {
	t.Helper()
	wanted := u.ReportDir != ""
	plan, err := engine.Rehearsal{
		Description: engine.Description{
			Config: u.Config, Handler: u.Handler, HandlerPath: u.HandlerPath,
			RerunCommand: func(string, requirement.ID) string { return fmt.Sprintf("go test -run '^%s$'", t.Name()) },
		},
		OldHandlers: u.OldHandlers,
	}.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plan.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("crdconform: seed %d", plan.Seed())
	report := plan.Run(t.Context(), nil, nil)
	if wanted {
		save(t, plan.Plan, report)
	}
	for _, r := range report.Results {
		t.Run(subtest(r), func(t *testing.T) { outcome(t, r, u.Strict) })
	}
	reportRest(t, report)
}

// reportRest logs the notes of a report, and fails the test if not everything could be judged.
func reportRest(t *testing.T, report *reports.Report) {
	t.Helper()
	for _, note := range report.Notes {
		t.Logf("crdconform: %s", note)
	}
	if report.Error != "" {
		t.Errorf("crdconform could not judge all: %s", report.Error)
	}
}

// foreign reports whether this process has Ginkgo specs other than those of a check. It looks only once, because nothing may look
// while a check runs in another test.
var foreign = sync.OnceValue(func() (found bool) {
	if ginkgo.CurrentSpecReport().LeafNodeText != "" {
		return true
	}
	// If its specs have already run, Ginkgo exits the process, but prints a message first.
	out := formatter.ColorableStdErr
	formatter.ColorableStdErr = refusal{}
	defer func() {
		formatter.ColorableStdErr = out
		if said := recover(); said != nil {
			found = true
		}
	}()
	return slices.ContainsFunc(ginkgo.PreviewSpecs("crdconform").SpecReports, func(r types.SpecReport) bool {
		_, ours := suites.LabelledBy(r.Labels())
		return r.LeafNodeType.Is(types.NodeTypeIt) && !ours
	})
})

// refusal is a writer that panics instead of writing.
type refusal struct{}

func (refusal) Write(text []byte) (int, error) { panic(string(text)) }

// save writes the reports.
func save(t *testing.T, plan *engine.Plan, report *reports.Report) {
	t.Helper()
	report.Tool, report.Command = tool, "go test -run '"+t.Name()+"'"
	err := reporter.SetAside(plan.ReportDir())
	if err == nil {
		var folder reporter.Folder
		if folder, err = reporter.Open(plan.ReportDir()); err == nil {
			err = folder.Write(report)
		}
		if err == nil {
			_, err = folder.Keep(report)
		}
	}
	if err != nil {
		t.Errorf("crdconform: %v", err)
	}
}

// subtest returns the name of the subtest for a result.
func subtest(r reports.Result) string { return strings.TrimPrefix(r.Subject+"/"+string(r.ID), "/") }

// outcome turns a result into the outcome of a subtest.
func outcome(t *testing.T, r reports.Result, strict bool) {
	t.Helper()
	switch r.Verdict {
	case requirement.Passed:
	case requirement.NotApplicable, requirement.Unknown:
		t.Skip(r.Reason)
	case requirement.Tolerated:
		if strict {
			t.Errorf("%s\n%s", r.Statement, r.Reason)
		} else {
			t.Logf("tolerated by API servers: %s\n%s", r.Statement, r.Reason)
		}
	case requirement.KnownFailing:
		t.Logf("known to fail: %s", r.Reason)
	default:
		t.Errorf("%s\n%s\nwhy it matters: %s", r.Statement, r.Reason, r.Why)
	}
}
