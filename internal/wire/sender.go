package wire

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/crdconform/crdconform/contract"
)

// Sender sends many requests to one webhook, over connections of its own. Over HTTP/1.1 it does without net/http's connections, which
// cost more than the rest of a request: see direct. It is safe for use by many goroutines.
type Sender struct {
	client *Client
	direct *direct // nil when HTTP/2 is offered
}

// Sender returns a sender to the webhook of the client.
func (c *Client) Sender() *Sender {
	own := &Client{
		endpoint: c.endpoint, url: c.url, target: c.target, header: c.header, service: c.service, address: c.address,
		patience: c.patience, limit: c.limit, large: make(chan struct{}, maxLarge), config: c.config.Clone(),
	}
	own.config.GetClientCertificate = own.identify
	own.overNetHTTP()
	if c.endpoint.HTTP2 {
		return &Sender{client: own}
	}
	s := &Sender{client: own, direct: newDirect(own)}
	own.http = &http.Client{Transport: s.direct}
	own.do = own.follow
	return s
}

// follow sends a request. It leaves redirects to net/http, and only those: what http.Client does for a request costs as much as judging
// the response, and redirects lead anywhere.
func (c *Client) follow(r *http.Request) (*http.Response, error) {
	response, err := c.http.Transport.RoundTrip(r)
	if err != nil || response.StatusCode/100 != 3 {
		return response, err
	}
	following := *c.http
	following.Transport = &redirected{RoundTripper: c.transport, first: response}
	return following.Do(r)
}

// redirected is a transport that has the first response already.
type redirected struct {
	http.RoundTripper

	first *http.Response
}

// RoundTrip returns the response, and sends requests then.
func (r *redirected) RoundTrip(request *http.Request) (*http.Response, error) {
	if first := r.first; first != nil {
		r.first = nil
		return first, nil
	}
	return r.RoundTripper.RoundTrip(request)
}

// Endpoint returns what the sender was made from.
func (s *Sender) Endpoint() Endpoint { return s.client.endpoint }

// URL is the URL that is asked, as Client.URL.
func (s *Sender) URL() string { return s.client.target }

// HTTP returns the HTTP client that requests are sent by, for tests that want to come in between.
func (s *Sender) HTTP() *http.Client { return s.client.http }

// Send does as Client.Send does. The body of the request is made of parts, as of what is before the uid, the uid, and what is after it.
// They may be part of any number of requests, but must not be changed: now and then one is still being read when the response is there.
// The body of the response is read into the memory of into, or into larger memory if that is too small, so it has gone when the caller
// uses that again.
func (s *Sender) Send(ctx context.Context, into []byte, parts ...[]byte) contract.Response {
	body := payload(parts)
	if s.direct == nil {
		body = newPayload(parts)
	}
	return s.client.send(ctx, into, body)
}

// Close closes the idle connections, and opens none any more that no request waits for.
func (s *Sender) Close() {
	if s.direct != nil {
		s.direct.pool.close()
	}
	s.client.Close()
}

// Open closes the idle connections and opens the given number of others, all at once, for later requests. It returns when each
// is open or could not be: the requests then try again, and report why. When the context ends before that, those in progress
// continue until Close. A trace in the context receives their handshakes. No request may be in progress meanwhile.
func (s *Sender) Open(ctx context.Context, connections int) {
	s.Close() // or it would be one of those that the requests get
	if s.direct != nil {
		s.direct.pool.open(ctx, connections)
		return
	}
	s.client.open(ctx, connections)
}

// open opens connections of net/http. Each is opened by a request that gives up then, before it is sent. Net/http keeps the
// connection among the idle ones, and notices when the webhook closes it.
func (c *Client) open(ctx context.Context, connections int) {
	alone := make(chan struct{})
	var under []opening
	for range connections {
		within, giveUp := context.WithCancelCause(ctx)
		o := opening{giveUp: giveUp, alone: alone, done: make(chan struct{})}
		request := c.request(context.WithValue(within, openingKey{}, o), http.MethodPost, c.header, nil)
		response, err := c.transport.RoundTrip(request)
		giveUp(nil)
		if err == nil {
			_ = response.Body.Close()
		}
		if errors.Is(context.Cause(within), errOpening) {
			under = append(under, o)
		}
	}
	close(alone)
	for _, o := range under {
		select {
		case <-o.done:
		case <-ctx.Done():
			return
		}
	}
}

// opening is a connection that is opened for requests to come.
type opening struct {
	giveUp context.CancelCauseFunc // of the request that opens it
	alone  <-chan struct{}         // closed when all such requests have given up: they would take each other's connections
	done   chan struct{}           // closed when it is open, or could not be opened
}

// openingKey is that of an opening in a context.
type openingKey struct{}

var errOpening = errors.New("a connection is opened for other requests")

// connect opens a connection of net/http for a request, or for those to come.
func (c *Client) connect(ctx context.Context, _, address string) (net.Conn, error) {
	if o, ok := ctx.Value(openingKey{}).(opening); ok {
		defer close(o.done)
		o.giveUp(errOpening)
		<-o.alone
	}
	connection, err := c.dial(ctx, address, func(plain net.Conn) net.Conn { return plain })
	if err != nil {
		return nil, err
	}
	return connection, nil
}
