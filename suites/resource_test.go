package suites_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// TestOtherFormPasses has the reference webhook pass with a definition of another form than TestSuites has. More are nightly.
func TestOtherFormPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the chapter runs again")
	}
	passes(t, sampled(t, scope(apiextensionsv1.ClusterScoped)))
}

// passes wants all specs to pass against the correct webhook, not merely not to fail.
func passes(t *testing.T, objects corpus.Corpus) {
	t.Helper()
	began := time.Now()
	for _, result := range judge(t, apiServer.Cluster(t), subject(t, webhook.Handler(), objects)) {
		t.Logf("%s: %s in %s", result.Requirement, result.Verdict, result.Duration)
		if result.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
	t.Logf("%s in all", time.Since(began))
}

func scope(s apiextensionsv1.ResourceScope) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = s }
}

// sampled is the corpus of the reference definition with three samples at each version: two full ones, and one without
// anything.
func sampled(t *testing.T, options ...fixtures.Option) corpus.Corpus {
	t.Helper()
	c := reference(t, options...)
	var samples []*unstructured.Unstructured
	for version, address := range map[string][2]string{
		"v1alpha1": {"hostPort: localhost:1234", "hostPort: example.com:80"},
		"v1beta1":  {"hostPort: localhost:1234", "hostPort: example.com:80"},
		"v1":       {"host: localhost\nport: '1234'", "host: example.com\nport: '80'"},
	} {
		if !slices.Contains(c.Versions, version) {
			continue
		}
		for _, text := range []string{
			address[0] + "\nspec: {image: one, replicas: 3, revision: 4, environment: {a: b}, containers: [{name: a, image: b}]}\nstatus: {replicas: 3}\n",
			address[1] + "\nspec: {image: two, replicas: 5, revision: 6, environment: {a: c}, containers: [{name: b}]}\n",
			"",
		} {
			sample := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &sample.Object); err != nil {
				t.Fatal(err)
			}
			if sample.Object == nil {
				sample.Object = map[string]any{}
			}
			sample.SetAPIVersion(c.APIVersion(version))
			sample.SetKind(c.Kind)
			sample.SetName("sample")
			sample.SetLabels(map[string]string{"app": "crontab"})
			samples = append(samples, sample)
		}
	}
	with, err := corpus.New(c.Definition, samples)
	if err != nil {
		t.Fatal(err)
	}
	return with
}

// reference is the corpus of the reference definition without samples.
func reference(t *testing.T, options ...fixtures.Option) corpus.Corpus {
	t.Helper()
	d, err := corpus.NewDefinition(fixtures.Reference.New(options...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// subject starts a webhook as the one under test.
func subject(t *testing.T, handler http.Handler, objects corpus.Corpus) *suites.Subject {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &suites.Subject{Client: client, Corpus: objects}
}

// judge runs the selected specs, all if none is named.
func judge(t *testing.T, c cluster.Cluster, subject *suites.Subject, ids ...requirement.ID) []suites.Result {
	t.Helper()
	options := suites.Options{Cluster: c, Subject: subject, Seed: 1}
	if len(ids) > 0 {
		options.Select = func(id requirement.ID) bool { return slices.Contains(ids, id) }
	}
	env := suitetest.Env(t, options)
	outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}
