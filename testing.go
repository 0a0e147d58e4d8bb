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
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Run checks a webhook as part of a test: each requirement is a subtest of its own. One that is broken fails, or only logs
// when API servers tolerate it, unless the check is strict; what cannot be judged is skipped. Reports are written to the
// folder that the Config names, if it names one.
//
// The specs behind it are Ginkgo's, of which a process can have one tree. So it belongs into a package whose tests have no
// Ginkgo specs of their own, and says so elsewhere.
//
// While Run runs, klog writes to the log of the run, Gomega has other defaults, and Ginkgo's reporter writes nothing. These belong to
// the process, so other tests that run at the same time are affected. Run undoes all of that before it returns. Only GinkgoWriter stays
// as Ginkgo leaves it: it buffers what is written to it, which is of no use without specs.
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
		t.Run(subtest(r), func(t *testing.T) { tell(t, r, c.Strict) })
	}
	tellRest(t, report)
}

// Upgrade is an upgrade to rehearse: from the releases of Config.Old, the oldest first, to the one of Config.CRDs and Config.Webhook, with
// the objects of Config.Rehearse, or generated ones if there are none. Fields that are zero stand for their defaults, as in a Check.
type Upgrade struct {
	config.Config

	// Handler is the webhook of the new release, to serve over TLS in the place of Config.Webhook.
	Handler http.Handler

	// OldHandlers are the webhooks of the old releases, one for each entry of Config.Old and nil for none, in the place of
	// Config.Rehearse.Programs.
	OldHandlers []http.Handler

	// HandlerPath is the path at which the handlers are called: /convert if empty.
	HandlerPath string
}

// Rehearse rehearses an upgrade as part of a test, on built-in API servers: each requirement is a subtest of its own. One that is broken
// fails, or only logs when it is tolerated, unless the rehearsal is strict; what cannot be judged is skipped. Reports are written to the
// folder that the Config names, if it names one. While it runs, klog writes to the log of the run.
func Rehearse(t *testing.T, u Upgrade) {
	t.Helper()
	wanted := u.ReportDir != ""
	plan, err := engine.Rehearsal{
		Config: u.Config, Handler: u.Handler, OldHandlers: u.OldHandlers, HandlerPath: u.HandlerPath,
		RerunCommand: func(requirement.ID) string { return fmt.Sprintf("go test -run '^%s$'", t.Name()) },
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
		t.Run(subtest(r), func(t *testing.T) { tell(t, r, u.Strict) })
	}
	tellRest(t, report)
}

// tellRest logs the notes of a report, and fails if not all could be judged.
func tellRest(t *testing.T, report *reports.Report) {
	t.Helper()
	for _, note := range report.Notes {
		t.Logf("crdconform: %s", note)
	}
	if report.Error != "" {
		t.Errorf("crdconform could not judge all: %s", report.Error)
	}
}

// foreign reports whether Ginkgo has specs in this process that are not those of a check. It looks once: while a check runs in
// another test, nobody else may look.
var foreign = sync.OnceValue(func() (found bool) {
	if ginkgo.CurrentSpecReport().LeafNodeText != "" {
		return true
	}
	// Ginkgo ends the process when its specs ran before, but not before it has said so.
	out := formatter.ColorableStdErr
	formatter.ColorableStdErr = refusal{}
	defer func() {
		formatter.ColorableStdErr = out
		if said := recover(); said != nil {
			found = true
		}
	}()
	return slices.ContainsFunc(ginkgo.PreviewSpecs("crdconform").SpecReports, func(r types.SpecReport) bool {
		return r.LeafNodeType.Is(types.NodeTypeIt) && !slices.ContainsFunc(r.Labels(), func(label string) bool { return strings.HasPrefix(label, "req:") })
	})
})

// refusal is a writer that panics rather than write.
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

// subtest is the name of the subtest of a result.
func subtest(r reports.Result) string { return strings.TrimPrefix(r.Subject+"/"+string(r.ID), "/") }

// tell makes a result that of a subtest.
func tell(t *testing.T, r reports.Result, strict bool) {
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
