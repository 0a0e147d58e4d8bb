package main

import (
	"crypto/x509"
	"fmt"

	"github.com/crdconform/crdconform/internal/files"
)

// authority reads the certificates in the file that a flag names; none if it names no file.
func authority(flag, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	ca, err := files.Read(name, files.Certificates)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("--%s %s: no certificate in it; give PEM, beginning with -----BEGIN CERTIFICATE-----", flag, name)
	}
	return ca, nil
}
