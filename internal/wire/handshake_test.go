package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
)

// listen serves under a TLS configuration that is used as it is.
func listen(t *testing.T, config *tls.Config, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = config
	server.EnableHTTP2 = slices.Contains(config.NextProtos, "h2")
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// strictly has a configuration refuse clients that do not offer HTTP/2. crypto/tls would let those with HTTP/1.1 in.
func strictly(config *tls.Config) *tls.Config {
	config.NextProtos = []string{"h2"}
	refusing := config.Clone()
	refusing.NextProtos = []string{"something else"}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Contains(hello.SupportedProtos, "h2") {
			return nil, nil //nolint:nilnil // that is how crypto/tls spells the configuration as it is
		}
		return refusing, nil
	}
	return config
}

func nothing(http.ResponseWriter, *http.Request) {}

func certificateFor(t *testing.T, authority *pki.Authority, names ...string) tls.Certificate {
	t.Helper()
	pair, err := authority.Server(names...)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// selfSigned makes a certificate that is its own authority, which no well-behaved one would sign.
func selfSigned(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "127.0.0.1"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-48 * time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestHandshakeCertificates has a handshake succeed whatever the certificate is, and return what API servers think of it.
func TestHandshakeCertificates(t *testing.T) {
	authority, other := newAuthority(t), newAuthority(t)
	good := certificateFor(t, authority, "127.0.0.1")
	expired, expiredCA := selfSigned(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) })
	early, earlyCA := selfSigned(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) })
	commonName, commonNameCA := selfSigned(t, func(c *x509.Certificate) { c.IPAddresses = nil })
	purpose, purposeCA := selfSigned(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	alone, aloneCA := selfSigned(t, func(*x509.Certificate) {})
	for name, test := range map[string]struct {
		certificate tls.Certificate
		ca          []byte
		serverName  string
		want        string // in VerifyError; empty when there is none
	}{
		"good":              {good, authority.PEM(), "", ""},
		"self-signed":       {alone, aloneCA, "", ""},
		"expired":           {expired, expiredCA, "", "expired"},
		"not valid yet":     {early, earlyCA, "", "not yet valid"},
		"wrong name":        {good, authority.PEM(), "service.namespace.svc", "wanted to match service.namespace.svc"},
		"common name only":  {commonName, commonNameCA, "", "legacy Common Name"},
		"another authority": {good, other.PEM(), "", "unknown authority"},
		"no authority":      {good, nil, "", "unknown authority"},
		"for clients":       {purpose, purposeCA, "", "incompatible key usage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := listen(t, &tls.Config{Certificates: []tls.Certificate{test.certificate}}, nothing)
			client := connect(t, Endpoint{URL: url, CA: test.ca, ServerName: test.serverName})
			handshake, err := client.Handshake(t.Context(), HandshakeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if string(handshake.Chain[0].Raw) != string(test.certificate.Certificate[0]) {
				t.Errorf("got the certificate of %s", handshake.Chain[0].Subject)
			}
			if (handshake.VerifyError == nil) != (test.want == "") || test.want != "" && !strings.Contains(handshake.VerifyError.Error(), test.want) {
				t.Errorf("got %v, want something with %q", handshake.VerifyError, test.want)
			}
			if sent := client.Send(t.Context(), nil); (sent.Err == nil) != (test.want == "") {
				t.Errorf("Send sees it otherwise: %v", sent.Err)
			}
		})
	}
}

// TestHandshakeChains verifies by the intermediate certificates that the webhook sends.
func TestHandshakeChains(t *testing.T) {
	authority := newAuthority(t)
	good, root := certificateFor(t, authority, "127.0.0.1"), authority.PEM()
	block, _ := pem.Decode(root)
	good.Certificate = append(good.Certificate, block.Bytes)
	url := listen(t, &tls.Config{Certificates: []tls.Certificate{good}}, nothing)
	handshake, err := connect(t, Endpoint{URL: url, CA: root}).Handshake(t.Context(), HandshakeOptions{})
	if err != nil || len(handshake.Chain) != 2 || handshake.VerifyError != nil {
		t.Errorf("got %d certificates, %v, %v", len(handshake.Chain), handshake.VerifyError, err)
	}
}

func TestHandshakeVersionsAndProtocols(t *testing.T) {
	authority := newAuthority(t)
	certificates := []tls.Certificate{certificateFor(t, authority, "127.0.0.1")}
	server := func(least, most uint16, protocols ...string) string {
		return listen(t, &tls.Config{Certificates: certificates, MinVersion: least, MaxVersion: most, NextProtos: protocols}, nothing)
	}
	modern, old := server(0, 0, "h2", "http/1.1"), server(tls.VersionTLS10, tls.VersionTLS11)
	only1, only2 := server(0, 0, "http/1.1"), listen(t, strictly(&tls.Config{Certificates: certificates}), nothing)
	for name, test := range map[string]struct {
		url     string
		http2   bool
		offer   HandshakeOptions
		version uint16 // 0 when it is refused
		alpn    string
		want    string // in the error
	}{
		"as it is":           {modern, false, HandshakeOptions{}, tls.VersionTLS13, "http/1.1", ""},
		"HTTP/2":             {modern, true, HandshakeOptions{}, tls.VersionTLS13, "h2", ""},
		"at most 1.2":        {modern, false, HandshakeOptions{MaxVersion: tls.VersionTLS12}, tls.VersionTLS12, "http/1.1", ""},
		"at most 1.1":        {modern, false, HandshakeOptions{MaxVersion: tls.VersionTLS11}, 0, "", "TLS 1.2 or 1.3"},
		"an old one":         {old, false, HandshakeOptions{}, 0, "", "make it accept TLS 1.2 or 1.3"},
		"an old one, as old": {old, false, HandshakeOptions{MinVersion: tls.VersionTLS10}, tls.VersionTLS11, "http/1.1", ""},
		"an old one, older":  {old, false, HandshakeOptions{MaxVersion: tls.VersionTLS10}, tls.VersionTLS10, "http/1.1", ""},
		"no protocols":       {modern, true, HandshakeOptions{ALPN: []string{}}, tls.VersionTLS13, "", ""},
		"h2 alone":           {only1, false, HandshakeOptions{ALPN: []string{"h2"}}, 0, "", "does not support"},
		"1.1 of h2":          {only2, false, HandshakeOptions{}, 0, "", "it does not support HTTP/1.1"},
		"both of h2":         {only2, true, HandshakeOptions{}, tls.VersionTLS13, "h2", ""},
		"both of 1.1":        {only1, true, HandshakeOptions{}, tls.VersionTLS13, "http/1.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, Endpoint{URL: test.url, CA: authority.PEM(), HTTP2: test.http2})
			got, err := client.Handshake(t.Context(), test.offer)
			if test.want == "" {
				if err != nil || got.Version != test.version || got.ALPN != test.alpn {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			failed := (*HandshakeError)(nil)
			if !errors.As(err, &failed) || !failed.Connected || !failed.Refused || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v", failed, err)
			}
		})
	}
	for url, want := range map[string]string{old: "make it accept TLS 1.2 or 1.3", only2: "it does not support HTTP/1.1"} {
		client := connect(t, Endpoint{URL: url, CA: authority.PEM()})
		if response := client.Send(t.Context(), nil); response.Err == nil || !strings.Contains(response.Err.Error(), want) {
			t.Errorf("Send: got %v, want something with %q", response.Err, want)
		}
		if err := client.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Reach: got %v, want something with %q", err, want)
		}
	}
}

// TestWith asks the same webhook by both versions of HTTP.
func TestWith(t *testing.T) {
	authority := newAuthority(t)
	certificates := []tls.Certificate{certificateFor(t, authority, "127.0.0.1")}
	echo := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }
	for _, test := range []struct {
		protocols []string
		want      map[bool]string // by whether HTTP/2 is offered; empty when there is no answer
	}{
		{[]string{"h2", "http/1.1"}, map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}},
		{[]string{"http/1.1"}, map[bool]string{true: "HTTP/1.1", false: "HTTP/1.1"}},
		{nil, map[bool]string{true: "HTTP/2.0", false: ""}},
	} {
		config := &tls.Config{Certificates: certificates, NextProtos: test.protocols}
		if test.protocols == nil {
			config = strictly(config)
		}
		url := listen(t, config, echo)
		client := connect(t, Endpoint{URL: url, CA: authority.PEM()})
		for http2, want := range test.want {
			other, err := client.With(func(e *Endpoint) { e.HTTP2 = http2 })
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if response := other.Send(t.Context(), nil); string(response.Body) != want || (response.Err == nil) != (want != "") {
				t.Errorf("%v, HTTP/2 %t: got %s, %v", test.protocols, http2, response.Body, response.Err)
			}
		}
		if client.Endpoint().HTTP2 {
			t.Error("the first client changed")
		}
		if _, err := client.With(func(e *Endpoint) { e.URL = "http://localhost/" }); err == nil {
			t.Error("an endpoint that makes no sense is taken")
		}
	}
}

// TestClientCertificates asks webhooks that want to know who asks.
func TestClientCertificates(t *testing.T) {
	authority, stranger := newAuthority(t), newAuthority(t)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority.PEM())
	identity := func(a *pki.Authority) *tls.Certificate {
		pair, err := a.Client("somebody")
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := pair.TLS()
		if err != nil {
			t.Fatal(err)
		}
		return &certificate
	}
	known, unknown := identity(authority), identity(stranger)
	who := func(w http.ResponseWriter, r *http.Request) {
		for _, c := range r.TLS.PeerCertificates {
			io.WriteString(w, c.Subject.CommonName)
		}
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, test := range []struct {
			auth tls.ClientAuthType
			send *tls.Certificate
			want string // of the body
			err  string
		}{
			{tls.NoClientCert, known, "", ""},
			{tls.VerifyClientCertIfGiven, nil, "", ""},
			{tls.VerifyClientCertIfGiven, known, "somebody", ""},
			{tls.RequireAndVerifyClientCert, known, "somebody", ""},
			{tls.RequireAndVerifyClientCert, nil, "", "do not require one"},
			{tls.RequireAndVerifyClientCert, unknown, "", "trusts the authority"},
		} {
			name := fmt.Sprintf("%s, %s, %t %t", tls.VersionName(version), test.auth, test.send != nil, test.send == unknown)
			url := listen(t, &tls.Config{
				Certificates: []tls.Certificate{certificateFor(t, authority, "127.0.0.1")},
				ClientAuth:   test.auth, ClientCAs: clients, MaxVersion: version,
			}, who)
			client := connect(t, Endpoint{URL: url, CA: authority.PEM(), ClientCertificate: test.send})
			response := client.Send(t.Context(), nil)
			if string(response.Body) != test.want || (response.Err == nil) != (test.err == "") || test.err != "" && !strings.Contains(response.Err.Error(), test.err) {
				t.Errorf("%s: got %q, %v", name, response.Body, response.Err)
			}
			_, err := client.Handshake(t.Context(), HandshakeOptions{})
			failed := (*HandshakeError)(nil)
			switch {
			case version == tls.VersionTLS12 && test.err != "":
				if !errors.As(err, &failed) || !failed.Refused || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s: got %v", name, err)
				}
			case err != nil:
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

// TestClientCertificatesStaySecret has no form of an endpoint show the key.
func TestClientCertificatesStaySecret(t *testing.T) {
	endpoint := Endpoint{URL: "https://localhost/", ClientCertificate: &tls.Certificate{PrivateKey: "secret", Certificate: [][]byte{[]byte("public")}}}
	text, err := json.Marshal(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{string(text), fmt.Sprintf("%v %+v %#v", endpoint, endpoint, endpoint)} {
		if strings.Contains(form, "secret") || strings.Contains(form, "ClientCertificate\":") {
			t.Errorf("got %s", form)
		}
	}
}

// raw listens and serves each connection with a function.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			serve(connection)
			connection.Close()
		}
	}()
	return "https://" + listener.Addr().String()
}

func TestNoHandshake(t *testing.T) {
	hangsUp := raw(t, func(c net.Conn) { c.Read(make([]byte, 4096)) })
	plain := raw(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.0 400 Bad Request\r\n\r\n") })
	silent := raw(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, test := range map[string]struct {
		url  string
		want HandshakeError
		text string
	}{
		"nobody there": {"https" + strings.TrimPrefix(gone.URL, "http"), HandshakeError{}, "connection refused"},
		"no such host": {"https://no-such-host.invalid/", HandshakeError{}, "cannot be resolved"},
		"hangs up":     {hangsUp, HandshakeError{Connected: true}, "EOF"},
		"no TLS":       {plain, HandshakeError{Connected: true, NotTLS: true}, "does not use TLS"},
		"silent":       {silent, HandshakeError{Connected: true}, "no complete response within 200ms"},
	} {
		client := connect(t, Endpoint{URL: test.url})
		if name == "silent" {
			client.patience = 200 * time.Millisecond
		}
		_, err := client.Handshake(t.Context(), HandshakeOptions{})
		failed := (*HandshakeError)(nil)
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), test.url) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.text)
			continue
		}
		got := *failed
		if got.Err = nil; got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

// TestInterruptedHandshakes has the caller give up, before there is a connection and after.
func TestInterruptedHandshakes(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	url := raw(t, func(c net.Conn) {
		c.Read(make([]byte, 1)) // so that the client knows of the connection
		cancel(enough)
		<-ctx.Done()
	})
	client := connect(t, Endpoint{URL: url})
	for _, connected := range []bool{true, false} {
		_, err := client.Handshake(ctx, HandshakeOptions{})
		failed := (*HandshakeError)(nil)
		if !errors.As(err, &failed) || failed.Connected != connected || !errors.Is(err, context.Canceled) || !errors.Is(err, enough) {
			t.Errorf("got %+v, %v", failed, err)
		}
	}
}
