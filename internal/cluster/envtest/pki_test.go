package envtest_test

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
)

func parse(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatal("no PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestCertificates(t *testing.T) {
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())

	pair, err := authority.Server("service.namespace.svc", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.TLS(); err != nil {
		t.Error(err)
	}
	server := parse(t, pair.Certificate)
	for _, name := range []string{"service.namespace.svc", "127.0.0.1"} {
		if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other.namespace.svc"}); err == nil {
		t.Error("the certificate is valid for any name")
	}
	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: time.Now().Add(pki.Lifetime + time.Minute)}); err == nil {
		t.Error("the certificate outlives the run")
	}

	if pair, err = authority.Client("somebody", "some-group"); err != nil {
		t.Fatal(err)
	}
	client := parse(t, pair.Certificate)
	if client.Subject.CommonName != "somebody" || !slices.Equal(client.Subject.Organization, []string{"some-group"}) {
		t.Errorf("it is for %s", client.Subject)
	}
	if _, err := client.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if _, err := client.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("a client's certificate serves as a server's")
	}
}

func TestAuthoritiesDiffer(t *testing.T) {
	first, err1 := pki.NewAuthority("test")
	second, err2 := pki.NewAuthority("test")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	pair, err := first.Server("localhost")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(second.PEM())
	if _, err := parse(t, pair.Certificate).Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("one authority vouches for the other's certificates")
	}
}

func TestLastingAuthority(t *testing.T) {
	authority, err := pki.NewLastingAuthority("test", 100*pki.Lifetime)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("localhost")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	server := parse(t, pair.Certificate)
	for _, at := range []time.Duration{0, 99 * pki.Lifetime} {
		if _, err := server.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: time.Now().Add(at)}); err != nil {
			t.Errorf("after %s: %v", at, err)
		}
	}
	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: time.Now().Add(101 * pki.Lifetime)}); err == nil {
		t.Error("the certificate outlives its time")
	}
}
