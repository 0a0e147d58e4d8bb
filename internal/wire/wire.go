// Package wire sends conversion requests to a webhook over HTTPS, the way API servers do, and brings the responses back
// for the judge.
package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/crdconform/crdconform/contract"
)

const (
	// APIServerTimeout is how long API servers wait for a webhook; it cannot be configured there.
	APIServerTimeout = 30 * time.Second

	// maxRetries is how often API servers retry when a webhook requests it.
	maxRetries = 10
)

// Endpoint says where a webhook is and how to reach it. It is reached directly. API servers use the proxy of their own
// environment for webhooks that have a URL; the environment here is another one, and what is judged is the webhook.
type Endpoint struct {
	URL string `json:"url"`          // https://host:port/path
	CA  []byte `json:"ca,omitempty"` // PEM certificates to verify the webhook's by; empty for the roots of the system
	// ServerName is the name to verify the certificate against and to ask for, with the port of the URL, as API servers do
	// with the name of a service; empty for the host of the URL.
	ServerName string        `json:"serverName,omitempty"`
	HTTP2      bool          `json:"http2,omitempty"`              // offer HTTP/2, as API servers do for URLs on localhost; HTTP/1.1 otherwise
	Timeout    time.Duration `json:"timeoutNanoseconds,omitempty"` // for one exchange with all its attempts; 0 for APIServerTimeout

	// CAOption and ServerNameOption are what the user gives CA and ServerName by, such as webhook.caFile, for the advice of errors.
	CAOption         string `json:"caOption,omitempty"`
	ServerNameOption string `json:"serverNameOption,omitempty"`

	// ClientCertificate is sent when the webhook asks for one. API servers have none for conversion webhooks. It holds a
	// private key, so it belongs into no report or log.
	ClientCertificate *tls.Certificate `json:"-"`
}

// Client sends requests to one webhook. It is safe for use by many goroutines.
type Client struct {
	endpoint Endpoint
	url      *url.URL      // where requests go: that of the endpoint with the timeout and, in place of its host, the server name
	target   string        // the same
	header   http.Header   // of requests; shared by all, so it must not be changed
	service  string        // host:port that requests go to
	address  string        // host:port to connect to for it
	patience time.Duration // of Reach
	large    chan struct{} // has room for each large response that is being read

	limit     func(request int) int64 // on the size of a response to a request of so many bytes
	config    *tls.Config             // of every handshake, but for its ServerName
	asked     atomic.Bool             // whether the webhook ever asked for a certificate of the client
	transport *http.Transport
	http      *http.Client
	do        func(*http.Request) (*http.Response, error) // sends a request, and follows redirects
}

// Connect checks the endpoint and returns a client for it. It opens no connection yet. The errors say what is wrong with
// the endpoint as it was given.
func Connect(e Endpoint) (*Client, error) {
	u, err := parseURL(e.URL)
	if err != nil {
		return nil, err
	}
	roots, err := rootsOf(e.CA)
	if err != nil {
		return nil, err
	}
	if e.Timeout == 0 {
		e.Timeout = APIServerTimeout
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	c := &Client{endpoint: e, address: net.JoinHostPort(u.Hostname(), port), patience: min(e.Timeout, reachTimeout)}
	c.limit, c.large = contract.MaxResponse, make(chan struct{}, maxLarge)
	u.Host = strings.TrimSuffix(u.Host, ":") // or it would be another host than that which net/http asks
	if e.ServerName != "" {
		u.Host = net.JoinHostPort(e.ServerName, port)
	}
	// API servers tidy the path up: a slash at its end is lost.
	u.Path, u.RawPath, u.RawQuery = path.Join("/", u.Path), "", timeoutQuery
	c.url, c.target, c.header = u, u.String(), Header()
	c.config = &tls.Config{RootCAs: roots, ServerName: e.ServerName, MinVersion: tls.VersionTLS12, GetClientCertificate: c.identify}
	c.config.NextProtos = []string{"http/1.1"}
	if e.HTTP2 {
		c.config.NextProtos = []string{"h2", "http/1.1"}
	}
	c.service = net.JoinHostPort(u.Hostname(), port)
	c.overNetHTTP()
	return c, nil
}

// overNetHTTP has the client send requests by connections of net/http.
func (c *Client) overNetHTTP() {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(c.endpoint.HTTP2)
	c.transport = &http.Transport{
		DialTLSContext:      c.connect,
		TLSClientConfig:     c.config.Clone(),
		Protocols:           protocols,
		MaxIdleConnsPerHost: 1 << 16,

		MaxResponseHeaderBytes: contract.MaxHeader,
	}
	c.http = &http.Client{Transport: Punctual(c.transport)}
	c.do = c.http.Do
}

// With returns another client, for the endpoint as change leaves a copy of it. It fails as Connect does.
func (c *Client) With(change func(*Endpoint)) (*Client, error) {
	e := c.endpoint
	change(&e)
	return Connect(e)
}

// identify returns the certificate of the client, or an empty one, to a webhook that asks for one.
func (c *Client) identify(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.asked.Store(true)
	if c.endpoint.ClientCertificate == nil {
		return new(tls.Certificate), nil
	}
	return c.endpoint.ClientCertificate, nil
}

// dial connects to the webhook when the service is asked for, and to any other address that a redirect leads to.
// TLS is over what under makes of the connection.
func (c *Client) dial(ctx context.Context, address string, under func(net.Conn) net.Conn) (*tls.Conn, error) {
	to := address
	if address == c.service {
		to = c.address
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, err
	}
	config := c.config
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, errors.Join(err, connection.Close())
		}
		config = config.Clone()
		config.ServerName = host
	}
	within, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errHandshakeTimeout)
	defer cancel()
	secured := tls.Client(under(connection), config)
	if err := secured.HandshakeContext(within); err != nil {
		_ = connection.Close()
		if cause := context.Cause(within); errors.Is(cause, errHandshakeTimeout) {
			return nil, cause
		}
		return nil, err
	}
	return secured, nil
}

// parseURL parses the URL of a webhook. No error shows a user or a password.
func parseURL(raw string) (*url.URL, error) {
	shown := " " + raw
	if strings.Contains(raw, "@") {
		shown = ""
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil && shown == "":
		return nil, errors.New("webhook URL: malformed; give a URL such as https://localhost:9443/convert")
	case err != nil:
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, fmt.Errorf("webhook URL%s: it is malformed: %w", shown, err)
	case u.Scheme != "https":
		return nil, fmt.Errorf("webhook URL%s: API servers call webhooks only over https; give a URL that begins with https://", shown)
	case u.Host == "":
		return nil, fmt.Errorf("webhook URL%s: no host; give a URL such as https://localhost:9443/convert", shown)
	case u.User != nil || u.Fragment != "" || u.RawQuery != "":
		return nil, fmt.Errorf("webhook URL%s: user, query and fragment are not allowed, as in a CustomResourceDefinition; leave them out", shown)
	}
	return u, nil
}

func rootsOf(ca []byte) (*x509.CertPool, error) {
	if len(ca) == 0 {
		return nil, nil //nolint:nilnil // that is how crypto/tls spells the roots of the system
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the CA file contains no certificate; give PEM, beginning with -----BEGIN CERTIFICATE-----")
	}
	return roots, nil
}

// Endpoint returns what the client was made from.
func (c *Client) Endpoint() Endpoint { return c.endpoint }

// HTTP returns the HTTP client that requests are sent by, for tests that want to come in between.
func (c *Client) HTTP() *http.Client { return c.http }

// Transport returns a transport that reaches the webhook as the client does, with connections of its own.
func (c *Client) Transport() *http.Transport { return c.transport.Clone() }

// Close closes the idle connections, and opens none any more that no request waits for.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Header returns the headers that API servers send with a conversion request.
func Header() http.Header {
	return http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json, */*"},
		"User-Agent":   {"kube-apiserver-admission"},
	}
}

// handshakeTimeout is how long API servers wait for a TLS handshake.
const handshakeTimeout = 10 * time.Second

var errHandshakeTimeout = fmt.Errorf("the TLS handshake took longer than %s", handshakeTimeout)

// timeoutQuery is what API servers add to the URL of a webhook.
const timeoutQuery = "timeout=30s"

// URL is the URL that is asked: that of the endpoint as API servers write it, with the timeout that they add.
func (c *Client) URL() string { return c.target }

// Send sends the body of one request and returns what came back. Like API servers it follows redirects, decompresses, and
// asks again when the webhook says after what time. It does not fail: a response that is missing or cut short carries the
// error, for the judge. So does one that is longer than contract.MaxResponse allows. Only when the context ended before the response
// was there, there is nothing to judge: then the response is marked as Interrupted.
func (c *Client) Send(ctx context.Context, body []byte) contract.Response {
	return c.send(ctx, nil, newPayload([][]byte{body}))
}

func (c *Client) send(ctx context.Context, into []byte, body payload) contract.Response {
	within := newTerm(ctx, c.endpoint.Timeout)
	defer within.release()
	for attempt := 1; ; attempt++ {
		answer, pause, again := c.exchange(within, http.MethodPost, c.header, body, into, maxRetries+1-attempt) //nolint:contextcheck // it is within that of the caller
		if again {
			if answer.Err = wait(within, pause); answer.Err == nil { //nolint:contextcheck // likewise
				continue
			}
		}
		answer.Attempts = attempt
		return c.outcome(ctx, answer)
	}
}

// SendRaw sends one request with another method, header and body than API servers send, to see what a webhook makes of it:
// a GET, a wrong Content-Type, half of a body. The header replaces all of Header; nil stands for Header as it is. It asks once
// only, and otherwise does as Send does.
func (c *Client) SendRaw(ctx context.Context, method string, header http.Header, body []byte) contract.Response {
	within, cancel := context.WithTimeout(ctx, c.endpoint.Timeout)
	defer cancel()
	if header == nil {
		header = c.header
	}
	answer, _, _ := c.exchange(within, method, header, newPayload([][]byte{body}), nil, 0)
	answer.Attempts = 1
	return c.outcome(ctx, answer)
}

// outcome explains why a response is not whole, if it is not, to the caller whose context it is.
func (c *Client) outcome(ctx context.Context, answer contract.Response) contract.Response {
	switch {
	case answer.Err != nil && ctx.Err() != nil:
		answer.Interrupted, answer.Err = true, interruption(ctx)
	case answer.Err != nil:
		answer.TimedOut = timedOut(answer.Err)
		answer.Err = c.explain(answer.Err, answer.RedirectedTo, c.endpoint.Timeout)
	}
	return answer
}

// exchange sends one request, and reads the body of the response, up to the limit, into the memory of into. If the webhook
// requests a retry, and some are left, it returns true and the time to wait before it.
func (c *Client) exchange(ctx context.Context, method string, header http.Header, body payload, into []byte, retries int) (contract.Response, time.Duration, bool) {
	response, err := c.do(c.request(ctx, method, header, body))
	if response == nil {
		return contract.Response{Err: err, RedirectedTo: c.elsewhere(err)}, 0, false
	}
	defer response.Body.Close()
	answer := contract.Response{
		Status:       response.StatusCode,
		Protocol:     response.Proto,
		ContentType:  response.Header.Get("Content-Type"),
		RedirectedTo: redirectedTo(response),
	}
	if err != nil { // one redirect too many, which is then the response
		return answer, 0, false
	}
	if pause, wanted := retryAfter(response); retries > 0 && wanted && endsAfter(ctx, pause) {
		io.CopyN(io.Discard, response.Body, 2<<10) //nolint:errcheck // it only keeps the connection for the next attempt
		return answer, pause, true
	}
	answer.Body, answer.Err = c.readAll(response, into, body.size())
	return answer, 0, false
}

// elsewhere returns the URL to which a request failed if that is not where it went to at first.
func (c *Client) elsewhere(err error) string {
	var failed *url.Error
	if !errors.As(err, &failed) || failed.URL == c.target {
		return ""
	}
	to, err := url.Parse(failed.URL)
	if err != nil {
		return ""
	}
	to.User = nil
	return to.String()
}

// redirectedTo returns the URL that a response comes from if that is not where the request went to.
func redirectedTo(response *http.Response) string {
	if response.Request == nil || response.Request.Response == nil {
		return ""
	}
	to := *response.Request.URL
	to.User = nil
	return to.String()
}

// retryAfter returns the delay that a webhook requests before a retry, and whether it requests one. Like API servers it
// supports only seconds, not dates; and seconds that overflow are none, as they are to client-go.
func retryAfter(response *http.Response) (time.Duration, bool) {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < 500 {
		return 0, false
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil
}

// endsAfter reports whether there is time left after a pause. If not, API servers still wait, in vain.
func endsAfter(ctx context.Context, pause time.Duration) bool {
	end, bounded := ctx.Deadline()
	return !bounded || pause < time.Until(end)
}

// wait waits for a while. It fails when the context ends before that.
func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
