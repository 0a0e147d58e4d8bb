package existing

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestListen has the API server call a listener, which works for others afterwards.
func TestListen(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	c := connected(t, Options{Kubeconfig: s.kubeconfig(t, s.admin()), Run: "listen", WebhookHost: "127.0.0.1", WebhookListen: "127.0.0.1:0"})
	if c.Name() != "existing" || c.Context() != "test" || !c.WatchCache() || c.Domain() != "run-listen.example.com" {
		t.Errorf("it is %s, %s, %t, %s", c.Name(), c.Context(), c.WatchCache(), c.Domain())
	}
	for range 2 { // the second time the definition of the probe is there
		listener, host, err := c.Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if host != "127.0.0.1" || !strings.HasPrefix(listener.Addr().String(), "127.0.0.1:") {
			t.Errorf("it is %s, at %s", host, listener.Addr())
		}
		serves(t, listener)
	}
	crd, err := s.definitions.Get(t.Context(), "crontabs.probe.run-listen.example.com", metav1.GetOptions{})
	if err != nil || crd.Labels[cluster.RunLabel] != "listen" {
		t.Errorf("the definition of the probe is %v, %v", crd, err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.definitions.Get(t.Context(), crd.Name, metav1.GetOptions{})
	gone(t, crd.Name, err)
}

// serves wants a listener to take connections.
func serves(t *testing.T, listener net.Listener) {
	t.Helper()
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	go server.Serve(listener)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusTeapot {
		t.Errorf("the listener answers %s", response.Status)
	}
}

// TestListenInVain distinguishes an option that is missing from one that is wrong: the former is no reason to stop.
func TestListenInVain(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	path := s.kubeconfig(t, s.admin())
	for name, test := range map[string]struct {
		options Options
		milder  bool // the specs that need a webhook are not applicable
		want    string
	}{
		"nothing said": {Options{Run: "vain"}, true, "the API server cannot reach this machine, as far as is known; give cluster.webhookHost"},
		"only reading": {Options{Run: "vain", ReadOnly: true, WebhookHost: "127.0.0.1"}, true, "no webhook is called in a read-only run"},
		"another host": {Options{Run: "vain", WebhookHost: "127.0.0.2", WebhookListen: "127.0.0.1:0"}, false, "but no call arrived within 10s; cluster.webhookHost must be an address of this machine that it can reach"},
		"no such name": {Options{Run: "vain", WebhookHost: "host.invalid", WebhookListen: "127.0.0.1:0"}, false, "host.invalid"},
		"not ours":     {Options{Run: "vain", WebhookHost: "127.0.0.1", WebhookListen: "192.0.2.7:0"}, false, "listen: listen tcp 192.0.2.7:0: bind: cannot assign requested address"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Kubeconfig = path
			c := connected(t, test.options)
			c.probe.within = 10 * time.Second
			listener, _, err := c.Listen(t.Context())
			if err == nil {
				listener.Close()
			}
			if err == nil || errors.Is(err, cluster.ErrNotReached) != test.milder || !strings.Contains(single(err), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		c := connected(t, Options{Kubeconfig: path, Run: "vain", WebhookHost: "127.0.0.2", WebhookListen: "127.0.0.1:0"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		if _, _, err := c.Listen(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRoute leads a service to a webhook of this machine, and gives up where nothing listens.
func TestRoute(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	s.finalize(t)
	host := ip(t)
	server, err := webhook.Start(t.Context(), net.JoinHostPort(host, "0"), webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	address := strings.TrimPrefix(server.URL, "https://")
	address, _, _ = strings.Cut(address, "/")

	c := connected(t, Options{Kubeconfig: s.kubeconfig(t, s.admin()), Run: "route", WebhookHost: host})
	began := time.Now()
	if err := c.Route(t.Context(), "route-ns", "hook", 1234, address); err != nil {
		t.Fatal(err)
	}
	t.Logf("the route took %s", time.Since(began).Round(time.Millisecond))
	if _, err := s.client.CoreV1().Services("route-ns").Get(t.Context(), "hook", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	// What answers there is not everything that talks TLS.
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	c.probe.within = 10 * time.Second
	if said, err := c.probe.arrives(t.Context(), "route-ns", "hook", 1234, stranger.Listener.Addr().String()); err == nil || !strings.Contains(said, "x509: ") {
		t.Errorf("a call for %s arrived, it seems: %q, %v", stranger.URL, said, err)
	}
	if err := c.Route(t.Context(), "route-ns", "hook", 1234, ""); err != nil {
		t.Error(err)
	}
	_, err = s.client.DiscoveryV1().EndpointSlices("route-ns").Get(t.Context(), "hook", metav1.GetOptions{})
	gone(t, "the endpoint of the service", err)

	err = c.Route(t.Context(), "route-ns", "hook", 1234, net.JoinHostPort(host, "1"))
	if !errors.Is(err, cluster.ErrNotReached) || !strings.Contains(err.Error(), "calls to route-ns/hook, which leads to "+host+":1, did not arrive within 10s") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	_, err = s.client.DiscoveryV1().EndpointSlices("route-ns").Get(t.Context(), "hook", metav1.GetOptions{})
	gone(t, "the endpoint of the service", err)
	// Once it is known, nothing is tried any more.
	c.probe.within = time.Hour
	if err := c.Route(t.Context(), "route-ns", "other", 1234, address); !errors.Is(err, cluster.ErrNotReached) {
		t.Errorf("got %v", err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = s.client.CoreV1().Services("route-ns").Get(t.Context(), "hook", metav1.GetOptions{})
	gone(t, "the service", err)
}

// TestUnroutable says why services cannot be led to a host.
func TestUnroutable(t *testing.T) {
	for host, want := range map[string]string{
		"":            "that needs cluster.webhookHost",
		"example.org": "services lead to IP addresses, and cluster.webhookHost is the name example.org",
		"127.0.0.1":   "services cannot lead to 127.0.0.1",
		"::1":         "services cannot lead to ::1",
		"169.254.1.1": "services cannot lead to 169.254.1.1",
		"0.0.0.0":     "services cannot lead to 0.0.0.0",
		"192.0.2.7":   "",
		"2001:db8::1": "",
	} {
		if got := unroutable(host); got != want {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
		if want != "" {
			c := &Cluster{options: Options{WebhookHost: host}}
			if err := c.Route(t.Context(), "a", "b", 443, "192.0.2.7:1"); !errors.Is(err, cluster.ErrNotReached) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v", host, err)
			}
		}
	}
}

// TestLentListener lends a listener several times, also while somebody wants to connect.
func TestLentListener(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp := listener.(*net.TCPListener)
	p := &probe{}
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	pair, err := p.authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		lend(tcp, certificate, http.NotFoundHandler())()
	}
	serves(t, listener)
}
