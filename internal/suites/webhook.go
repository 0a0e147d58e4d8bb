package suites

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// host serves the webhooks of all specs on one TLS listener that the API server can reach, each at a path of its own.
type host struct {
	authority *pki.Authority
	server    *http.Server
	address   string // host:port, as the API server reaches it
	names     []string

	mu           sync.Mutex
	webhooks     map[string]*Webhook // by path
	certificates map[string]*tls.Certificate
}

func newHost(ctx context.Context, c cluster.Cluster) (*host, error) {
	authority, err := pki.NewAuthority("crdconform webhooks")
	if err != nil {
		return nil, err
	}
	listener, name, err := c.Listen(ctx)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	h := &host{
		authority:    authority,
		address:      net.JoinHostPort(name, port),
		names:        []string{name, "localhost"},
		webhooks:     map[string]*Webhook{},
		certificates: map[string]*tls.Certificate{},
	}
	h.server = &http.Server{
		Handler:   h,
		TLSConfig: &tls.Config{GetCertificate: h.certificate, MinVersion: tls.VersionTLS12},
		// Handshakes that fail are what some specs want to see.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	go h.server.ServeTLS(listener, "", "") //nolint:errcheck // it ends with the server
	return h, nil
}

func (h *host) close() error { return h.server.Close() }

// certificate returns a certificate for the name that a client asks for: services are called by names of their own. A
// name that begins with "wrong-" gets the certificate of another service.
func (h *host) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if certificate := h.certificates[hello.ServerName]; certificate != nil {
		return certificate, nil
	}
	names := h.names
	if name := hello.ServerName; name != "" {
		names = []string{name}
		if other, wrong := strings.CutPrefix(name, WrongName); wrong {
			names = []string{other}
		}
	}
	pair, err := h.authority.Server(names...)
	if err != nil {
		return nil, err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return nil, err
	}
	h.certificates[hello.ServerName] = &certificate
	return &certificate, nil
}

// WrongName begins the name of a service that presents a certificate for the rest of the name.
const WrongName = "wrong-"

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	hook := h.webhooks[r.URL.Path]
	h.mu.Unlock()
	if hook == nil {
		http.NotFound(w, r)
		return
	}
	hook.serve(w, r)
}

// webhook returns a new webhook, correct to begin with, at a path named after the group.
func (h *host) webhook(group string) *Webhook {
	hook := &Webhook{host: h, paths: []string{"/" + group}}
	hook.Mend()
	hook.Also("/" + group)
	return hook
}

// Webhook is the reference webhook on behalf of one spec: it records its requests and can be given faults.
type Webhook struct {
	host  *host
	paths []string

	mu       sync.Mutex
	handler  http.Handler
	received []Received
}

// Received is a request that a webhook got.
type Received struct {
	Method string
	Host   string
	Path   string
	Query  string
	Header http.Header
	TLS    *tls.ConnectionState
	Body   []byte

	// Request is what the body asks for; its zero value when the body is not a ConversionReview.
	Request contract.Request
}

// String renders the request as a line.
func (r Received) String() string {
	name := ""
	if r.TLS != nil {
		name = r.TLS.ServerName
	}
	return fmt.Sprintf("%s %s%s?%s (%s, TLS server name %q): ConversionReview %s of %d objects to %s",
		r.Method, r.Host, r.Path, r.Query, r.Header.Get("Content-Type"), name, r.Request.ReviewVersion, len(r.Request.Objects), r.Request.DesiredAPIVersion)
}

// URL is where the API server reaches the webhook.
func (w *Webhook) URL() string { return "https://" + w.host.address + w.paths[0] }

// Address is the host and the port where the API server reaches it.
func (w *Webhook) Address() string { return w.host.address }

// CA returns the certificate of the authority that the webhook's certificate is signed by, as PEM.
func (w *Webhook) CA() []byte { return w.host.authority.PEM() }

// ClientConfig returns how a definition refers to the webhook.
func (w *Webhook) ClientConfig() *apiextensionsv1.WebhookClientConfig {
	url := w.URL()
	return &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: w.CA()}
}

// Also makes the webhook answer at a further path. Paths belong to one spec at a time.
func (w *Webhook) Also(path string) {
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	w.host.webhooks[path] = w
}

// Break gives the webhook a fault, in place of what it had before. It panics when there is no fault of that name.
func (w *Webhook) Break(fault string) {
	f, found := webhook.FaultNamed(fault)
	if !found {
		panic(fmt.Sprintf("suites: no fault %q", fault))
	}
	w.Serve(webhook.Handler(f))
}

// Mend makes the webhook convert correctly again.
func (w *Webhook) Mend() { w.Serve(webhook.Handler()) }

// Serve makes something else answer in place of the reference webhook. Requests are still recorded.
func (w *Webhook) Serve(handler http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handler = handler
}

// Received returns the requests since the last Forget.
func (w *Webhook) Received() []Received {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.received)
}

// Sent returns the objects of a name that it was sent.
func (w *Webhook) Sent(name string) []map[string]any {
	var all []map[string]any
	for _, received := range w.Received() {
		for _, raw := range received.Request.Objects {
			object := &unstructured.Unstructured{}
			if object.UnmarshalJSON(raw) == nil && object.GetName() == name {
				all = append(all, object.Object)
			}
		}
	}
	return all
}

// Forget forgets the requests received so far.
func (w *Webhook) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received = nil
}

func (w *Webhook) serve(response http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the API server went away
	}
	received := Received{Method: r.Method, Host: r.Host, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), TLS: r.TLS, Body: body}
	if request, err := contract.ParseRequest(body); err == nil {
		received.Request = request
	}
	w.mu.Lock()
	w.received = append(w.received, received)
	handler := w.handler
	w.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	handler.ServeHTTP(response, r)
}
