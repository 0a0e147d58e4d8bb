package suites_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

// middleman stands between the API server and the webhooks of the specs. Definitions that pass by are changed so that the
// API server calls him, at a path by which he knows whom the call is for.
type middleman struct {
	server *httptest.Server

	mu    sync.Mutex
	hooks map[string]hook // by path
}

// hook is the webhook of a spec.
type hook struct {
	url       string
	transport *http.Transport
}

// newMiddleman starts a middleman who deals with calls as the handler does.
func newMiddleman(t *testing.T, handler func(m *middleman, w http.ResponseWriter, r *http.Request)) *middleman {
	t.Helper()
	m := &middleman{hooks: map[string]hook{}}
	m.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler(m, w, r) }))
	t.Cleanup(func() {
		m.server.Close()
		for _, h := range m.hooks {
			h.transport.CloseIdleConnections()
		}
	})
	return m
}

// seen makes a fault by which a webhook gets to see changed requests. The API server gets the right answer to what it did
// ask, so that nothing else goes wrong.
func seen(change func(*http.Request)) tampering {
	return func(t *testing.T, x *suitetest.Tampered) {
		t.Helper()
		x.Exchange = newMiddleman(t, func(m *middleman, w http.ResponseWriter, r *http.Request) {
			original := suitetest.Body(r)
			change(r)
			m.discard(r)
			r.Body = io.NopCloser(bytes.NewReader(original))
			webhook.Handler().ServeHTTP(w, r)
		}).exchange
	}
}

// calls makes a fault by which a webhook gets every request n times. What it answers last goes to the API server.
func calls(n int) tampering {
	return func(t *testing.T, x *suitetest.Tampered) {
		t.Helper()
		x.Exchange = newMiddleman(t, func(m *middleman, w http.ResponseWriter, r *http.Request) {
			original := suitetest.Body(r)
			for range n - 1 {
				m.discard(r)
				r.Body = io.NopCloser(bytes.NewReader(original))
			}
			if n == 0 {
				webhook.Handler().ServeHTTP(w, r)
				return
			}
			m.pass(w, r)
		}).exchange
	}
}

// callsNeedlessly makes a fault by which a webhook is called with every request for an object.
func callsNeedlessly() tampering {
	return func(t *testing.T, x *suitetest.Tampered) {
		t.Helper()
		m := newMiddleman(t, func(m *middleman, w http.ResponseWriter, r *http.Request) { m.pass(w, r) })
		x.Exchange = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if about := suitetest.About(r); about.Objects && about.Name != "" {
				group := strings.Split(strings.Trim(r.URL.Path, "/"), "/")[1]
				call, err := http.NewRequestWithContext(r.Context(), http.MethodPost, "https://middleman/"+group, bytes.NewReader(fixtures.ReviewRequest("v1")))
				if err != nil {
					return nil, err
				}
				m.discard(call)
			}
			return m.exchange(r, next)
		}
	}
}

// discard sends a call on and has no use for the answer.
func (m *middleman) discard(r *http.Request) {
	response := m.forward(r)
	response.Body.Close()
}

// answering makes a fault by which the API server sees something else of a webhook's answers.
func answering(call func(m *middleman, r *http.Request) *http.Response) tampering {
	return func(t *testing.T, x *suitetest.Tampered) {
		t.Helper()
		x.Exchange = newMiddleman(t, func(m *middleman, w http.ResponseWriter, r *http.Request) { pass(w, call(m, r)) }).exchange //nolint:bodyclose // pass closes it
	}
}

// pass sends a call on and passes the answer back.
func (m *middleman) pass(w http.ResponseWriter, r *http.Request) { pass(w, m.forward(r)) } //nolint:bodyclose // pass closes it

func pass(w http.ResponseWriter, response *http.Response) {
	defer response.Body.Close()
	w.WriteHeader(response.StatusCode)
	io.Copy(w, response.Body)
}

// serverExchange points the webhooks of definitions to the middleman.
func (m *middleman) exchange(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if about := suitetest.About(r); about.Definition && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
		var definition map[string]any
		if json.Unmarshal(suitetest.Body(r), &definition) == nil && m.redirect(definition) {
			changed, err := json.Marshal(definition)
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
		}
	}
	return next.RoundTrip(r)
}

// redirect changes the webhook of a definition, and reports whether it has one that is called by URL.
func (m *middleman) redirect(definition map[string]any) bool {
	config := definition
	for _, key := range []string{"spec", "conversion", "webhook", "clientConfig"} {
		next, ok := config[key].(map[string]any)
		if !ok {
			return false
		}
		config = next
	}
	url, _ := config["url"].(string)
	bundle, _ := config["caBundle"].(string)
	ca, err := base64.StdEncoding.DecodeString(bundle)
	roots := x509.NewCertPool()
	if url == "" || strings.HasPrefix(url, m.server.URL) || err != nil || !roots.AppendCertsFromPEM(ca) {
		return false
	}
	path := url[strings.LastIndex(url, "/"):]
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks[path] = hook{url, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	config["url"] = m.server.URL + path
	config["caBundle"] = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.server.Certificate().Raw}))
	return true
}

// forward sends a call on to the webhook that it is for.
func (m *middleman) forward(r *http.Request) *http.Response {
	m.mu.Lock()
	h, found := m.hooks[r.URL.Path]
	m.mu.Unlock()
	if !found {
		return suitetest.Answer(r, http.StatusNotFound, []byte("{}"))
	}
	// What calls may give up before the answer is there, and the webhook is to have been asked nevertheless.
	ctx := context.WithoutCancel(r.Context())
	call, err := http.NewRequestWithContext(ctx, r.Method, h.url, bytes.NewReader(suitetest.Body(r)))
	if err != nil {
		return suitetest.Answer(r, http.StatusBadGateway, []byte("{}"))
	}
	call.URL.RawQuery = r.URL.RawQuery
	call.Header = r.Header.Clone()
	response, err := h.transport.RoundTrip(call)
	if err != nil {
		return suitetest.Answer(r, http.StatusBadGateway, []byte("{}"))
	}
	return response
}
