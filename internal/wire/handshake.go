package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// HandshakeOptions says what to offer in a TLS handshake. The zero value offers what the client offers in its requests.
type HandshakeOptions struct {
	MinVersion uint16   // such as tls.VersionTLS10; 0 for TLS 1.2, or for MaxVersion when that is less
	MaxVersion uint16   // 0 for the highest version there is
	ALPN       []string // protocols in the order of preference; nil for http/1.1, after h2 if the endpoint has HTTP2
}

// Handshake is what came out of a TLS handshake.
type Handshake struct {
	Version uint16              // such as tls.VersionTLS13
	ALPN    string              // the protocol that the webhook chose; empty when it chose none
	Chain   []*x509.Certificate // as the webhook sent it, its own certificate first; never empty

	// VerifyError is why API servers would not accept the certificate; nil when they would. It is judged by the CA and the
	// server name of the endpoint.
	VerifyError error
}

// HandshakeError is why there was no handshake.
type HandshakeError struct {
	Connected bool  // whether there was a connection at all
	Refused   bool  // whether the webhook refused what it was offered, by an alert or by choosing something else
	NotTLS    bool  // whether it answered something that is not TLS
	Err       error // a sentence that says what to do
}

// Error returns the sentence.
func (e *HandshakeError) Error() string { return e.Err.Error() }

// Unwrap returns the error as it was found.
func (e *HandshakeError) Unwrap() error { return e.Err }

// Handshake connects to the webhook and performs one TLS handshake, within 10 s or the timeout of the endpoint, whichever is
// less. A certificate that does not verify is no error. The error is a *HandshakeError, which wraps that of the context if
// that ended.
func (c *Client) Handshake(ctx context.Context, o HandshakeOptions) (Handshake, error) {
	within, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(within, "tcp", c.address)
	if err != nil {
		return Handshake{}, c.noHandshake(ctx, err)
	}
	defer connection.Close()
	secured := tls.Client(connection, c.offer(o))
	if err := secured.HandshakeContext(within); err != nil {
		failed := c.noHandshake(ctx, err)
		failed.Connected = true
		return Handshake{}, failed
	}
	defer secured.Close() //nolint:errcheck // it says goodbye, which nobody has to hear
	state := secured.ConnectionState()
	return Handshake{
		Version:     state.Version,
		ALPN:        state.NegotiatedProtocol,
		Chain:       state.PeerCertificates,
		VerifyError: c.verify(state.PeerCertificates),
	}, nil
}

// offer returns what to offer in a handshake, which accepts any certificate.
func (c *Client) offer(o HandshakeOptions) *tls.Config {
	config := c.config.Clone()
	config.ServerName = c.serverName()
	config.InsecureSkipVerify = true // the chain is verified afterwards, to have both the chain and what is wrong with it
	config.MaxVersion = o.MaxVersion
	switch {
	case o.MinVersion != 0:
		config.MinVersion = o.MinVersion
	case o.MaxVersion != 0:
		config.MinVersion = min(config.MinVersion, o.MaxVersion)
	}
	if o.ALPN != nil {
		config.NextProtos = o.ALPN
	}
	return config
}

// serverName is the name that the webhook's certificate has to have.
func (c *Client) serverName() string {
	host, _, err := net.SplitHostPort(c.address)
	if err != nil {
		host = c.address
	}
	return cmp.Or(c.endpoint.ServerName, host)
}

// verify verifies the chain that a webhook sent, as crypto/tls does for API servers.
func (c *Client) verify(chain []*x509.Certificate) error {
	options := x509.VerifyOptions{
		Roots:         c.config.RootCAs,
		DNSName:       c.serverName(),
		Intermediates: x509.NewCertPool(),
	}
	for _, certificate := range chain[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := chain[0].Verify(options)
	return err
}

// noHandshake sorts the error of a handshake.
func (c *Client) noHandshake(ctx context.Context, err error) *HandshakeError {
	if ctx.Err() != nil {
		return &HandshakeError{Err: interruption(ctx)}
	}
	var record tls.RecordHeaderError
	return &HandshakeError{
		Refused: isRefusal(err),
		NotTLS:  errors.As(err, &record),
		Err:     c.explain(err, "", c.patience),
	}
}
