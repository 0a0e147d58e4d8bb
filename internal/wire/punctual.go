package wire

import (
	"context"
	"io"
	"net/http"
)

// Punctual returns a transport whose responses can be read until the context of the request ends, and no longer. Over HTTP/2 net/http
// does not notice that end where a response has begun while the webhook does not let the rest of the request be sent: reading its body
// would never return.
func Punctual(next http.RoundTripper) http.RoundTripper { return punctual{next} }

type punctual struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (p punctual) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(r)
	if err != nil || response.ProtoMajor != 2 {
		return response, err
	}
	body := punctualBody{ReadCloser: response.Body, ctx: r.Context()}
	body.stop = context.AfterFunc(r.Context(), func() { _ = body.ReadCloser.Close() }) // to break it off is the point
	response.Body = body
	return response, nil
}

type punctualBody struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // it is the request's, which the body belongs to
	stop func() bool
}

// Read reads from the body, and says if it is the context that cut it off.
func (b punctualBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && err != io.EOF && b.ctx.Err() != nil { //nolint:errorlint // readers return it as it is
		err = b.ctx.Err()
	}
	return n, err
}

// Close closes the body.
func (b punctualBody) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}
