//go:build kind

package suites_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
)

// failing are requirements that Kubernetes itself fails, by the minors in which that was seen.
func failing() map[requirement.ID][]requirement.Minor {
	return map[requirement.ID][]requirement.Minor{
		// The controller removes old versions from status.storedVersions when a migration ends, however it ended.
		requirement.ControlMigrationFailure: {{Major: 1, Minor: 36}},
	}
}

// TestOnAControlPlane runs the chapter where everything is there, and proves then that each spec can fail.
func TestOnAControlPlane(t *testing.T) {
	kubectl(t)
	c := kindCluster(t, true)
	hook := deploy(t, c)
	t.Run("conforms", func(t *testing.T) { conforms(t, c, hook) })
	t.Run("faults are caught", func(t *testing.T) {
		var all []requirement.ID // but those of kubectl, which kubectlFaultsAreCaught has
		for _, id := range declared() {
			if len(failing()[id]) == 0 && !strings.HasPrefix(string(id), "control.kubectl.") {
				all = append(all, id)
			}
		}
		catches(t, c, hook, 40*time.Second, all...)
	})
	t.Run("what Kubernetes fails can pass", func(t *testing.T) { mended(t, c) })
}

// mended runs the specs that Kubernetes fails where it seems to do what they ask for.
func mended(t *testing.T, genuine cluster.Cluster) {
	t.Helper()
	// What a definition says of stored versions once there are two stays.
	kept := controlEdited(`/customresourcedefinitions/`, inEach("status", func(status map[string]any) {
		if conditions, ok := status["conditions"].([]any); ok && len(conditions) > 2 {
			status["storedVersions"] = []any{"v1beta1", "v1"}
		}
	}))
	c := tamper(t, genuine, kept)
	for _, r := range controlRun(t, control.Area, suites.Options{Cluster: c, Select: only(requirement.ControlMigrationFailure), Domain: "mended.example.com"}, suitetest.Quiet{}) {
		if r.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

func conforms(t *testing.T, c cluster.Cluster, hook *deployed.Webhook) {
	t.Helper()
	env := suitetest.Env(t, suites.Options{Cluster: c, Domain: "version.example.com"})
	results := controlRun(t, control.New(control.Options{Webhook: hook}), suites.Options{Cluster: c}, suitetest.Quiet{})
	if len(results) != len(declared()) {
		t.Errorf("%d specs ran, want %d", len(results), len(declared()))
	}
	for _, r := range results {
		want := requirement.Passed
		for _, minor := range failing()[r.Requirement] {
			if minor == env.Minor() {
				want = requirement.Failed
			}
		}
		held, _ := requirement.Lookup(r.Requirement)
		if !held.HoldsFor(env.Minor()) {
			want = requirement.NotApplicable
		}
		if r.Verdict != want {
			t.Errorf("%s is %s, want %s: %s", r.Requirement, r.Verdict, want, r.Reason)
		}
	}
}

// kindCluster starts a kind cluster that stops with the test.
func kindCluster(t *testing.T, watchCache bool) cluster.Cluster {
	t.Helper()
	image := os.Getenv("CRDCONFORM_TEST_KIND_IMAGE") //nolint:forbidigo // what the machine has for tests
	if image == "" {
		t.Fatal("CRDCONFORM_TEST_KIND_IMAGE names no node image for kind")
	}
	c, err := kind.Start(t.Context(), kind.Options{
		Name:       "control",
		Image:      image,
		ConfigFile: os.Getenv("CRDCONFORM_TEST_KIND_CONFIG"), //nolint:forbidigo // what the machine has for tests
		WatchCache: watchCache,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}
