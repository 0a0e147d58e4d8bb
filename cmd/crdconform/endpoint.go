package main

import (
	"crypto/x509"
	"fmt"

	"github.com/crdconform/crdconform/internal/files"
)

// serverNameKey gives the name that a certificate is verified against.
const serverNameKey = "--set webhook.serverName"

// authority reads the certificates in the file that an option names; none if it names no file.
func authority(option, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	ca, err := files.Read(name, files.Certificates)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s %s: no certificate in it; give PEM, beginning with -----BEGIN CERTIFICATE-----", option, name)
	}
	return ca, nil
}
