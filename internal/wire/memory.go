package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/crdconform/crdconform/contract"
)

const (
	// joined is up to which size the parts of a request are copied into one, in bytes. Of what lies in one place net/http sends
	// the beginning along with the header, as it does for API servers.
	joined = 32 << 10

	// usualGrowth and usualAdded are up to which size a response is read at once: so many times the size of the request and so many
	// bytes more. So much memory is made ready because of a Content-Length, too.
	usualGrowth = 2
	usualAdded  = 64 << 10

	// maxLarge is how many responses of more than that are read at once.
	maxLarge = 8
)

// payload is the body of a request. It can be read any number of times.
type payload [][]byte

// newPayload returns the parts as one body.
func newPayload(parts [][]byte) payload {
	if p := payload(parts); len(parts) == 1 || p.size() > joined {
		return p
	}
	return payload{slices.Concat(parts...)}
}

// size is that of the whole, in bytes.
func (p payload) size() int {
	n := 0
	for _, part := range p {
		n += len(part)
	}
	return n
}

// reader reads the parts one after the other. It never fails.
func (p payload) reader() (io.ReadCloser, error) {
	if p.size() == 0 {
		return http.NoBody, nil
	}
	return &reading{p, 0}, nil
}

// reading is what remains to be read of a payload.
type reading struct {
	parts payload
	at    int // in the first part
}

// Read reads on.
func (r *reading) Read(into []byte) (int, error) {
	n := 0
	for len(r.parts) > 0 {
		copied := copy(into[n:], r.parts[0][r.at:])
		n, r.at = n+copied, r.at+copied
		if r.at < len(r.parts[0]) {
			return n, nil
		}
		r.parts, r.at = r.parts[1:], 0
	}
	return n, io.EOF
}

// WriteTo writes what remains, without copying it.
func (r *reading) WriteTo(to io.Writer) (int64, error) {
	var all int64
	for len(r.parts) > 0 {
		n, err := to.Write(r.parts[0][r.at:])
		if all += int64(n); err != nil {
			return all, err
		}
		r.parts, r.at = r.parts[1:], 0
	}
	return all, nil
}

// Close does nothing.
func (*reading) Close() error { return nil }

// request returns a request for one exchange.
func (c *Client) request(ctx context.Context, method string, header http.Header, body payload) *http.Request {
	r := c.bare(method, header).WithContext(ctx)
	r.Body, _ = body.reader()
	r.GetBody, r.ContentLength = body.reader, int64(body.size())
	return r
}

// bare returns a request without a body and a context. It shares the URL and the header with others, which net/http does not change.
func (c *Client) bare(method string, header http.Header) *http.Request {
	return &http.Request{
		Method: method, URL: c.url, Host: c.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

// readAll reads the body of a response to a request of so many bytes into the memory of into, or more if that is too small. It stops
// with an error behind the limit. What it has read until there was an error, it returns. Of large responses, which no correct webhook
// sends, it reads a few at once: hundreds of them may be coming.
func (c *Client) readAll(response *http.Response, into []byte, request int) ([]byte, error) {
	limit := c.limit(request)
	usual := min(limit, usualGrowth*int64(request)+usualAdded)
	// There is one byte more than should be needed, to find the end without growing.
	into = slices.Grow(into[:0], int(min(max(response.ContentLength, 511), usual))+1)
	into, err := readUntil(response.Body, into, usual)
	if err != errLonger { //nolint:errorlint // it is passed on as it is
		return into, err
	}
	ctx := response.Request.Context()
	select {
	case c.large <- struct{}{}:
	case <-ctx.Done():
		return into, ctx.Err()
	}
	defer func() { <-c.large }()
	if into, err = readUntil(response.Body, into, limit); err == errLonger { //nolint:errorlint // as above
		err = contract.LengthError(limit)
	}
	return into, err
}

var errLonger = errors.New("longer than was to be read")

// readUntil reads a body into memory behind what is there, until it ends or there are more bytes than the limit.
func readUntil(body io.Reader, into []byte, limit int64) ([]byte, error) {
	for int64(len(into)) <= limit {
		if len(into) == cap(into) {
			into = slices.Grow(into, 1)
		}
		n, err := body.Read(into[len(into):min(int64(cap(into)), limit+1)])
		into = into[:len(into)+n]
		switch {
		case err == io.EOF && int64(len(into)) <= limit:
			return into, nil
		case err != nil && err != io.EOF: // readers return it as it is
			return into, err
		}
	}
	return into, errLonger
}
