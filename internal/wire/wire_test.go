package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
)

func TestEndpointsThatMakeNoSense(t *testing.T) {
	for name, test := range map[string]struct {
		endpoint Endpoint
		want     string
	}{
		"plain http": {Endpoint{URL: "http://localhost:9443/convert"}, "https"},
		"no scheme":  {Endpoint{URL: "localhost:9443"}, "https"},
		"no host":    {Endpoint{URL: "https:///convert"}, "no host"},
		"a password": {Endpoint{URL: "https://me:secret@localhost/convert"}, "not allowed"},
		"a query":    {Endpoint{URL: "https://localhost/convert?a=b"}, "not allowed"},
		"a fragment": {Endpoint{URL: "https://localhost/convert#a"}, "not allowed"},
		"malformed":  {Endpoint{URL: "https://local host/"}, "webhook URL"},

		"a password in a malformed URL":     {Endpoint{URL: "https://me:secret@local host/"}, "malformed"},
		"a password with a slash":           {Endpoint{URL: "https://me:secret/x@localhost/"}, "malformed"},
		"a password and no scheme":          {Endpoint{URL: "me:secret@localhost/convert"}, "https"},
		"a password and plain http":         {Endpoint{URL: "http://me:secret@localhost/convert"}, "https"},
		"a password that cannot be escaped": {Endpoint{URL: "https://me:%secret@localhost/"}, "malformed"},
		"no PEM in CA":                      {Endpoint{URL: "https://localhost/", CA: []byte("nonsense")}, "PEM"},
	} {
		_, err := Connect(test.endpoint)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error gives the password away: %v", name, err)
		}
	}
}

func connect(t *testing.T, e Endpoint) *Client {
	t.Helper()
	client, err := Connect(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// serve serves a handler under a certificate for the names.
func serve(tb testing.TB, authority *pki.Authority, handler http.HandlerFunc, names ...string) string {
	tb.Helper()
	pair, err := authority.Server(names...)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = nil
	server.StartTLS()
	tb.Cleanup(server.Close)
	return server.URL
}

func newAuthority(t *testing.T) *pki.Authority {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func testSend(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	var got *http.Request
	url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		w.Write([]byte(`{"a": 1}`))
	}, "127.0.0.1", "service.namespace.svc")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	for http2, want := range map[bool]int{false: 1, true: 2} {
		e := Endpoint{URL: url + "/convert", CA: authority.PEM(), HTTP2: http2, ServerName: "service.namespace.svc"}
		response := send(t.Context(), t, e, 0, []byte("{}"))
		if response.Err != nil || response.Status != 202 || response.ContentType != "application/json" || string(response.Body) != `{"a": 1}` {
			t.Fatalf("got %+v", response)
		}
		if got.ProtoMajor != want {
			t.Errorf("HTTP2 %t: came as %s", http2, got.Proto)
		}
		if got.Method != http.MethodPost || got.URL.String() != "/convert?timeout=30s" || got.Header.Get("Content-Type") != "application/json" || got.TLS.ServerName != "service.namespace.svc" || got.Host != net.JoinHostPort("service.namespace.svc", port) || got.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("came as %s %s to %s %v for %s", got.Method, got.URL, got.Host, got.Header, got.TLS.ServerName)
		}
		if err := connect(t, e).Reach(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// testExplained has every way of not getting a response end in a sentence that says what to do.
func testExplained(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority, other := newAuthority(t), newAuthority(t)
	good := serve(t, authority, func(http.ResponseWriter, *http.Request) {}, "127.0.0.1")
	named := serve(t, authority, func(http.ResponseWriter, *http.Request) {}, "service.namespace.svc")
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, test := range map[string]struct {
		endpoint Endpoint
		want     string
	}{
		"nobody there":      {Endpoint{URL: "https" + strings.TrimPrefix(gone.URL, "http")}, "connection refused; check that the webhook is running"},
		"no such host":      {Endpoint{URL: "https://no-such-host.invalid/"}, "cannot be resolved; check the URL"},
		"another authority": {Endpoint{URL: good, CA: other.PEM(), CAOption: "webhook.caFile"}, "give the authority's certificate by webhook.caFile"},
		"no authority":      {Endpoint{URL: good}, "give the authority's certificate"},
		"another name":      {Endpoint{URL: named, CA: authority.PEM()}, "give the name in its certificate"},
		"wrong server name": {Endpoint{URL: good, CA: authority.PEM(), ServerName: "service.namespace.svc", ServerNameOption: "--name"}, "give the name in its certificate by --name"},
		"no TLS":            {Endpoint{URL: "https" + strings.TrimPrefix(plain.URL, "http")}, "does not use TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, test.endpoint)
			response := send(t.Context(), t, test.endpoint, 0, nil)
			for what, err := range map[string]error{"Send": response.Err, "Reach": client.Reach(t.Context())} {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.endpoint.URL) {
					t.Errorf("%s: got %v, want something with %q", what, err, test.want)
				}
			}
		})
	}
}

func testTimeout(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	release := make(chan struct{})
	// It does not end when the client leaves: what it says then may still arrive.
	url := serve(t, authority, func(http.ResponseWriter, *http.Request) { <-release }, "127.0.0.1")
	t.Cleanup(func() { close(release) })
	response := send(t.Context(), t, Endpoint{URL: url, CA: authority.PEM(), Timeout: 100 * time.Millisecond}, 0, nil)
	if !response.TimedOut || response.Err == nil || !strings.Contains(response.Err.Error(), "within 100ms") {
		t.Errorf("got %+v", response)
	}
}

// TestNoTimeToResolve blames the timeout for a host that was not looked up, and not the URL.
func TestNoTimeToResolve(t *testing.T) {
	silent := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, unresolved := silent.LookupHost(ctx, "webhook.invalid")
	client := connect(t, Endpoint{URL: "https://webhook.invalid/", Timeout: time.Second})
	const want = "webhook https://webhook.invalid/: the host webhook.invalid could not be resolved within 1s (the timeout; API servers wait for 30s)"
	if err := client.explain(unresolved, "", time.Second); err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func testHalfABody(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	url := serve(t, authority, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Write([]byte("half"))
	}, "127.0.0.1")
	response := send(t.Context(), t, Endpoint{URL: url, CA: authority.PEM()}, 0, nil)
	if response.Err == nil || response.Status != 200 || string(response.Body) != "half" || response.TimedOut {
		t.Errorf("got %+v", response)
	}
}

// TestSilentListener reaches out to something that accepts connections and says nothing.
func TestSilentListener(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	client := connect(t, Endpoint{URL: "https://" + listener.Addr().String()})
	client.patience = 100 * time.Millisecond
	if err := client.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "within 100ms") {
		t.Errorf("got %v", err)
	}
}
