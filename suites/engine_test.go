package suites_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// runSpecs runs specs that a test declares.
func runSpecs(t *testing.T, options suites.Options, register func(env *suites.Env)) suites.Outcome {
	t.Helper()
	outcome, err := suites.Run(t.Context(), suitetest.Env(t, options), []suites.Area{{Name: "test", Register: register}}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// any requirement that needs no cluster will do.
const someID = requirement.WebhookResponseUID

// bare is a cluster without any of the abilities that not every cluster has.
type bare struct{ cluster.Cluster }

func TestWhatAClusterCannotDoIsNotApplicable(t *testing.T) {
	c := suitetest.Cluster(t, embedded.Options{WatchCache: true})
	outcome := runSpecs(t, suites.Options{Cluster: bare{c}}, func(env *suites.Env) {
		env.It(requirement.StorageWriteInitialVersion, "looks into storage", func(SpecContext) { env.Storage() })
		env.It(requirement.ConversionClientServerName, "routes services", func(SpecContext) { env.Services() })
		env.It(requirement.ConversionRequestOnRead, "counts calls", func(SpecContext) { env.SkipWithWatchCache() })
	})
	for _, result := range outcome.Results {
		if result.Verdict != requirement.NotApplicable || result.Reason == "" {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

func TestWhatIsNotInstalledIsErrored(t *testing.T) {
	c := apiServer.Cluster(t)
	outcome := runSpecs(t, suites.Options{Cluster: c}, func(env *suites.Env) {
		env.With(fixtures.None, fixtures.InGroup("no dots")).It(requirement.StorageWriteInitialVersion, "needs what cannot be installed",
			func(SpecContext, *suites.Resource) { Fail("it ran") })
	})
	if result := outcome.Results[0]; result.Verdict != requirement.Errored || !strings.Contains(result.Reason, "installing the definition") {
		t.Errorf("%s: %s", result.Verdict, result.Reason)
	}
}

func TestWhatRunsInstallIsRemoved(t *testing.T) {
	c := apiServer.Cluster(t)
	register := func(env *suites.Env) {
		env.With(fixtures.None).It(requirement.StorageWriteInitialVersion, "uses a definition", func(SpecContext, *suites.Resource) {})
		env.With(fixtures.None).It(requirement.StorageWriteStorageVersion, "uses another", func(SpecContext, *suites.Resource) { Fail("so") })
	}
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: register}}, suitetest.Quiet{}); err != nil {
		t.Fatal(err)
	}
	if err := env.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() ([]cluster.Stored, error) {
		return c.StoredAll(t.Context(), "apiextensions.k8s.io", "customresourcedefinitions")
	}).Should(BeEmpty())
}

// TestUnreachableAPIServer cuts the line to the API server while a spec runs.
func TestUnreachableAPIServer(t *testing.T) {
	c := apiServer.Cluster(t)
	cut := false
	tampered := &suitetest.Tampered{Cluster: c, Exchange: func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if cut {
			return nil, errors.New("cut")
		}
		return next.RoundTrip(r)
	}}
	outcome := runSpecs(t, suites.Options{Cluster: tampered}, func(env *suites.Env) {
		env.It(requirement.VersionsServingDiscovery, "asks in vain", func(ctx SpecContext) {
			cut = true
			Expect(env.CRDs.List(ctx, metav1.ListOptions{})).Error().NotTo(HaveOccurred())
		})
	})
	if r := outcome.Results[0]; r.Verdict != requirement.Errored || !strings.Contains(r.Reason, "could not be reached") || !strings.Contains(r.Reason, "cut") {
		t.Errorf("got %s: %s", r.Verdict, r.Reason)
	}
}

func TestEnvServesSeveralRuns(t *testing.T) {
	env := suitetest.Env(t, suites.Options{Cluster: apiServer.Cluster(t)})
	area := suites.Area{Name: "test", Register: func(env *suites.Env) {
		env.With(fixtures.None).It(requirement.VersionsServingDiscovery, "creates an object", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
		})
	}}
	for n := range 2 {
		outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, suitetest.Quiet{})
		if err != nil {
			t.Fatal(err)
		}
		if r := outcome.Results[0]; r.Verdict != requirement.Passed {
			t.Errorf("run %d: %s: %s", n+1, r.Verdict, r.Reason)
		}
	}
}

func TestRequirementsOfOtherMinors(t *testing.T) {
	c := apiServer.Cluster(t)
	tampered := &suitetest.Tampered{Cluster: c}
	serverEdited(func(r suitetest.Request) bool { return r.URL.Path == "/version" },
		func(body map[string]any) { body["major"], body["minor"] = "1", "18" })(t, tampered)
	outcome := runSpecs(t, suites.Options{Cluster: tampered}, func(env *suites.Env) {
		env.It(requirement.VersionsDeprecationCustomText, "is about 1.19", func(SpecContext) { Fail("it ran") })
		env.It(requirement.StorageWriteInitialVersion, "is about 1.16", func(SpecContext) {})
	})
	for _, result := range outcome.Results {
		want := requirement.Passed
		if result.Requirement == requirement.VersionsDeprecationCustomText {
			want = requirement.NotApplicable
		}
		if result.Verdict != want || result.Immaterial != (want == requirement.NotApplicable) {
			t.Errorf("%s is %s, immaterial: %t: %s", result.Requirement, result.Verdict, result.Immaterial, result.Reason)
		}
	}
}
