//go:build nightly

package server_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/envtest"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// serverAreas are the chapters that need a cluster and can be judged on each. The one about the webhook's own definition takes
// longer than all others together, and is left out with a watch cache.
func serverAreas(watchCache bool) []suites.Area {
	if watchCache {
		return chapters.Servers()
	}
	return append(chapters.Servers(), resource.Area)
}

// serverKind is a kind of cluster.
type serverKind struct {
	name  string
	start func(ctx context.Context, watchCache bool) (cluster.Cluster, error)

	variable string // that must be set for it; empty when none has to
	required string // variable that makes it an error when that is not set
}

func serverKinds() []serverKind {
	return []serverKind{
		{name: "embedded", start: func(ctx context.Context, watchCache bool) (cluster.Cluster, error) {
			return embedded.Start(ctx, embedded.Options{WatchCache: watchCache})
		}},
		{name: "envtest", variable: "KUBEBUILDER_ASSETS", required: "CRDCONFORM_REQUIRE_TOOLS", start: func(ctx context.Context, watchCache bool) (cluster.Cluster, error) {
			return envtest.Start(ctx, envtest.Options{Variable: os.LookupEnv, WatchCache: watchCache, Run: "agreement"}) //nolint:forbidigo // tests get what they run on from the environment
		}},
	}
}

// availableKinds returns the kinds of clusters for which there is what they need. It fails the test where all must be there.
func availableKinds(t *testing.T) []serverKind {
	t.Helper()
	var all []serverKind
	for _, s := range serverKinds() {
		switch {
		case s.variable == "" || os.Getenv(s.variable) != "": //nolint:forbidigo // tests get what they run on from the environment
			all = append(all, s)
		case os.Getenv(s.required) != "": //nolint:forbidigo // CI sets it for the tests of all packages
			t.Errorf("there is no cluster of the sort %s: %s is not set, and %s is", s.name, s.variable, s.required)
		default:
			t.Logf("there is no cluster of the sort %s: %s is not set", s.name, s.variable)
		}
	}
	return all
}

func TestAgreementOfClusters(t *testing.T) {
	there := availableKinds(t)
	if len(there) < 2 {
		t.Skip("nothing to compare the embedded API server with: set KUBEBUILDER_ASSETS")
	}
	seed := rand.Int64N(1<<31-1) + 1
	t.Logf("seed %d", seed)
	for name, watchCache := range map[string]bool{"without watch cache": false, "with watch cache": true} {
		t.Run(name, func(t *testing.T) {
			if watchCache && os.Getenv("CRDCONFORM_TEST_WATCH_CACHE") == "" { //nolint:forbidigo // it selects tests
				t.Skip("it takes as long again, and differs in nothing but a cache: CRDCONFORM_TEST_WATCH_CACHE is not set")
			}
			var all []judged
			for _, s := range there {
				t.Run(s.name, func(t *testing.T) { all = append(all, judgeOn(t, s, watchCache, seed)) })
			}
			wantAgreement(t, all)
		})
	}
}

// judgeOn runs the specs on a cluster. None may fail: the clusters are upstream's.
func judgeOn(t *testing.T, s serverKind, watchCache bool, seed int64) judged {
	t.Helper()
	if err := embedded.LogTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c, err := s.start(t.Context(), watchCache)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if c.Name() != s.name || c.WatchCache() != watchCache {
		t.Errorf("it is %s, and has a watch cache: %t", c.Name(), c.WatchCache())
	}
	options := suites.Options{Cluster: c, Subject: suitetest.SubjectFor(t, c), Seed: seed}
	ready := time.Since(began)
	all := judged{cluster: c.Name()}
	// The race detector makes hundreds of definitions at once more than an API server can publish in time.
	for _, area := range serverAreas(watchCache) {
		all.minor = judgeAreaOn(t, options, area, &all.results)
	}
	counts := map[requirement.Verdict]int{}
	for _, r := range all.results {
		counts[r.Verdict]++
		switch r.Verdict {
		case requirement.Passed, requirement.Tolerated:
		case requirement.NotApplicable:
			t.Logf("%s: %s", r.Requirement, r.Reason)
		default:
			t.Errorf("%s: %s: %s\n%s", r.Requirement, r.Verdict, r.Reason, r.Location)
		}
	}
	t.Logf("%s %s: ready for the first spec after %s, all done after %s: %v",
		c.Name(), all.minor, ready.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), counts)
	return all
}

// judgeAreaOn runs the specs of one area, adds what came of them, and returns the Kubernetes minor.
func judgeAreaOn(t *testing.T, options suites.Options, area suites.Area, results *[]suites.Result) requirement.Minor {
	t.Helper()
	env, err := suites.NewEnv(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	outcome, failed := suites.Run(t.Context(), env, []suites.Area{area}, suitetest.Quiet{})
	if err := errors.Join(failed, env.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
	*results = append(*results, outcome.Results...)
	return env.Minor()
}
