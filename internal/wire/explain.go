package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/contract"
)

// reachTimeout is how long Reach tries, at most.
const reachTimeout = 10 * time.Second

// Reach reports why the webhook cannot be reached at all: a sentence with what to do, or nil when it can. An answer of any
// kind over TLS will do.
func (c *Client) Reach(ctx context.Context) error {
	config := c.config.Clone()
	config.ServerName = c.serverName()
	within, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	dialer := tls.Dialer{Config: config}
	connection, err := dialer.DialContext(within, "tcp", c.address)
	switch {
	case err != nil && ctx.Err() != nil:
		return interruption(ctx)
	case err != nil:
		return c.explain(err, "", c.patience)
	}
	_ = connection.Close() // it was reached, whatever becomes of the connection
	return nil
}

// interruption says that the caller gave up, and why.
func interruption(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// refusedError is that nothing listens where a webhook is to be.
type refusedError struct{ at string }

func (e refusedError) Error() string {
	return fmt.Sprintf("webhook %s: connection refused; check that the webhook is running and listens on that port", e.at)
}

func (refusedError) Unwrap() error { return syscall.ECONNREFUSED }

// unsourced is an error that does not name the port of this end of the connection, which is another one each time.
type unsourced struct {
	error

	source string
}

func (e unsourced) Error() string { return strings.ReplaceAll(e.error.Error(), e.source, "") }

func (e unsourced) Unwrap() error { return e.error }

// explain turns the error of an exchange, which had so much time, into a sentence that says what to do.
func (c *Client) explain(err error, redirectedTo string, limit time.Duration) error {
	// The method and the URL that net/http puts in front say nothing new.
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if operation := (*net.OpError)(nil); errors.As(err, &operation) && operation.Source != nil {
		err = unsourced{err, operation.Source.String() + "->"}
	}
	at := c.endpoint.URL
	if redirectedTo != "" {
		at += ", which redirects to " + redirectedTo
	}
	var (
		unknownCA x509.UnknownAuthorityError
		verify    *tls.CertificateVerificationError
		hostname  x509.HostnameError
		record    tls.RecordHeaderError
		dns       *net.DNSError
	)
	switch {
	case errors.As(err, &dns) && errors.Is(dns, context.DeadlineExceeded):
		return fmt.Errorf("webhook %s: the host %s could not be resolved %s", at, dns.Name, c.within(limit))
	case errors.As(err, &dns):
		return fmt.Errorf("webhook %s: the host %s cannot be resolved; check the URL (%w)", at, dns.Name, dns)
	case errors.Is(err, syscall.ECONNREFUSED):
		return refusedError{at}
	case errors.As(err, &record) || isPlainHTTP(err):
		return fmt.Errorf("webhook %s: it does not use TLS on that port; API servers call webhooks only over https, so give it a certificate", at)
	case strings.Contains(err.Error(), "relies on legacy Common Name"):
		return fmt.Errorf("webhook %s: its certificate has its name in the common name only, which API servers do not read; issue one with subject alternative names", at)
	case strings.Contains(err.Error(), "insecure algorithm"):
		return fmt.Errorf("webhook %s: its certificate is signed with SHA-1 or another algorithm that API servers do not accept; issue one that is signed with SHA-256 (%w)", at, err)
	case isLongHeader(err):
		return fmt.Errorf("webhook %s: %w", at, contract.HeaderError{})
	case strings.Contains(err.Error(), "connection error: PROTOCOL_ERROR"): // which net/http says of a header that goes on and on, too
		return fmt.Errorf("webhook %s: it breaks the rules of HTTP/2, or its headers are longer than %d MiB (%w)", at, contract.MaxHeader>>20, err)
	case errors.As(err, &hostname):
		return fmt.Errorf("webhook %s: %w; give the name in its certificate%s", at, hostname, by(c.endpoint.ServerNameOption))
	case errors.As(err, &unknownCA):
		return fmt.Errorf("webhook %s: its certificate is signed by an authority that is not %s; give the authority's certificate%s", at, c.trusted(), by(c.endpoint.CAOption))
	case errors.As(err, &verify):
		return fmt.Errorf("webhook %s: its certificate cannot be verified: %w", at, verify.Err)
	case strings.HasPrefix(err.Error(), "failed to parse Location header"): // which net/http repeats, with any password in it
		return fmt.Errorf("webhook %s: it redirects to an invalid URL", at)
	case errors.Is(err, errHandshakeTimeout):
		return fmt.Errorf("webhook %s: %w", at, errHandshakeTimeout)
	case timedOut(err):
		return fmt.Errorf("webhook %s: no complete response %s", at, c.within(limit))
	case isRefusal(err) || c.asked.Load() && isHangUp(err):
		return fmt.Errorf("webhook %s: %s (%w)", at, c.refusal(err), err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("webhook %s: it closed the connection without a response (%w)", at, err)
	}
	return fmt.Errorf("webhook %s: %w", at, err)
}

// within says how long something had, and whose idea that was if it was the user's.
func (c *Client) within(limit time.Duration) string {
	if limit == c.endpoint.Timeout && limit < APIServerTimeout {
		return fmt.Sprintf("within %s (the timeout; API servers wait for %s)", limit, APIServerTimeout)
	}
	return fmt.Sprintf("within %s", limit)
}

// isRefusal recognises that the webhook refused a TLS connection. crypto/tls does not export the type of its alerts, nor that
// of what it says when the webhook chose a version that was not offered.
func isRefusal(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "remote error" ||
		strings.Contains(err.Error(), "tls: server selected unsupported")
}

// isLongHeader recognises headers that are too long by the words of net/http, for HTTP/1.1 and HTTP/2.
func isLongHeader(err error) bool {
	return slices.ContainsFunc([]string{"response headers exceeded", "response header list larger", "header list too large"}, func(words string) bool {
		return strings.Contains(err.Error(), words)
	})
}

// isHangUp recognises that the webhook ended a connection with no word.
func isHangUp(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// refusal says why the webhook may have refused a TLS connection, and what to do.
func (c *Client) refusal(err error) string {
	words := err.Error()
	switch {
	case strings.Contains(words, "protocol version"):
		return "it supports no version of TLS that API servers support; make it accept TLS 1.2 or 1.3"
	case strings.Contains(words, "no application protocol") && c.endpoint.HTTP2:
		return "it supports neither HTTP/2 nor HTTP/1.1"
	case strings.Contains(words, "no application protocol"):
		return "it does not support HTTP/1.1, the only protocol that API servers offer unless the URL is on localhost"
	case c.asked.Load() && c.endpoint.ClientCertificate != nil:
		return "it closed the connection after receiving the client certificate; check that it trusts the authority of that certificate"
	case c.asked.Load():
		return "it requested a client certificate and closed the connection; API servers have none for conversion webhooks, so do not require one"
	}
	return "it rejected the TLS handshake; see its log for the reason"
}

// by names an option at the end of an advice.
func by(option string) string {
	if option == "" {
		return ""
	}
	return " by " + option
}

// trusted says whom the client trusts.
func (c *Client) trusted() string {
	if len(c.endpoint.CA) > 0 {
		return "in the CA file"
	}
	return "trusted by this system"
}

// isPlainHTTP recognises a server without TLS by the words of net/http, which has no error of its own for it.
func isPlainHTTP(err error) bool {
	return err.Error() == "http: server gave HTTP response to HTTPS client"
}
