package wire

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
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

// TestPortsOfClients has a connection broken, of which each run is to say the same.
func TestPortsOfClients(t *testing.T) {
	t.Parallel()
	client, err := Connect(Endpoint{URL: "https://localhost:9443/convert"})
	if err != nil {
		t.Fatal(err)
	}
	broken := &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv6loopback, Port: 54321}, Addr: &net.TCPAddr{IP: net.IPv6loopback, Port: 9443}, Err: syscall.ECONNRESET}
	said := client.explain(fmt.Errorf("transport connection broken: %w", broken), "", time.Second)
	if want := "webhook https://localhost:9443/convert: transport connection broken: read tcp [::1]:9443: connection reset by peer"; said.Error() != want || !errors.Is(said, syscall.ECONNRESET) {
		t.Errorf("got %v, want %s", said, want)
	}
}
