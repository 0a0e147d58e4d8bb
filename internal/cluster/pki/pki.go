// Package pki issues the certificates of a run: one authority, valid for as long as it is needed, and leaf
// certificates from it. The keys are ECDSA, which are made in a fraction of the time that RSA keys take.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Lifetime is how long the authority of a run and its certificates are valid: long enough for any run, short enough to be of
// no use after it.
const Lifetime = 24 * time.Hour

// Authority signs certificates. Its key never leaves the process.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority for a run.
func NewAuthority(name string) (*Authority, error) { return NewLastingAuthority(name, Lifetime) }

// NewLastingAuthority makes an authority that is valid for some time. So are its certificates, which end with it.
func NewLastingAuthority(name string, lifetime time.Duration) (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		NotAfter:              time.Now().Add(lifetime),
	}
	key, der, err := sign(template, template, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", name, err)
	}
	return &Authority{certificate, key}, nil
}

// PEM returns the certificate of the authority, for those who are to trust it.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Server issues a certificate for a server that is known by the given DNS names and IP addresses.
func (a *Authority) Server(names ...string) (Pair, error) { return a.ServerFor(0, names...) }

// ServerFor issues such a certificate that ends before the authority does: after some time, unless that is 0.
func (a *Authority) ServerFor(validity time.Duration, names ...string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	if validity > 0 {
		template.NotAfter = time.Now().Add(validity)
	}
	return a.issue(template)
}

// Client issues a certificate for a client of the given name and groups, as Kubernetes reads them.
func (a *Authority) Client(name string, groups ...string) (Pair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	key, der, err := sign(template, a.certificate, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate for %s: %w", template.Subject.CommonName, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate for %s: %w", template.Subject.CommonName, err)
	}
	return Pair{Certificate: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", keyDER)}, nil
}

// Pair is a certificate and its key, both in PEM.
type Pair struct{ Certificate, Key []byte }

// TLS returns the pair as crypto/tls expects it.
func (p Pair) TLS() (tls.Certificate, error) { return tls.X509KeyPair(p.Certificate, p.Key) }

// sign makes a key and a certificate for it, signed by the parent's key or, if that is nil, by its own.
func sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial
	// An hour of slack for clocks that disagree, as between a machine and its virtual machines.
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() || template.NotAfter.After(parent.NotAfter) {
		template.NotAfter = parent.NotAfter
	}
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	return key, der, err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
