package load

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
)

// certificate returns one for this machine, and that of its authority.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return certificate, authority.PEM()
}

// TestWebhooksThatTurnBad has webhooks do well for half of the requests, and badly then. What was good is kept, and what is wrong is
// counted by kind.
func TestWebhooksThatTurnBad(t *testing.T) {
	t.Parallel()
	const clients, requests = 8, 16 // so that all bad ones are sent at once
	closing := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		webhook.Handler().ServeHTTP(w, r)
	}
	for name, test := range map[string]struct {
		good, bad http.HandlerFunc
		kind      Kind // of what is wrong; empty when nothing is
		says      string
		timeout   time.Duration // only as short as has to be waited for: good responses take long on a busy machine
	}{
		"another certificate": {closing, closing, Transport, "signed by an authority that is not in the CA file", time.Minute},
		"no keep-alive":       {webhook.Handler().ServeHTTP, closing, "", "", time.Minute},
		"dripping bytes": {webhook.Handler().ServeHTTP, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for err := error(nil); err == nil; <-time.After(20 * time.Millisecond) {
				_, _ = io.WriteString(w, " ")
				err = http.NewResponseController(w).Flush()
			}
		}, Timeout, "no complete response within 4s", 4 * time.Second},
		"a redirect": {webhook.Handler().ServeHTTP, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}, HTTP, "404", time.Minute},
		"a reset": {webhook.Handler().ServeHTTP, func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			inner := connection.(*tls.Conn).NetConn().(*net.TCPConn)
			_ = inner.SetLinger(0) // so that closing it resets it
			_ = inner.Close()
		}, Transport, "connection reset by peer", time.Minute},
		"no end": {webhook.Handler().ServeHTTP, endless, Transport, "longer than 1029 KiB", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			first, ca := certificate(t)
			second, _ := certificate(t)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path != "/convert":
					http.NotFound(w, r)
				case seen.Add(1) > requests/2:
					test.bad(w, r)
				default:
					test.good(w, r)
				}
			}))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				shown := first
				if name == "another certificate" && seen.Load() >= requests/2 {
					shown = second
				}
				return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{shown}}, nil
			}}
			server.StartTLS()
			defer server.Close()
			client, err := wire.Connect(wire.Endpoint{URL: server.URL + "/convert", CA: ca, Timeout: test.timeout})
			if err != nil {
				t.Fatal(err)
			}
			w := workload()
			w.Phases, w.Clients, w.Duration, w.Requests = nil, clients, time.Hour, requests
			s, err := attack(t.Context(), client, w, Watch{})
			if err != nil {
				t.Fatal(err)
			}
			want := uint64(requests)
			if test.kind != "" {
				want = requests / 2
			}
			// Handshakes that were under way when the certificate changed may be with either.
			if well := s.Good == want || name == "another certificate" && s.Good >= want && s.Good <= want+clients; !well || s.Requests != requests ||
				s.Errors[test.kind] != requests-s.Good || s.Response.TotalCount() != requests || s.Accepted != 3*s.Good || s.Partial {
				t.Errorf("%d of %d are good with %d objects, want %d: %v, %d times, partial %t", s.Good, s.Requests, s.Accepted, want, s.Errors, s.Response.TotalCount(), s.Partial)
			}
			if test.kind != "" && (len(s.Findings) == 0 || !strings.Contains(s.Findings[0].Text, test.says)) {
				t.Errorf("got %v, want something with %q", s.Findings, test.says)
			}
		})
	}
}

// endless answers without end.
func endless(w http.ResponseWriter, _ *http.Request) {
	chunk := make([]byte, 64<<10)
	for err := error(nil); err == nil; {
		_, err = w.Write(chunk)
	}
}

// TestEndlessResponses has several at once, for which a generator must not take all memory that there is.
func TestEndlessResponses(t *testing.T) {
	const clients, most = 8, 256 << 20
	w := workload()
	w.Phases, w.Clients, w.Duration, w.Requests = nil, clients, time.Minute, clients
	client := connect(t, http.HandlerFunc(endless))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := attack(t.Context(), client, w, Watch{})
	runtime.ReadMemStats(&after)
	if err != nil || s.Requests != clients || s.Errors[Transport] != clients {
		t.Fatalf("%d requests, %v, %v", s.Requests, s.Errors, err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > most {
		t.Errorf("it took %d MiB for %d responses, want %d MiB at most", taken>>20, clients, most>>20)
	}
}
