package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// served is a webhook with a certificate and with TLS of a test's own.
type served struct {
	from, until time.Duration // the life of the certificate, from now
	name        string        // that the certificate has: localhost if empty
	stranger    bool          // the CA that is given is another one
	oldest      uint16        // version of TLS; that of crypto/tls if 0
	newest      uint16        // likewise
	handler     http.Handler
	client      func(*wire.Endpoint)
}

// TestTransport has webhooks judged whose TLS or HTTP is not as API servers want it: the requirement on it is broken, and no
// other is blamed.
func TestTransport(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		served

		want    requirement.ID // none when empty
		verdict requirement.Verdict
	}{
		"as it should be":       {served: served{}},
		"expired":               {served: served{from: -10 * day, until: -day}, want: requirement.WebhookTransportCertificate, verdict: requirement.Failed},
		"not valid yet":         {served: served{from: day, until: 2 * day}, want: requirement.WebhookTransportCertificate, verdict: requirement.Failed},
		"another name":          {served: served{name: "elsewhere.example.com"}, want: requirement.WebhookTransportCertificate, verdict: requirement.Failed},
		"another authority":     {served: served{stranger: true}, want: requirement.WebhookTransportCertificate, verdict: requirement.Failed},
		"soon to expire":        {served: served{from: -89 * day, until: day}, want: requirement.WebhookTransportCertificateLifetime, verdict: requirement.Tolerated},
		"a short life":          {served: served{from: -time.Hour, until: 23 * time.Hour}},
		"TLS 1.1 at most":       {served: served{oldest: tls.VersionTLS10, newest: tls.VersionTLS11}, want: requirement.WebhookTransportTlsVersion, verdict: requirement.Failed},
		"TLS 1.3 at least":      {served: served{oldest: tls.VersionTLS13}},
		"no word over HTTP/1.1": {served: served{handler: only(2), client: func(e *wire.Endpoint) { e.HTTP2 = true }}, want: requirement.WebhookTransportHttp1, verdict: requirement.Failed},
		"no word over HTTP/2":   {served: served{handler: only(1)}, want: requirement.WebhookTransportHttp2, verdict: requirement.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			subject := test.start(t)
			for _, r := range judgeSubject(t, subject) {
				switch {
				case r.Requirement == test.want:
					if r.Verdict != test.verdict {
						t.Errorf("%s is %s, want %s: %s", r.Requirement, r.Verdict, test.verdict, r.Reason)
					}
				case r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable:
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				case test.want == "" && r.Verdict == requirement.NotApplicable && !r.Immaterial:
					t.Errorf("%s is not applicable: %s", r.Requirement, r.Reason)
				}
			}
		})
	}
}

// only answers over one version of HTTP.
func only(version int) http.Handler {
	handler := webhook.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != version {
			http.Error(w, "wrong version of HTTP", http.StatusHTTPVersionNotSupported)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// start serves and returns the webhook with the CronTabs of the documents.
func (s served) start(t *testing.T) *suites.Subject {
	t.Helper()
	if s.until == 0 {
		s.until = 365 * 24 * time.Hour
	}
	ca, certificate := s.certificate(t)
	if s.stranger {
		ca, _ = s.certificate(t)
	}
	if s.handler == nil {
		s.handler = webhook.Handler()
	}
	server := httptest.NewUnstartedServer(s.handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: s.oldest, MaxVersion: s.newest}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	endpoint := wire.Endpoint{URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/convert", CA: ca}
	if s.client != nil {
		s.client(&endpoint)
	}
	client, err := wire.Connect(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &suites.Subject{Client: client, Corpus: corpus.CronTabs("v1alpha1", "v1beta1", "v1"), Objects: 3}
}

// of starts the webhook as that of the one definition in a file.
func (s served) of(t *testing.T, file string) *suites.Subject {
	t.Helper()
	definitions, _, err := corpus.ReadDefinitions("file.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	subject := s.start(t)
	if subject.Corpus, err = corpus.New(definitions[0], nil); err != nil {
		t.Fatal(err)
	}
	return subject
}

// certificate makes an authority and a certificate that is signed by it.
func (s served) certificate(t *testing.T) ([]byte, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-1000 * time.Hour * 24), NotAfter: now.Add(time.Hour * 24 * 1000), KeyUsage: x509.KeyUsageCertSign,
	}
	name := s.name
	if name == "" {
		name = "localhost"
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "webhook"}, DNSNames: []string{name},
		NotBefore: now.Add(s.from), NotAfter: now.Add(s.until), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}), tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
}

// TestListedReviewVersions has a webhook judged that does not know what its definition lists.
func TestListedReviewVersions(t *testing.T) {
	onlyV1 := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(string(body), "apiextensions.k8s.io/v1beta1") {
			http.Error(w, "unknown version of ConversionReview", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		webhook.Handler().ServeHTTP(w, r)
	})
	for _, test := range []struct {
		listed  []string
		verdict requirement.Verdict
	}{
		{[]string{"v1", "v1beta1"}, requirement.Failed},
		{[]string{"v1"}, requirement.Passed},
		{[]string{"v2", "v1"}, requirement.Passed},
	} {
		crd := fixtures.Reference.New(func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Conversion.Webhook.ConversionReviewVersions = test.listed
		})
		definition, err := corpus.NewDefinition(crd)
		if err != nil {
			t.Fatal(err)
		}
		subject := served{handler: onlyV1}.start(t)
		if subject.Corpus, err = corpus.New(definition, nil); err != nil {
			t.Fatal(err)
		}
		results := judgeSubject(t, subject)
		i := slices.IndexFunc(results, func(r suites.Result) bool {
			return r.Requirement == requirement.WebhookRequestConversionReviewVersions
		})
		if r := results[i]; r.Verdict != test.verdict {
			t.Errorf("%v: %s, want %s: %s", test.listed, r.Verdict, test.verdict, r.Reason)
		}
	}
}

func judgeSubject(t *testing.T, subject *suites.Subject) []suites.Result {
	t.Helper()
	return judgeSelected(t, subject, Area, nil)
}

func judgeSelected(t *testing.T, subject *suites.Subject, area suites.Area, selected func(requirement.ID) bool) []suites.Result {
	t.Helper()
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: 1, Select: selected})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}
