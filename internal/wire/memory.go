package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
)

const (
	// joined is up to which size the parts of a request are copied into one, in bytes. Of what lies in one place net/http sends
	// the beginning along with the header, as it does for API servers.
	joined = 32 << 10

	// trusted is how much memory is made ready because of a Content-Length, in bytes. What is longer gets it as it comes.
	trusted = 4 << 20
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
	if len(p) == 1 {
		return io.NopCloser(bytes.NewReader(p[0])), nil
	}
	readers := make([]io.Reader, len(p))
	for i := range p {
		readers[i] = bytes.NewReader(p[i])
	}
	return io.NopCloser(io.MultiReader(readers...)), nil
}

// request returns a request for one exchange. It shares the URL and the header with others, which net/http does not change.
func (c *Client) request(ctx context.Context, method string, header http.Header, body payload) *http.Request {
	reader, _ := body.reader()
	request := &http.Request{
		Method: method, URL: c.url, Host: c.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: reader, GetBody: body.reader, ContentLength: int64(body.size()),
	}
	return request.WithContext(ctx)
}

// readAll reads the body of a response into the memory of into, or more if that is too small. It stops with an error behind so
// many bytes. What it has read until there was an error, it returns.
func readAll(response *http.Response, into []byte, limit int64) ([]byte, error) {
	// There is one byte more than should be needed, to find the end without growing.
	into = slices.Grow(into[:0], int(min(max(response.ContentLength, 511), limit, trusted))+1)
	for {
		if len(into) == cap(into) {
			into = slices.Grow(into, 1)
		}
		n, err := response.Body.Read(into[len(into):min(int64(cap(into)), limit+1)])
		into = into[:len(into)+n]
		switch {
		case int64(len(into)) > limit:
			return into, fmt.Errorf("the response is longer than %d MiB", limit>>20)
		case err == io.EOF:
			return into, nil
		case err != nil:
			return into, err
		}
	}
}
