package suites_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// TestSetUps has what stands in the way of the specs named: it is never blamed on the webhook.
func TestSetUps(t *testing.T) {
	c := apiServer.Cluster(t)
	for name, test := range map[string]struct {
		subject *suites.Subject
		verdict requirement.Verdict
		says    string
	}{
		"no definition": {
			withoutDefinition(t), requirement.NotApplicable, "needs the CustomResourceDefinition",
		},
		"no webhook in the definition": {
			subject(t, webhook.Handler(), sampled(t, strategy(apiextensionsv1.NoneConverter))), requirement.NotApplicable, "spec.conversion.strategy is not Webhook",
		},
		"client certificate": {
			connected(t, subject(t, webhook.Handler(), sampled(t)), func(e *wire.Endpoint) { e.ClientCertificate = &tls.Certificate{} }),
			requirement.NotApplicable, "requires a client certificate",
		},
		"server name of no service": {
			connected(t, subject(t, webhook.Handler(), sampled(t)), func(e *wire.Endpoint) { e.ServerName = "webhook.example.com" }),
			requirement.NotApplicable, "its server name is webhook.example.com",
		},
		"unknown review versions": {
			subject(t, webhook.Handler(), sampled(t, reviews("v1alpha1", "v2"))), requirement.Errored, `conversionReviewVersions are ["v1alpha1" "v2"], none of which API servers support`,
		},
		"refused definition": {
			subject(t, webhook.Handler(), sampled(t, misnamed)), requirement.Errored, "spec.names.plural",
		},
		"refused samples": {
			subject(t, webhook.Handler(), stricter(t)), requirement.Errored, "all of which the API server refuses: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			results := judge(t, c, test.subject, requirement.ResourceCreateEveryVersion)
			if len(results) != 1 || results[0].Verdict != test.verdict || !strings.Contains(results[0].Reason, test.says) {
				t.Errorf("got %+v, want %s because %q", results, test.verdict, test.says)
			}
		})
	}
}

// TestWithoutACluster selects the specs nevertheless.
func TestWithoutACluster(t *testing.T) {
	for _, result := range judge(t, nil, subject(t, webhook.Handler(), sampled(t))) {
		if result.Verdict != requirement.NotApplicable || !strings.Contains(result.Reason, "needs an API server") {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// TestService has the webhook called by the service that its certificate is for.
func TestService(t *testing.T) {
	handler := &called{next: webhook.Handler()}
	results := judge(t, apiServer.Cluster(t), behindService(t, handler), requirement.ResourceCreateEveryVersion)
	if len(results) != 1 || results[0].Verdict != requirement.Passed {
		t.Errorf("got %+v", results)
	}
	if !strings.HasPrefix(handler.host, "converter.system.svc:") {
		t.Errorf("the webhook was called as %q", handler.host)
	}
}

// TestWebhookOutOfReach has calls to the service go where nobody listens. That is not the webhook's doing.
func TestWebhookOutOfReach(t *testing.T) {
	c := apiServer.Cluster(t)
	results := judge(t, misrouting{c}, behindService(t, webhook.Handler()), requirement.ResourceCreateEveryVersion, requirement.ResourceWatchEveryVersion)
	if len(results) != 2 {
		t.Errorf("got %+v", results)
	}
	for _, result := range results {
		if result.Verdict != requirement.Errored || !strings.Contains(result.Reason, "cannot be reached by the API server") {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// misrouting is a cluster that sends calls to services to a port of nobody.
type misrouting struct{ *embedded.Cluster }

func (m misrouting) Route(ctx context.Context, namespace, name string, port int32, _ string) error {
	return m.Cluster.Route(ctx, namespace, name, port, "127.0.0.1:1")
}

// TestDeclaredLosses loses a field that may be lost.
func TestDeclaredLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: five specs of writing run once more")
	}
	s := subject(t, changing("v1beta1", func(o map[string]any) { delete(within(o, "spec"), "image") }), sampled(t))
	s.Lossy = func(_, _, path string) (string, bool) { return "there are no images", path == "spec.image" }
	for _, result := range judge(t, apiServer.Cluster(t), s, requirement.ResourceReadEveryVersion, requirement.ResourceWriteNoOp, requirement.ResourceUpdateEveryVersion, requirement.ResourceApplyTwoManagers, requirement.ResourceListMixedStorage) {
		if result.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// TestDeclaredToBeLost changes a field that may be lost: what was declared is not what happens, and is said.
func TestDeclaredToBeLost(t *testing.T) {
	s := subject(t, changing("v1beta1", func(o map[string]any) {
		if spec := within(o, "spec"); spec["image"] != nil {
			spec["image"] = "another"
		}
	}), sampled(t))
	s.Lossy = func(_, _, path string) (string, bool) { return "there are no images", path == "spec.image" }
	for _, result := range judge(t, apiServer.Cluster(t), s, requirement.ResourceReadEveryVersion, requirement.ResourceWriteNoOp) {
		if result.Verdict != requirement.Tolerated || !strings.Contains(result.Reason, "spec.image: expected ") || !strings.Contains(result.Reason, "(declared lossy, but it comes back as another value)") {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// TestListsOfOldObjects loses a field on the way to a version that is not the storage version: what was stored at that one never had it.
func TestListsOfOldObjects(t *testing.T) {
	s := subject(t, changing("v1alpha1", func(o map[string]any) { delete(within(o, "spec"), "image") }), sampled(t))
	for _, result := range judge(t, apiServer.Cluster(t), s, requirement.ResourceListMixedStorage) {
		if result.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// TestSilentWebhook asks a webhook no more that let the API server wait.
func TestSilentWebhook(t *testing.T) {
	handler := resourceSaying("context deadline exceeded", func(string, string, map[string]any) bool { return true })
	failed := 0
	for _, result := range judge(t, apiServer.Cluster(t), subject(t, handler, sampled(t))) {
		switch {
		case result.Verdict == requirement.Failed:
			failed++
		case result.Verdict != requirement.NotApplicable || !strings.Contains(result.Reason, "deadline exceeded"):
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
	if failed != 1 {
		t.Errorf("%d specs failed, want the first that waited for the webhook", failed)
	}
}

// TestBrokenBelow has webhooks that break what the chapter builds on: nothing is Errored, and what cannot be judged names the requirement.
func TestBrokenBelow(t *testing.T) {
	t.Run("renames", func(t *testing.T) {
		rename := changing("", func(o map[string]any) { within(o, "metadata")["name"] = "other" })
		for _, result := range judge(t, apiServer.Cluster(t), subject(t, rename, reference(t))) {
			if result.Verdict != requirement.NotApplicable || !strings.HasPrefix(result.Reason, "cannot be judged while webhook.metadata.name fails: ") {
				t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
			}
		}
	})
	t.Run("answers no more", func(t *testing.T) {
		var asked atomic.Int64
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) > 20 {
				panic(http.ErrAbortHandler)
			}
			webhook.Handler().ServeHTTP(w, r)
		})
		var failed []requirement.ID
		for _, result := range judge(t, apiServer.Cluster(t), subject(t, handler, sampled(t))) {
			if result.Verdict == requirement.Failed {
				failed = append(failed, result.Requirement)
			}
			if result.Verdict == requirement.Errored || result.Verdict == requirement.NotApplicable && !strings.Contains(result.Reason, " fails: the webhook did not answer an API server") {
				t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
			}
		}
		if len(failed) != 1 {
			t.Errorf("failed are %q, want the one that saw it first", failed)
		}
	})
}

// TestEmptyValuesLeftOut has a webhook that drops false tolerated.
func TestEmptyValuesLeftOut(t *testing.T) {
	c := sampled(t)
	sample := c.Objects("v1")[0]
	sample.Object["spec"] = map[string]any{"verbose": false}
	c, err := corpus.New(c.Definition, []*unstructured.Unstructured{sample})
	if err != nil {
		t.Fatal(err)
	}
	s := subject(t, changing("v1beta1", func(o map[string]any) {
		if spec := within(o, "spec"); spec["verbose"] == false {
			delete(spec, "verbose")
		}
	}), c)
	for _, result := range judge(t, apiServer.Cluster(t), s, requirement.ResourceReadEveryVersion) {
		if result.Verdict != requirement.Tolerated || !strings.Contains(result.Reason, "spec.verbose: expected false, got nothing") {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// TestSmallestObject has a loss in one field of generated objects shown with hardly another, and with what was done to that object.
func TestSmallestObject(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs run for each of several webhooks")
	}
	handler := changing("v1beta1", func(o map[string]any) { delete(within(o, "spec"), "image") })
	for _, result := range judge(t, apiServer.Cluster(t), subject(t, handler, reference(t)), requirement.ResourceReadEveryVersion, requirement.ResourceWriteNoOp) {
		name, _, _ := strings.Cut(result.Reason, ":")
		for _, a := range result.Attachments {
			object := &unstructured.Unstructured{}
			switch {
			case a.Name == "reproduce.sh" && !strings.Contains(string(a.Data), "name: "+name+"\n"):
				t.Errorf("%s is about %s, and what was done is\n%s", result.Requirement, name, a.Data)
			case a.Name != "object.yaml":
				continue
			}
			if err := yaml.Unmarshal(a.Data, &object.Object); err != nil {
				t.Fatal(err)
			}
			// Two are there by default.
			if leaves := corpus.Leaves(object); len(leaves) > 3 || !slices.Contains(leaves, "spec.image") || object.GetName() != name {
				t.Errorf("%s is about %s with %s: %s", result.Requirement, object.GetName(), strings.Join(leaves, ", "), result.Reason)
			}
		}
		if result.Verdict != requirement.Failed {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

func withoutDefinition(t *testing.T) *suites.Subject {
	t.Helper()
	s := subject(t, webhook.Handler(), sampled(t))
	s.Corpus.Definition = nil
	return s
}

func connected(t *testing.T, s *suites.Subject, change func(*wire.Endpoint)) *suites.Subject {
	t.Helper()
	client, err := s.Client.With(change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s.Client = client
	return s
}

func strategy(s apiextensionsv1.ConversionStrategyType) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: s}
	}
}

func reviews(versions ...string) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion.Webhook.ConversionReviewVersions = versions
	}
}

func misnamed(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.Plural = "Cron Tabs" }

// stricter is a corpus whose samples lack a field that the definition asks for in the cluster.
func stricter(t *testing.T) corpus.Corpus {
	t.Helper()
	c := sampled(t)
	for i := range c.Definition.CRD.Spec.Versions {
		c.Definition.CRD.Spec.Versions[i].Schema.OpenAPIV3Schema.Required = []string{"missing"}
	}
	return c
}

// called notes by what name a webhook was called.
type called struct {
	next http.Handler

	mu   sync.Mutex
	host string
}

func (c *called) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.host = r.Host
	c.mu.Unlock()
	c.next.ServeHTTP(w, r)
}

// behindService starts a webhook whose certificate is for a service.
func behindService(t *testing.T, handler http.Handler) *suites.Subject {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("converter.system.svc")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, handler, certificate)
	client, err := wire.Connect(wire.Endpoint{URL: url, CA: authority.PEM(), ServerName: "converter.system.svc"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &suites.Subject{Client: client, Corpus: sampled(t)}
}

// serve starts a TLS server with a certificate and returns its URL.
func serve(t *testing.T, handler http.Handler, certificate tls.Certificate) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL + webhook.Path
}

// far is a cluster whose API server claims to be on another machine.
type far struct {
	*embedded.Cluster

	host string // by which it reaches this one; empty when it does not
}

func (f far) Listen(ctx context.Context) (net.Listener, string, error) {
	if f.host == "" {
		return nil, "", fmt.Errorf("%w: this is a test", cluster.ErrNotReached)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(f.host, "0"))
	return listener, f.host, err
}

// TestFarAPIServer has an API server led to a webhook that listens on loopback, and not led where it reaches nothing here.
func TestFarAPIServer(t *testing.T) {
	c := apiServer.Cluster(t)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(net.Resolver).LookupHost(t.Context(), name); err != nil {
		t.Skipf("the name of this machine, %s, leads nowhere: %v", name, err)
	}
	faulty := changing("v1beta1", func(o map[string]any) { delete(within(o, "spec"), "image") })
	for name, test := range map[string]struct {
		host    string
		handler http.Handler
		verdict requirement.Verdict
		says    string
	}{
		"a right one":     {name, webhook.Handler(), requirement.Passed, ""},
		"a wrong one":     {name, faulty, requirement.Failed, "spec.image"},
		"one not reached": {"", webhook.Handler(), requirement.NotApplicable, "the webhook listens on loopback: " + cluster.ErrNotReached.Error() + ": this is a test"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range judge(t, far{c, test.host}, subject(t, test.handler, sampled(t)), requirement.ResourceReadEveryVersion) {
				if r.Verdict != test.verdict || !strings.Contains(r.Reason, test.says) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
		})
	}
}

// TestReportedOnce has webhooks that do not convert objects without spec, in a run with the specs that report this: no spec of this chapter
// fails for it, and one that finds something else does.
func TestReportedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs run for each of several webhooks")
	}
	without := func(o map[string]any) bool { return o["spec"] == nil }
	refuses := resourceRefusing(func(_, _ string, o map[string]any) bool { return without(o) })
	elsewhere := suites.Area{Name: "elsewhere", Register: func(env *suites.Env) {
		for _, id := range []requirement.ID{requirement.WebhookFailureAvoided, requirement.WebhookRequestPartialObjects} {
			env.It(id, "is of another chapter", func(SpecContext) {})
		}
	}}
	both := []requirement.ID{requirement.ResourceApplyTwoManagers, requirement.ResourceApplyManagedFields}
	for name, test := range map[string]struct {
		handler http.Handler
		objects corpus.Corpus
		blocker requirement.ID   // by which the specs of apply cannot be judged
		fails   []requirement.ID // in spite of that
	}{
		"by a refusal": {refuses, reference(t), requirement.WebhookRequestPartialObjects, nil},
		"by words of a crash": {
			resourceSaying("runtime error: invalid memory address", func(_, _ string, o map[string]any) bool { return without(o) }), reference(t),
			requirement.WebhookFailureAvoided, nil,
		},
		"over a sample": {refuses, sampled(t), requirement.WebhookRequestPartialObjects, nil},
		"with another defect": {
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorded := httptest.NewRecorder()
				refuses.ServeHTTP(recorded, r)
				body := strings.ReplaceAll(recorded.Body.String(), `"spec":{`, `"spec":{"creationTimestamp":null,`)
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			}), reference(t), "", both,
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := suitetest.Env(t, suites.Options{Cluster: apiServer.Cluster(t), Subject: subject(t, test.handler, test.objects), Seed: 1, Select: func(id requirement.ID) bool {
				return slices.Contains(both, id) || id == requirement.ResourceCreateEveryVersion || strings.HasPrefix(string(id), "webhook.")
			}})
			outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area, elsewhere}, suitetest.Quiet{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range outcome.Results {
				switch {
				case slices.Contains(test.fails, r.Requirement):
					if r.Verdict != requirement.Failed {
						t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
					}
				case slices.Contains(both, r.Requirement):
					if r.Verdict != requirement.NotApplicable || !strings.Contains(r.Reason, fmt.Sprintf("while %s fails", test.blocker)) {
						t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
					}
				case r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable:
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
		})
	}
}
