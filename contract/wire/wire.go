// Package wire sends conversion requests to a webhook over HTTPS, the way API servers do, and brings the responses back
// for the judge.
package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/contract"
)

const (
	// APIServerTimeout is how long API servers wait for a webhook; it cannot be configured there.
	APIServerTimeout = 30 * time.Second

	// maxResponse bounds what is read of a response, in bytes.
	maxResponse = 256 << 20
)

// Endpoint says where a webhook is and how to reach it.
type Endpoint struct {
	URL        string        // https://host:port/path
	CA         []byte        // PEM certificates to verify the webhook's by; empty for the roots of the system
	ServerName string        // name to verify the certificate against; empty for the host of the URL
	HTTP2      bool          // offer HTTP/2, as API servers do for URLs on localhost; HTTP/1.1 otherwise
	Timeout    time.Duration // for one exchange; 0 for APIServerTimeout
}

// Client sends requests to one webhook. It is safe for use by many goroutines.
type Client struct {
	endpoint  Endpoint
	transport *http.Transport
	http      *http.Client
}

// Connect checks the endpoint and returns a client for it. It opens no connection yet. The errors say what is wrong with
// the endpoint as it was given.
func Connect(e Endpoint) (*Client, error) {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("webhook URL: %w", err)
	case u.Scheme != "https":
		return nil, fmt.Errorf("webhook URL %s: API servers call webhooks by https only; give a URL that begins with https://", u.Redacted())
	case u.Host == "":
		return nil, fmt.Errorf("webhook URL %s: there is no host in it; give a URL such as https://localhost:9443/convert", u.Redacted())
	case u.User != nil || u.Fragment != "" || u.RawQuery != "":
		return nil, fmt.Errorf("webhook URL %s: a user, a query and a fragment are not allowed in a CustomResourceDefinition either; leave them out", u.Redacted())
	}
	roots, err := rootsOf(e.CA)
	if err != nil {
		return nil, err
	}
	if e.Timeout == 0 {
		e.Timeout = APIServerTimeout
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(e.HTTP2)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: e.ServerName, MinVersion: tls.VersionTLS12},
		Protocols:           protocols,
		MaxIdleConnsPerHost: 1 << 16,
		DisableCompression:  true,
	}
	return &Client{e, transport, &http.Client{
		Transport:     transport,
		Timeout:       e.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func rootsOf(ca []byte) (*x509.CertPool, error) {
	if len(ca) == 0 {
		return nil, nil //nolint:nilnil // that is how crypto/tls spells the roots of the system
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA file holds no certificate; give PEM, beginning with -----BEGIN CERTIFICATE-----")
	}
	return roots, nil
}

// Endpoint returns what the client was made from.
func (c *Client) Endpoint() Endpoint { return c.endpoint }

// HTTP returns the HTTP client, for those who send requests of their own making.
func (c *Client) HTTP() *http.Client { return c.http }

// Close closes the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Header returns the headers that API servers send with a conversion request.
func Header() http.Header {
	return http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json, */*"},
		"User-Agent":   {"kube-apiserver-admission"},
	}
}

// URL is where requests go: that of the endpoint with the timeout that API servers add.
func (c *Client) URL() string { return c.endpoint.URL + "?timeout=30s" }

// Send sends the body of one request and returns what came back. It does not fail: a response that is missing or cut
// short carries the error, for the judge.
func (c *Client) Send(ctx context.Context, body []byte) contract.Response {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL(), bytes.NewReader(body))
	if err != nil {
		return contract.Response{Err: err}
	}
	request.Header = Header()
	response, err := c.http.Do(request)
	if err != nil {
		return contract.Response{Err: c.explain(err), TimedOut: timedOut(err)}
	}
	defer response.Body.Close()
	read, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err == nil && len(read) > maxResponse {
		err = fmt.Errorf("the response is longer than %d MiB", maxResponse>>20)
	}
	answer := contract.Response{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Body: read}
	if err != nil {
		answer.Err, answer.TimedOut = c.explain(err), timedOut(err)
	}
	return answer
}

// Reach tells why the webhook cannot be reached at all: a sentence with what to do, or nil when it can. An answer of any
// kind over TLS will do.
func (c *Client) Reach(ctx context.Context) error {
	host := c.transport.TLSClientConfig
	u, err := url.Parse(c.endpoint.URL)
	if err != nil {
		return err
	}
	name := host.ServerName
	if name == "" {
		name = u.Hostname()
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	ctx, cancel := context.WithTimeout(ctx, min(c.endpoint.Timeout, 10*time.Second))
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: host.RootCAs, ServerName: name, MinVersion: host.MinVersion}}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return c.explain(err)
	}
	return connection.Close()
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// explain turns the error of an exchange into a sentence that says what to do.
func (c *Client) explain(err error) error {
	// The method and the URL that net/http puts in front say nothing new.
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	at := c.endpoint.URL
	var (
		unknownCA x509.UnknownAuthorityError
		verify    *tls.CertificateVerificationError
		hostname  x509.HostnameError
		record    tls.RecordHeaderError
		dns       *net.DNSError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &dns):
		return fmt.Errorf("webhook %s: the host %s cannot be resolved; check the URL", at, dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("webhook %s: connection refused; check that the webhook is running and listens on that port", at)
	case errors.As(err, &record) || isPlainHTTP(err):
		return fmt.Errorf("webhook %s: it does not speak TLS there; API servers call webhooks by https only, so give it a certificate", at)
	case errors.As(err, &hostname):
		return fmt.Errorf("webhook %s: %w; give the name in its certificate by --server-name", at, hostname)
	case errors.As(err, &unknownCA):
		return fmt.Errorf("webhook %s: its certificate is signed by an authority that is not trusted; give the authority's certificate by --ca-file", at)
	case errors.As(err, &verify):
		return fmt.Errorf("webhook %s: its certificate does not verify: %w", at, verify.Err)
	case timedOut(err):
		return fmt.Errorf("webhook %s: no whole answer within %s", at, c.endpoint.Timeout)
	}
	return fmt.Errorf("webhook %s: %w", at, err)
}

// isPlainHTTP recognises a server without TLS by the words of net/http, which has no error of its own for it.
func isPlainHTTP(err error) bool {
	return err.Error() == "http: server gave HTTP response to HTTPS client"
}
