package main

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/wire"
)

// target is the webhook of the user, as the flags say.
type target struct {
	url        string
	caFile     string
	serverName string
	http2      bool
	timeout    time.Duration
	samples    string
}

// connect reads the files that the flags name and prepares a client. All of its errors are about usage.
func (t *target) connect() (*wire.Client, corpus.Corpus, error) {
	c := corpus.CronTabs("v1beta1", "v1")
	if t.timeout <= 0 {
		return nil, c, fmt.Errorf("--timeout %s: must be greater than 0", t.timeout)
	}
	if t.samples != "" {
		samples, err := os.ReadFile(t.samples)
		if err != nil {
			return nil, c, fmt.Errorf("--samples: %w", err)
		}
		if c, err = corpus.Read(bytes.NewReader(samples)); err != nil {
			return nil, c, fmt.Errorf("--samples %s: %w", t.samples, err)
		}
	}
	var ca []byte
	if t.caFile != "" {
		var err error
		if ca, err = os.ReadFile(t.caFile); err != nil {
			return nil, c, fmt.Errorf("--ca-file: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(ca) {
			return nil, c, fmt.Errorf("--ca-file %s: no certificate in it; give PEM, beginning with -----BEGIN CERTIFICATE-----", t.caFile)
		}
	}
	client, err := wire.Connect(wire.Endpoint{URL: t.url, CA: ca, ServerName: t.serverName, HTTP2: t.http2, Timeout: t.timeout, CAOption: "--ca-file", ServerNameOption: "--server-name"})
	if err != nil {
		return nil, c, err
	}
	return client, c, nil
}

// oneURL wants exactly one argument and says which.
func oneURL(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s requires the URL of a webhook, such as https://localhost:9443/convert, but got %d arguments", cmd.Name(), len(args))
	}
	return nil
}
