package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/versions"
)

// TestDeployable gives what cannot be deployed.
func TestDeployable(t *testing.T) {
	t.Parallel()
	text := put(t, "some words")
	process, kind, existing := &source.Source{}, &source.Source{Pods: true, Images: true}, &source.Source{Pods: true}
	for name, test := range map[string]struct {
		cluster config.APIServer
		from    *source.Source
		given   config.InCluster
		want    string
	}{
		"no pods":      {config.Embedded, process, config.InCluster{Image: "a"}, "webhook.inCluster: no pods can run with cluster embedded"},
		"an archive":   {"existing", existing, config.InCluster{Archive: text}, "webhook.inCluster.archive: images can be loaded into nodes of kind only"},
		"text":         {"kind", kind, config.InCluster{Archive: text}, "webhook.inCluster.archive: image archive " + text + ": not an archive"},
		"no manifests": {"kind", kind, config.InCluster{Manifests: []string{text}}, "webhook.inCluster.manifests: " + text + ":1: "},
		"an image":     {"kind", kind, config.InCluster{Image: "example.com/webhook:1"}, ""},
	} {
		err := Deployable(config.Config{APIServer: test.cluster, Webhook: config.Webhook{InCluster: &test.given}}, test.from)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// talkative is a cluster that has artifacts.
type talkative struct{ *embedded.Cluster }

func (talkative) Artifacts(_ context.Context, dir string) error {
	return os.WriteFile(filepath.Join(dir, "server.log"), nil, 0o600)
}

// staying is a cluster that others use as well.
type staying struct{ *embedded.Cluster }

func (staying) Domain() string { return "run.example.com" }

// TestStart has a check use the cluster that a program starts, and keep what explains a failure.
func TestStart(t *testing.T) {
	if err := embedded.LogTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	explained := ""
	c := Description{
		Config: config.Config{CRDs: []string{crontabs}, APIServer: "existing", Filter: []string{"resource.read.every-version"}, Generate: config.Generate{Objects: 3, Seed: 5}},
		Source: &source.Source{Labels: true, Start: func(ctx context.Context, run source.Run) (cluster.Cluster, error) {
			if run.ID == "" {
				t.Error("the run has no ID")
			}
			c, err := embedded.Start(context.WithoutCancel(ctx), embedded.Options{})
			return talkative{c}, err
		}},
		CollectArtifacts: func(_ *reports.Report, write func(string) error) error {
			explained = t.TempDir()
			return write(explained)
		},
	}
	for name, test := range map[string]struct {
		handler http.Handler
		want    requirement.Verdict
		reason  string
	}{
		"right":   {webhook.Handler(), requirement.Passed, ""},
		"wrong":   {faulty(t, "swaps-host-and-port"), requirement.Failed, ""},
		"nowhere": {http.NotFoundHandler(), requirement.NotApplicable, "cannot be judged while webhook.response.http-status fails: the webhook converts no object generated at v1alpha1"},
	} {
		c.Handler = test.handler
		plan, err := c.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		report := plan.Run(t.Context(), quiet{}, nil)
		if got := report.With(test.want); len(got) != 1 || !strings.Contains(got[0].Reason, test.reason) || report.Cluster == nil || report.Error != "" {
			t.Errorf("%s: %s with %v: %v, %s", name, report.Outcome, report.Counts, report.Results, report.Error)
		}
	}
	if _, err := os.Stat(explained); err != nil || explained == "" {
		t.Errorf("nothing was kept in %s: %v", filepath.Base(explained), err)
	}
	c.Source = &source.Source{Start: func(context.Context, source.Run) (cluster.Cluster, error) {
		return nil, errors.New("it is away")
	}}
	if plan, err := c.Prepare(); err != nil || plan.Run(t.Context(), quiet{}, nil).Error != "it is away" {
		t.Errorf("a cluster that is away: %v", err)
	}
	c.Source = nil
	plan, err := c.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if report := plan.Run(t.Context(), quiet{}, nil); report.Outcome != reports.Unjudged || !strings.Contains(report.Error, `apiServer: existing is for "crdconform check", and for programs that say by Check.Start how to start it`) {
		t.Errorf("nobody says which: %s, %s", report.Outcome, report.Error)
	}
}

// TestNodesThatDoNotReachTheWebhook has an API server call webhooks that it reaches, and one that it does not.
func TestNodesThatDoNotReachTheWebhook(t *testing.T) {
	if err := embedded.LogTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	api, err := embedded.Start(t.Context(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Stop(context.WithoutCancel(t.Context()))
	for address, want := range map[string]string{
		server.URL:                        "",
		"https://webhook.invalid/convert": "the API server does not reach the webhook at https://webhook.invalid/convert: dial tcp: lookup webhook.invalid",
		"https://localhost:1/crdconvert":  "", // the run leads there
		"https://[::1]:1/crdconvert":      "",
		"https://%zz/":                    "invalid URL escape",
	} {
		err := nodesReach(t.Context(), api, "r1", wire.Endpoint{URL: address, CA: server.CA})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
	}
	if err := nodesReach(t.Context(), api, "r1", wire.Endpoint{URL: "https://webhook.invalid/convert", ServerName: "a.b.svc"}); err != nil {
		t.Errorf("one that a service leads to: %v", err)
	}
}

// TestDefinitionsForAProgram installs definitions for a program in a cluster that stays: they go in the end, and what is there
// already does not.
func TestDefinitionsForAProgram(t *testing.T) {
	if err := embedded.LogTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	api, err := embedded.Start(t.Context(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	shared := staying{api}
	c := Description{Config: config.Config{CRDs: []string{crontabs}, APIServer: "existing"}, Handler: webhook.Handler(), Source: &source.Source{Labels: true}}
	plan, err := c.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	var own, foreign installed
	if err := plan.install(t.Context(), shared, &own); err != nil || len(own.all) != 1 || own.all[0].Labels[cluster.RunLabel] != plan.run {
		t.Fatalf("got %+v, %v", own.all, err)
	}
	if err := plan.install(t.Context(), shared, &foreign); err == nil || !strings.Contains(err.Error(), "it does not belong to this run") {
		t.Errorf("the second time: %v", err)
	}
	left := func() bool {
		_, err := own.definitions.Client.Get(t.Context(), own.all[0].Name, metav1.GetOptions{})
		return !apierrors.IsNotFound(err)
	}
	if err := foreign.remove(t.Context()); err != nil || !left() {
		t.Errorf("one that is not the run's is gone: %v", err)
	}
	if err := own.remove(t.Context()); err != nil {
		t.Error(err)
	}
	if left() {
		t.Error("it is still there")
	}
	if err := own.remove(t.Context()); err != nil {
		t.Errorf("what is gone: %v", err)
	}
}

// mute is a cluster that has artifacts, and whose API server does not answer.
type mute struct{ cluster.Cluster }

func (mute) Name() string               { return "mute" }
func (mute) Config() *rest.Config       { return &rest.Config{Host: "https://127.0.0.1:1"} }
func (mute) Stop(context.Context) error { return nil }

func (mute) Artifacts(_ context.Context, dir string) error {
	return os.WriteFile(filepath.Join(dir, "server.log"), nil, 0o600)
}

// TestWhatKeepsSpecsFromRunningIsExplained has a webhook not be deployed, and an environment for specs not be made. What explains
// that is kept while the cluster is there.
func TestWhatKeepsSpecsFromRunningIsExplained(t *testing.T) {
	t.Parallel()
	pods := config.Webhook{InCluster: &config.InCluster{Image: "example.com/webhook:1", ReadyTimeout: config.Duration{Duration: time.Second}}}
	chapter := func(Pods) []suites.Area { return []suites.Area{versions.Area} }
	for name, test := range map[string]struct {
		check Description
		want  []string
	}{
		"deployment":             {Description{Config: config.Config{Webhook: pods}}, []string{"server.log", "webhook/events.txt"}},
		"environment":            {Description{Handler: webhook.Handler()}, []string{"server.log"}},
		"deployment, API server": {Description{Config: config.Config{Webhook: pods}, JudgesServer: true, Chapters: chapter}, []string{"server.log", "webhook/events.txt"}},
		"environment, API server": {
			Description{Config: config.Config{Webhook: config.Webhook{Reference: &config.Reference{}}}, JudgesServer: true, Chapters: chapter}, []string{"server.log"},
		},
	} {
		dir := t.TempDir()
		c := test.check
		c.APIServer, c.Filter = "existing", []string{"resource.read.every-version"}
		if c.CRDs = []string{crontabs}; c.JudgesServer {
			c.CRDs, c.Filter = nil, []string{string(requirement.VersionsScopeCluster)}
		}
		c.Source = &source.Source{Labels: true, Pods: true, Start: func(context.Context, source.Run) (cluster.Cluster, error) { return mute{}, nil }}
		c.CollectArtifacts = func(r *reports.Report, write func(string) error) error { return reporter.Folder(dir).Gather(r, write) }
		plan, err := c.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		report := plan.Run(t.Context(), quiet{}, nil)
		if report.Outcome != reports.Unjudged || !strings.Contains(report.Error, "127.0.0.1:1") {
			t.Errorf("%s: %s: %s", name, report.Outcome, report.Error)
		}
		for _, file := range test.want {
			if _, err := os.Stat(filepath.Join(dir, "cluster", filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !slices.ContainsFunc(report.Artifacts, func(f reports.File) bool { return f.Path == "cluster/"+file }) {
				t.Errorf("%s: there is no %s in %v", name, file, report.Artifacts)
			}
		}
	}
}
