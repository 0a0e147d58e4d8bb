//go:build kind

package kind_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/conversion"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/storage"
)

// TestExisting runs chapters in a cluster with everything that clusters have: services are led out of it by its proxy, and namespaces go
// by themselves. That is what differs from an API server alone, on which all chapters run, so it runs those that want services and
// namespaces.
func TestExisting(t *testing.T) {
	whole := start(t, "existing")
	listener, host, err := whole.Listen(t.Context()) // it knows by which address this machine is reached
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()

	options := existing.Options{Kubeconfig: whole.Kubeconfig(), Context: "kind-" + whole.ClusterName(), Run: "whole", WebhookHost: host}
	c, err := existing.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if passed := conforms(t, c, conversion.Area, storage.Area, lifecycle.Area); passed < 100 {
		t.Errorf("%d requirements passed", passed)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	cleaner, err := existing.NewCleaner(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) { // the namespace takes a while
		found, unlisted, err := cleaner.Find(t.Context(), "whole")
		if err == nil && len(found)+len(unlisted) == 0 {
			return
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("left are %v, not seen %v, %v", found, unlisted, err)
		}
	}
}

// conforms runs chapters, of which nothing may fail, and nothing may lack a webhook. It returns how many requirements passed.
func conforms(t *testing.T, c *existing.Cluster, areas ...suites.Area) int {
	t.Helper()
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: c, Seed: 1, Domain: c.Domain(), Run: "whole"})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := suites.Run(t.Context(), env, areas, spectest.Quiet{})
	if err := errors.Join(err, env.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, r := range outcome.Results {
		switch {
		case r.Verdict == requirement.Passed:
			passed++
		case r.Verdict != requirement.NotApplicable:
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		case strings.Contains(r.Reason, cluster.ErrNotReached.Error()):
			t.Errorf("the webhook was not reached: %s", r.Reason)
		}
	}
	return passed
}
