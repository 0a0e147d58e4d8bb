package wire

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestCertificatesThatNobodyAccepts has certificates for which the advice of others would be wrong.
func TestCertificatesThatNobodyAccepts(t *testing.T) {
	t.Parallel()
	client, err := Connect(Endpoint{URL: "https://localhost:9443/convert", ServerNameOption: "--server-name"})
	if err != nil {
		t.Fatal(err)
	}
	named := &x509.Certificate{Version: 3}
	named.Subject.CommonName = "localhost"
	for want, failed := range map[string]error{
		"in the common name only":    x509.HostnameError{Certificate: named, Host: "localhost"},
		"another algorithm that API": errors.Join(x509.UnknownAuthorityError{}, x509.InsecureAlgorithmError(x509.SHA1WithRSA)),
	} {
		said := client.explain(failed, "", time.Second).Error()
		if !strings.Contains(said, want) || strings.Contains(said, "--server-name") {
			t.Errorf("got %s, want something with %q", said, want)
		}
	}
}
