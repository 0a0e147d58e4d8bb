package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
)

// mute is a cluster that tells what went on in it, and whose API server does not answer.
type mute struct{ cluster.Cluster }

func (mute) Name() string         { return "mute" }
func (mute) Config() *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1"} }

func (mute) Artifacts(_ context.Context, dir string) error {
	return os.WriteFile(filepath.Join(dir, "server.log"), nil, 0o600)
}

// TestWhatKeepsSpecsFromRunningIsExplained has a webhook not be deployed, and an environment for specs not be made. What explains
// that is in the report.
func TestWhatKeepsSpecsFromRunningIsExplained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deployed *config.InCluster
		want     []string
	}{
		"deployment":  {&config.InCluster{Image: "example.com/webhook:1", ReadyTimeout: config.Duration{Duration: time.Second}}, []string{"cluster/server.log", "cluster/webhook/events.txt"}},
		"environment": {nil, []string{"cluster/server.log"}},
	} {
		r := &runner{selects: func(id requirement.ID) bool { return id == requirement.VersionsScopeCluster }}
		r.folder = reports.Folder(t.TempDir())
		r.api.sort, r.webhook.checked = kindCluster, config.Default()
		r.webhook.checked.Webhook.InCluster = test.deployed
		report := &reports.Report{}
		err := r.specs(t.Context(), &progress{}, mute{}, "run", &suites.Subject{}, report)
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("%s: %v", name, err)
		}
		for _, file := range test.want {
			if !slices.ContainsFunc(report.Artifacts, func(f reports.File) bool { return f.Path == file }) {
				t.Errorf("%s: there is no %s in %v", name, file, report.Artifacts)
			}
		}
	}
}

// TestLogKeepsNoSecrets writes a log in pieces.
func TestLogKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "apiserver.log")
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"it answered: tok", "en=hidden-value\nand so", " on"} {
		if _, err := log.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if got := string(read(t, path)); got != "it answered: token=[redacted]\nand so on\n" {
		t.Errorf("got %q", got)
	}
}
