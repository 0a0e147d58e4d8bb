package suites_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/envtest"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
)

// wanted skips the test for want of something, or fails it where a variable says that it must not be skipped.
func wanted(t *testing.T, what string) {
	t.Helper()
	const required = "CRDCONFORM_REQUIRE_TOOLS"
	if os.Getenv(required) != "" { //nolint:forbidigo // CI sets it for the tests of all packages
		t.Fatalf("there is no %s, and %s is set", what, required)
	}
	t.Skipf("there is no %s", what)
}

// kubectl skips the test unless there is one on PATH.
func kubectl(t *testing.T) {
	t.Helper()
	if !hasKubectl() {
		wanted(t, "kubectl on PATH")
	}
}

func hasKubectl() bool {
	_, err := exec.LookPath("kubectl")
	return err == nil
}

// deploy deploys the reference webhook as two pods that go on for a while when they are asked to stop.
func deploy(t *testing.T, c cluster.Cluster) *deployed.Webhook {
	t.Helper()
	program, err := suitetest.WebhookProgram(t)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := deployed.Build(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(suitetest.MendProxy(t, c.Config()), archive.Load(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	w, err := deployed.DeployImage(t.Context(), deployed.Workload{
		Image: archive.Reference, Loaded: true, Path: webhook.Path, ServicePort: 8443, Replicas: 2, Certs: "/certs",
	}, deployed.Options{Config: c.Config(), Run: "control"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return w
}

// kubeAPIServer starts a kube-apiserver without controllers that stops with the test.
func kubeAPIServer(t *testing.T) cluster.Cluster {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS") //nolint:forbidigo // what the machine has for tests
	if assets == "" {
		wanted(t, "kube-apiserver in KUBEBUILDER_ASSETS")
	}
	c, err := envtest.Start(t.Context(), envtest.Options{Assets: assets})
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

// controlRun runs specs of the chapter and returns what they came to.
func controlRun(t *testing.T, area suites.Area, options suites.Options, progress suites.Progress) []suites.Result {
	t.Helper()
	options.Seed = 1
	env, err := suites.NewEnv(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, progress)
	if err := env.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range outcome.Results {
		t.Logf("%-13s %s (%s): %s", result.Verdict, result.Requirement, result.Duration.Round(1e6), result.Reason)
	}
	return outcome.Results
}

// only selects some requirements.
func only(ids ...requirement.ID) func(requirement.ID) bool {
	return func(id requirement.ID) bool { return slices.Contains(ids, id) }
}

// declared returns the requirements that the chapter has specs for.
func declared() []requirement.ID {
	var ids []requirement.ID
	for _, spec := range suites.Preview([]suites.Area{control.Area}) {
		ids = append(ids, spec.Requirement)
	}
	return ids
}

// proxied takes the place of the exchange of a request with an API server, which next performs.
type proxied func(r *http.Request, next http.RoundTripper) (*http.Response, error)

// controlTampered is a cluster that seems to behave differently from what it does, to the suites and to kubectl alike: between them
// and the API server is a proxy that changes what goes in and out.
type controlTampered struct {
	cluster.Cluster

	proxy *httptest.Server
}

// Config returns how to reach the proxy.
func (c controlTampered) Config() *rest.Config {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.proxy.Certificate().Raw})
	// The token is for kubectl, which asks for a name and a password without any.
	return &rest.Config{Host: c.proxy.URL, QPS: -1, BearerToken: "none", TLSClientConfig: rest.TLSClientConfig{CAData: certificate}}
}

// tamper puts a proxy before a cluster.
func tamper(t *testing.T, genuine cluster.Cluster, change proxied) cluster.Cluster {
	t.Helper()
	config := genuine.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Header.Del("Accept-Encoding") // the transport unpacks what it asks for itself
			p.Out.Header.Del("Authorization")
		},
		Transport:     roundTripper(func(r *http.Request) (*http.Response, error) { return change(r, transport) }),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // of clients that went away
	}
	c := controlTampered{genuine, httptest.NewTLSServer(proxy)}
	t.Cleanup(c.proxy.Close)
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
