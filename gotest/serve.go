package gotest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve serves a webhook on this machine alone until the test is over. It returns the URL, and the file with the authority of its
// certificate.
func serve(ctx context.Context, t *testing.T, w Webhook) (url, authority string) {
	t.Helper()
	own, authority := certificate(t)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := &watched{Handler: w.Handler}
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(discard{}, slog.LevelDebug), // handshakes that fail are what the check wants to see
	}
	go server.ServeTLS(listener, "", "") //nolint:errcheck // it ends with the server
	t.Cleanup(func() {
		server.Close() //nolint:errcheck,gosec // nothing is served any more
		if text := handler.panicked(); t.Failed() && text != "" {
			t.Logf("the handler panicked:\n%s", text)
		}
	})
	path := w.Path
	if path == "" {
		path = "/convert"
	}
	return "https://" + listener.Addr().String() + "/" + strings.TrimPrefix(path, "/"), authority
}

// certificate returns a certificate for this machine, of an authority that nobody else has, and the file of that authority.
func certificate(t *testing.T) (own tls.Certificate, authority string) {
	t.Helper()
	template := func(serial int64, name string) *x509.Certificate {
		now := time.Now()
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), BasicConstraintsValid: true,
		}
	}
	root, leaf := template(1, "gotest"), template(2, "localhost")
	root.IsCA, root.KeyUsage = true, x509.KeyUsageCertSign
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.DNSNames, leaf.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}

	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, leafKey.Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}, authority
}

// watched is a handler whose first panic is kept.
type watched struct {
	http.Handler
	mu   sync.Mutex
	text string
}

func (h *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.text == "" {
			h.text = fmt.Sprintf("%v\n%s", cause, debug.Stack())
		}
		panic(cause) // for the server, which ends the connection
	}()
	h.Handler.ServeHTTP(w, r)
}

func (h *watched) panicked() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text
}

// discard discards what is logged; slog has the like since Go 1.24.
type discard struct{}

func (discard) Enabled(context.Context, slog.Level) bool  { return false }
func (discard) Handle(context.Context, slog.Record) error { return nil }
func (d discard) WithAttrs([]slog.Attr) slog.Handler      { return d }
func (d discard) WithGroup(string) slog.Handler           { return d }
