package engine

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// crontabs is the definition of what the reference webhook converts.
const crontabs = "../../fixtures/definitions/reference.yaml"

// TestMain makes this executable a webhook program too: "webhook PORT CERTS", "fragile PORT CERTS" for one that ends when it meets an
// object with the name bad, or with that of an object that is read from an API server, or "greedy PORT CERTS" for one that allocates without
// bound when a host is empty.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && slices.Contains([]string{"webhook", "fragile", "greedy"}, os.Args[1]) {
		handler := webhook.Handler()
		switch os.Args[1] {
		case "greedy":
			handler = breaking([]string{`"host":""`}, func(http.ResponseWriter) { allocate() })
		case "fragile":
			handler = breaking([]string{`"name":"bad"`, `"name":"read-every-version-v1beta1-3"`}, func(http.ResponseWriter) {
				fmt.Fprintln(os.Stderr, "bad came")
				os.Exit(3) //nolint:forbidigo // this is a process of its own
			})
		}
		certs := os.Args[3]
		err := http.ListenAndServeTLS("127.0.0.1:"+os.Args[2], filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"), handler)
		panic(err)
	}
	m.Run()
}

// checked prepares a check and runs it, with few objects and without an API server.
func checked(t *testing.T, c Description) *reports.Report {
	t.Helper()
	c.APIServer, c.Generate = config.None, config.Generate{Objects: 3, Seed: 5}
	plan, err := c.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	return plan.Run(t.Context(), quiet{}, nil)
}

// faulty is the reference webhook with a fault.
func faulty(t *testing.T, name string) http.Handler {
	t.Helper()
	fault, found := webhook.FaultNamed(name)
	if !found {
		t.Fatalf("there is no fault %s", name)
	}
	return webhook.Handler(fault)
}

// verdicts returns the IDs of what has a verdict.
func verdicts(r *reports.Report, v requirement.Verdict) []requirement.ID {
	var ids []requirement.ID
	for _, result := range r.With(v) {
		ids = append(ids, result.ID)
	}
	return ids
}

// emptied has temporary files go to a directory that must be empty in the end.
func emptied(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in the directory for temporary files: %v, %v", left, err)
		}
	})
}

// put writes a file into a directory of the test and returns its path.
func put(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPrepare gives it what cannot be checked: the error says which key, and what is wrong.
func TestPrepare(t *testing.T) {
	t.Parallel()
	good := config.Config{Webhook: config.Webhook{URL: "https://localhost:1/convert"}}
	with := func(change func(*config.Config)) Description {
		c := good
		change(&c)
		return Description{Config: c}
	}
	text, object := put(t, "some words"), "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: one}\n"
	key := put(t, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
	for name, test := range map[string]struct {
		check Description
		want  string
	}{
		"nothing":              {Description{}, "no webhook specified"},
		"plain HTTP":           {with(func(c *config.Config) { c.Webhook.URL = "http://localhost/" }), "webhook.url: "},
		"two webhooks":         {with(func(c *config.Config) { c.Webhook.FromCRD = &config.FromCRD{} }), "webhook.fromCRD: webhook.url is also set"},
		"no definition":        {Description{Config: config.Config{Webhook: config.Webhook{FromCRD: &config.FromCRD{}}}}, "webhook.fromCRD: there is no definition to take it from"},
		"reference with more":  {Description{Config: config.Config{CRDs: []string{crontabs}, Webhook: config.Webhook{Reference: &config.Reference{}}}}, "webhook.reference: it converts the CronTabs"},
		"missing CRD":          {with(func(c *config.Config) { c.CRDs = []string{"missing.yaml"} }), "crds[0]: there is no file missing.yaml"},
		"no CRD":               {with(func(c *config.Config) { c.CRDs = []string{text} }), "crds: " + text + ":1: "},
		"no CRD among objects": {with(func(c *config.Config) { c.CRDs = []string{put(t, object)} }), "crds: no CustomResourceDefinition in "},
		"missing samples":      {with(func(c *config.Config) { c.Samples = []string{"missing.yaml"} }), "samples[0]: there is no file missing.yaml"},
		"no samples":           {with(func(c *config.Config) { c.Samples = []string{put(t, "# nothing\n")} }), "samples: there are no objects in "},
		"samples: one version": {with(func(c *config.Config) { c.Samples = []string{put(t, object)} }), "add an object at another version"},
		"invalid sample": {with(func(c *config.Config) {
			c.CRDs, c.Samples = []string{crontabs}, []string{put(t, "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: odd}\nport: x\n")}
		}), `sample example.com/v1 "odd": it does not match the schema of v1: port`},
		"another invalid sample": {with(func(c *config.Config) {
			const odd = "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: odd}\nport: x\n"
			c.CRDs, c.Samples = []string{crontabs}, []string{put(t, odd+"---\n"+strings.Replace(odd, "odd", "odder", 1))}
		}), `sample example.com/v1 "odder": it does not match the schema of v1: port`},
		"missing CA": {with(func(c *config.Config) { c.Webhook.CAFile = "missing.crt" }), "webhook.caFile: open missing.crt"},
		"no CA":      {with(func(c *config.Config) { c.Webhook.CAFile = key }), "webhook.caFile: there is no certificate in "},
		"client certificate": {with(func(c *config.Config) {
			c.Webhook.ClientCertificate = config.ClientCertificate{CertFile: key, KeyFile: key}
		}), "webhook.clientCertificate.certFile: "},
		"unknown ID":       {with(func(c *config.Config) { c.Filter = []string{"webhook.nothing"} }), "filter[0]: "},
		"nothing selected": {with(func(c *config.Config) { c.Filter = []string{"storage"} }), "filter and skip leave no requirement to check"},
		"known twice": {with(func(c *config.Config) {
			c.KnownFailing = []config.KnownFailing{{ID: "webhook.response.uid", Reason: "a"}, {ID: "webhook.response.uid", Reason: "b"}}
		}), "knownFailing[1].id: webhook.response.uid is listed twice"},
		"no time": {Description{Config: func() config.Config {
			c := config.Default()
			c.Webhook = config.Webhook{URL: "https://localhost/"}
			return c
		}()}, "webhook.timeout: 0s must be greater than 0"},
	} {
		if plan, err := test.check.Prepare(); err == nil || !strings.Contains(err.Error(), test.want) || plan != nil {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// TestPlan looks at what a check without a file stands for.
func TestPlan(t *testing.T) {
	t.Parallel()
	plan, err := Description{Config: config.Config{CRDs: []string{crontabs}}, Handler: webhook.Handler()}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if plan.Seed() <= 0 || plan.ReportDir() != "crdconform-report" || !slices.Equal(plan.Definitions(), []string{"crontabs.example.com"}) {
		t.Errorf("got seed %d, folder %s and definitions %v", plan.Seed(), plan.ReportDir(), plan.Definitions())
	}
	d := config.Default()
	if c := plan.want; c.Generate.Objects != d.Generate.Objects || c.Webhook.Timeout != d.Webhook.Timeout || !reflect.DeepEqual(c.Load, d.Load) || c.APIServer != d.APIServer {
		t.Errorf("the defaults are not in force: %+v", c.Config)
	}
	given := &config.Command{Args: []string{"x", "{port}", "{certs}"}}
	plan, err = Description{Config: config.Config{Webhook: config.Webhook{Command: given}}}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if c := plan.want.Webhook.Command; c.Path != "/convert" || c.ReadyTimeout.Duration != time.Minute || given.Path != "" {
		t.Errorf("the command is %+v, and what was given %+v", c, given)
	}
}

// TestEveryWayToServe has the same webhook judged in each.
func TestEveryWayToServe(t *testing.T) {
	emptied(t)
	server := httptest.NewTLSServer(webhook.Handler())
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	definitions := []string{crontabs}
	for name, c := range map[string]Description{
		"handler":   {Config: config.Config{CRDs: definitions}, Handler: webhook.Handler(), HandlerPath: "/elsewhere"},
		"URL":       {Config: config.Config{CRDs: definitions, Webhook: config.Webhook{URL: server.URL}}, CA: ca},
		"command":   {Config: config.Config{CRDs: definitions, Webhook: config.Webhook{Command: &config.Command{Args: []string{self, "webhook", "{port}", "{certs}"}}}}},
		"reference": {Config: config.Config{Webhook: config.Webhook{Reference: &config.Reference{}}}},
	} {
		report := checked(t, c)
		if report.Error != "" || report.Outcome != reports.Conformant || len(report.Results) < 50 || report.HarnessSeconds <= 0 {
			t.Errorf("%s: %s with %v and %q", name, report.Outcome, report.Counts, report.Error)
		}
		for _, r := range report.With(requirement.Failed, requirement.Errored, requirement.Tolerated) {
			t.Errorf("%s: %s is %s: %s", name, r.ID, r.Verdict, r.Reason)
		}
	}
}

// TestWhatRunSays of faults, known failures, declared losses and strictness.
func TestWhatRunSays(t *testing.T) {
	t.Parallel()
	only := func(ids ...string) config.Config { return config.Config{CRDs: []string{crontabs}, Filter: ids} }
	uid, kind := "webhook.response.uid", "webhook.response.content-type"
	known := only(uid)
	known.KnownFailing = []config.KnownFailing{{ID: uid, Reason: "issue 12"}}
	strict := only(kind)
	strict.Strict = true
	lossy := only("webhook.conversion.round-trip")
	for _, path := range []string{"host", "port", "hostPort", "metadata.labels"} {
		var p config.Pattern
		if err := p.UnmarshalText([]byte(path)); err != nil {
			t.Fatal(err)
		}
		lossy.Lossy = append(lossy.Lossy, config.Lossy{Path: p, Reason: "it moves"})
	}
	for name, test := range map[string]struct {
		check   Description
		outcome reports.Outcome
		verdict requirement.Verdict
	}{
		"a fault":          {Description{Config: only(uid), Handler: faulty(t, "wrong-uid")}, reports.NonConformant, requirement.Failed},
		"of the reference": {Description{Config: config.Config{Filter: []string{uid}, Webhook: config.Webhook{Reference: &config.Reference{Faults: []string{"wrong-uid"}}}}}, reports.NonConformant, requirement.Failed},
		"known":            {Description{Config: known, Handler: faulty(t, "wrong-uid")}, reports.Partial, requirement.KnownFailing},
		"known and mended": {Description{Config: known, Handler: webhook.Handler()}, reports.NonConformant, requirement.Failed},
		"tolerated":        {Description{Config: only(kind), Handler: faulty(t, "content-type-text")}, reports.Conformant, requirement.Tolerated},
		"strictly":         {Description{Config: strict, Handler: faulty(t, "content-type-text")}, reports.NonConformant, requirement.Tolerated},
		"a loss":           {Description{Config: only("webhook.conversion.round-trip"), Handler: faulty(t, "swaps-host-and-port")}, reports.NonConformant, requirement.Failed},
		"a declared loss":  {Description{Config: lossy, Handler: faulty(t, "loses-labels")}, reports.Conformant, requirement.Passed},
		"declared, wrong":  {Description{Config: lossy, Handler: faulty(t, "swaps-host-and-port")}, reports.Conformant, requirement.Tolerated},
	} {
		report := checked(t, test.check)
		if report.Outcome != test.outcome || len(report.Results) != 1 || report.Results[0].Verdict != test.verdict {
			t.Errorf("%s: %s with %v, want %s with one %s; %s", name, report.Outcome, report.Counts, test.outcome, test.verdict, report.Error)
		}
	}
	report := checked(t, Description{Config: config.Config{Webhook: config.Webhook{Reference: &config.Reference{Faults: []string{"nothing"}}}}})
	if report.Outcome != reports.Unjudged || !strings.Contains(report.Error, `webhook.reference.faults[0]: unknown fault "nothing"`) {
		t.Errorf("an unknown fault: %s, %q", report.Outcome, report.Error)
	}
}

// TestKnownFailuresOfSeveralDefinitions takes a requirement for mended when it passes for all of them, and not before.
func TestKnownFailuresOfSeveralDefinitions(t *testing.T) {
	t.Parallel()
	const id = requirement.WebhookResponseUID
	p := &Plan{kinds: make([]corpus.Corpus, 2), known: map[requirement.ID]string{id: "issue 12"}}
	for name, test := range map[string]struct{ verdicts, want []requirement.Verdict }{
		"it fails for one":   {[]requirement.Verdict{requirement.Failed, requirement.Passed}, []requirement.Verdict{requirement.KnownFailing, requirement.Passed}},
		"it fails for both":  {[]requirement.Verdict{requirement.Failed, requirement.Failed}, []requirement.Verdict{requirement.KnownFailing, requirement.KnownFailing}},
		"it passes for both": {[]requirement.Verdict{requirement.Passed, requirement.Passed}, []requirement.Verdict{requirement.Failed, requirement.Passed}},
		"it is not judged":   {[]requirement.Verdict{requirement.NotApplicable, requirement.NotApplicable}, []requirement.Verdict{requirement.NotApplicable, requirement.NotApplicable}},
	} {
		report := &reports.Report{}
		for _, verdict := range test.verdicts {
			revised, _ := p.Revise(id, verdict, "")
			report.Results = append(report.Results, reports.Result{Requirement: requirement.Requirement{ID: id}, Verdict: revised})
		}
		p.reviseAll(report)
		var got []requirement.Verdict
		for _, r := range report.Results {
			got = append(got, r.Verdict)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// TestCertificateByAnotherAuthority is a verdict; without an authority, it is why nothing can be judged.
func TestCertificateByAnotherAuthority(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(webhook.Handler())
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	other, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	c := Description{Config: config.Config{Webhook: config.Webhook{URL: server.URL}}}
	if report := checked(t, c); report.Outcome != reports.Unjudged || !strings.Contains(report.Error, "certificate") || len(report.Results) > 0 {
		t.Errorf("without: %s, %q", report.Outcome, report.Error)
	}
	c.CA = other.CA
	if got := verdicts(checked(t, c), requirement.Failed); !slices.Equal(got, []requirement.ID{requirement.WebhookTransportCertificate}) {
		t.Errorf("by another: %v", got)
	}
}

// stopper ends a context when a spec begins.
type stopper struct {
	quiet
	once sync.Once
	stop context.CancelFunc
}

func (s *stopper) SpecDone(suites.Result) { s.once.Do(s.stop) }

// TestCancelledRun ends a run in the middle of the specs, and before the program is up. What was found stays.
func TestCancelledRun(t *testing.T) {
	emptied(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Description{Config: config.Config{APIServer: config.None, Webhook: config.Webhook{Command: &config.Command{Args: []string{self, "webhook", "{port}", "{certs}"}}}}}
	for name, early := range map[string]bool{"in the middle": false, "before": true} {
		plan, err := c.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if early {
			cancel()
		}
		report := plan.Run(ctx, &stopper{stop: cancel}, nil)
		cancel()
		if !report.Interrupted || report.Outcome != reports.Interrupted || report.Error != "" || report.Counts[requirement.Failed]+report.Counts[requirement.Errored] > 0 {
			t.Errorf("%s: %s with %v and %q", name, report.Outcome, report.Counts, report.Error)
		}
		if judged := len(report.Results) - report.Counts[requirement.Unknown]; early && judged > 0 || !early && (judged == 0 || report.Counts[requirement.Unknown] == 0) {
			t.Errorf("%s: got %v", name, report.Counts)
		}
	}
}
