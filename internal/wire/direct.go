package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/crdconform/crdconform/contract"
)

// direct is a transport for HTTP/1.1 in which the goroutine that sends a request reads the response as well. In net/http three take
// part, and waking each other costs them more than all else that a short request takes. Requests are written and responses parsed by
// net/http's own functions (or recognised as what these have parsed, see usual), so that the same is sent, and the same is wrong, as with
// API servers. Differences are only in what may happen on a connection between two requests: see link.ask.
type direct struct {
	pool pool

	head head // of each request: all are the same but for their bodies
}

func newDirect(c *Client) *direct {
	d := &direct{}
	d.pool.dial = func(ctx context.Context, under func(net.Conn) net.Conn) (*tls.Conn, error) {
		return c.dial(ctx, c.service, under)
	}
	d.head, _ = headOf(c.bare(http.MethodPost, c.header)) // it is written to memory, so it cannot fail
	return d
}

// RoundTrip sends a request of the client.
func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	for {
		l, err := d.pool.get(ctx)
		if err != nil {
			return nil, err
		}
		a := &answer{link: l, pool: &d.pool, ctx: ctx, request: r, head: d.head}
		response, err := a.exchange()
		if err == nil {
			return response, nil
		}
		a.end()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		stale := staleError{}
		switch {
		case !errors.As(err, &stale):
			return nil, err
		case !l.old: // so asking by another one would be no better
			return nil, stale.error
		}
	}
}

// head is the beginning of a request, up to the body: the number of its bytes stands between the parts.
type head struct{ before, after []byte }

// headOf has net/http write a request without its body. Its transport adds Accept-Encoding in the end.
func headOf(r *http.Request) (head, error) {
	r.Body, r.ContentLength = http.NoBody, 0
	var written bytes.Buffer
	if err := r.Write(&written); err != nil {
		return head{}, err
	}
	const length, accept = "\r\nContent-Length: ", "Accept-Encoding: gzip\r\n\r\n"
	all := append(bytes.TrimSuffix(written.Bytes(), []byte("\r\n")), accept...)
	before, after, _ := bytes.Cut(all, []byte(length+"0"))
	return head{append(bytes.Clone(before), length...), after}, nil
}

// write writes the head of a request into memory.
func (h head) write(into []byte, r *http.Request) []byte {
	into = strconv.AppendInt(append(into[:0], h.before...), r.ContentLength, 10)
	return append(into, h.after...)
}

// answer is the answer to a request: the body of the response, and what becomes of the connection behind it.
type answer struct {
	*link

	pool    *pool
	ctx     context.Context //nolint:containedctx // it is the request's, which the body belongs to
	request *http.Request
	head    head
	body    io.Reader  // of the response
	writing chan error // gets the outcome of writing a long request; nil for a short one
	keep    bool       // whether the connection can be used again
	ended   bool
}

// exchange sends the request and reads the head of the response.
func (a *answer) exchange() (*http.Response, error) {
	if err := a.ask(a); err != nil {
		return nil, err
	}
	response, err := a.receive(a.request)
	if err != nil {
		return nil, err
	}
	a.keep = !response.Close && response.StatusCode > 199
	a.body, response.Body = response.Body, a
	if isSwitch(response) {
		a.body = a.from
	}
	if encoding := response.Header["Content-Encoding"]; response.ContentLength != 0 && len(encoding) > 0 && strings.EqualFold(encoding[0], "gzip") {
		response.Header.Del("Content-Encoding")
		response.Header.Del("Content-Length")
		response.ContentLength, response.Uncompressed = -1, true
		response.Body = &unzipped{from: a}
	}
	return response, nil
}

// send sends the request.
func (a *answer) send() error {
	a.out = a.head.write(a.out, a.request)
	if a.request.ContentLength > joined {
		// It is written meanwhile, since a webhook may answer before it has read all.
		a.writing = make(chan error, 1)
		go func() { a.writing <- a.write(a.request.Body) }()
		return nil
	}
	var err error
	if a.out, err = readUntil(a.request.Body, a.out, math.MaxInt64-1); err != nil {
		return err
	}
	return a.write(nil)
}

// isSwitch reports whether what follows is no HTTP any more.
func isSwitch(r *http.Response) bool {
	return r.StatusCode == http.StatusSwitchingProtocols && r.Header.Get("Upgrade") != "" &&
		httpguts.HeaderValuesContainsToken(r.Header["Connection"], "Upgrade")
}

// Read reads the body. Behind its end, the connection is there for the next request.
func (a *answer) Read(into []byte) (int, error) {
	if a.ended { // others may use the connection
		return 0, io.EOF
	}
	n, err := a.body.Read(into)
	switch {
	case err == nil:
	case err != io.EOF: //nolint:errorlint // readers return it as it is
		a.end()
		if a.ctx.Err() != nil {
			err = a.ctx.Err()
		}
	case a.keep && a.from.Buffered() > 0:
		a.end()
		err = a.unasked()
	default:
		if a.keep && a.written() {
			a.reuse()
		} else {
			a.end()
		}
	}
	return n, err
}

// Close breaks the connection off unless the body was read to its end.
func (a *answer) Close() error {
	a.end()
	return nil
}

// writtenWithin is how long a request may still be written after the response: the goroutine that has done it may have had no time to say so.
const writtenWithin = 50 * time.Millisecond

// written reports whether all of the request was written.
func (a *answer) written() bool {
	if a.writing == nil {
		return true
	}
	timer := time.NewTimer(writtenWithin)
	defer timer.Stop()
	select {
	case err := <-a.writing:
		return err == nil
	case <-timer.C:
		return false
	}
}

// end closes the connection, unless it is used no more.
func (a *answer) end() {
	if !a.ended {
		a.ended = true
		a.close()
	}
}

// reuse leaves the connection to other requests.
func (a *answer) reuse() {
	a.ended, a.old = true, true
	a.pool.put(a.link)
}

// unzipped is the body of a response, decompressed.
type unzipped struct {
	from *answer
	zip  *gzip.Reader
	err  error // why there is no zip
}

// Read reads from it.
func (u *unzipped) Read(into []byte) (int, error) {
	if u.zip == nil && u.err == nil {
		u.zip, u.err = gzip.NewReader(u.from)
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.zip.Read(into)
}

// Close closes what it is read from.
func (u *unzipped) Close() error { return u.from.Close() }

// unaskedError is what a webhook sends without having been asked.
type unaskedError struct{ beginning string }

func (e unaskedError) Error() string {
	return "it sent what no request asked for (" + strconv.Quote(e.beginning) + "), which API servers may take for the response to another request"
}

// receive reads the head of the response, behind any interim ones.
func (l *link) receive(r *http.Request) (*http.Response, error) {
	if response := l.usual.response(l.from, r); response != nil {
		l.left = math.MaxInt64
		return response, nil
	}
	for {
		l.usual.see(l.from)
		response, err := http.ReadResponse(l.from, r)
		switch {
		case err != nil && l.left <= 0:
			return nil, contract.HeaderError{}
		case err != nil:
			return nil, err
		case response.StatusCode > 199 || response.StatusCode == http.StatusSwitchingProtocols:
			l.usual.learn(response)
			l.left = math.MaxInt64
			return response, nil
		}
	}
}
