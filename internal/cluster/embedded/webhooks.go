package embedded

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/wire"
)

// bounding makes the API server read no more of the response of a webhook than package contract allows. By itself it reads everything,
// which would take the memory of the process that it is in.
func bounding(wrap webhook.AuthenticationInfoResolverWrapper, to *lines) webhook.AuthenticationInfoResolverWrapper {
	return func(resolver webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return wrap(boundedResolver{resolver, to})
	}
}

// lines are what webhooks are called by.
type lines struct {
	mu  sync.Mutex
	all map[http.RoundTripper]struct{}
}

// through returns a transport with bounds over one that is among the lines from now on.
func (l *lines) through(next http.RoundTripper) http.RoundTripper {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[http.RoundTripper]struct{}{}
	}
	l.all[next] = struct{}{}
	return boundedTransport{wire.Punctual(next)}
}

// hangUp closes the idle connections.
func (l *lines) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range l.all {
		utilnet.CloseIdleConnectionsFor(line)
	}
}

// HangUp closes the idle connections to webhooks. One that stops waits for its clients to do so, over HTTP/2 for a second.
func (c *Cluster) HangUp() { c.lines.hangUp() }

// boundedResolver gives the clients of webhooks bounds.
type boundedResolver struct {
	webhook.AuthenticationInfoResolver

	to *lines
}

// ClientConfigFor is for webhooks that have a URL.
func (r boundedResolver) ClientConfigFor(hostPort string) (*rest.Config, error) {
	return r.bounded(r.AuthenticationInfoResolver.ClientConfigFor(hostPort))
}

// ClientConfigForService is for webhooks that have a service.
func (r boundedResolver) ClientConfigForService(name, namespace string, port int) (*rest.Config, error) {
	return r.bounded(r.AuthenticationInfoResolver.ClientConfigForService(name, namespace, port))
}

func (r boundedResolver) bounded(config *rest.Config, err error) (*rest.Config, error) {
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(r.to.through)
	return config, nil
}

// boundedTransport reads responses as a whole, and fails for those that are beyond a bound.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip sends a request on.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := contract.MaxResponse(int(max(r.ContentLength, 0)))
	read, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if int64(len(read)) > limit {
		response.Body.Close()
		return nil, contract.LengthError(limit)
	}
	if err == nil {
		if tooDeep := contract.CheckBody(requested(r), read); tooDeep != nil {
			response.Body.Close()
			return nil, tooDeep
		}
	}
	response.Body = readBody{io.MultiReader(bytes.NewReader(read), failing{err}), response.Body}
	return response, nil
}

// requested is the body of a request, as far as it can be read again.
func requested(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	again, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer again.Close()
	body, err := io.ReadAll(again)
	if err != nil {
		return nil
	}
	return body
}

// readBody is what was read of a body that is still to be closed.
type readBody struct {
	io.Reader
	io.Closer
}

// failing fails as reading the body did, if it did.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
