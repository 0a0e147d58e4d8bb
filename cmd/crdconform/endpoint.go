package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"

	"github.com/crdconform/crdconform/internal/files"
)

// serverNameKey gives the name that a certificate is verified against.
const serverNameKey = "--set webhook.serverName"

// listenAddress returns what is wrong with the value of --listen; nil if a program can listen there, unless another one does.
func listenAddress(ctx context.Context, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %s: not an address; give a host and a port, such as localhost:9443", address)
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return fmt.Errorf("--listen %s: the port %s is not one from 0 to 65535", address, port)
	}
	return nil
}

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
