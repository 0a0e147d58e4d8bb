// Package hostile has webhooks that answer with what hurts those who read it: bodies without end, compressed or not, deep nesting,
// headers without end, connections that break. They are for tests of whatever talks to a webhook.
package hostile

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// Server is a hostile webhook.
type Server struct {
	Name string

	// Says is what the verdict on it says to a request with managedFields, as a regular expression: Accepted if there is nothing
	// against the answer.
	Says string

	// SaysInTurn is the same where a sender of package wire asks over HTTP/1.1; empty if that is no different. It fails a webhook for what
	// it sends without being asked, which net/http passes over or takes for the next response, as it happens.
	SaysInTurn string

	answer func(*call)

	// frames answers in HTTP/2, in place of answer.
	frames func(*conversation)

	names  []string // more names in the certificate
	stalls bool     // says nothing, not even a handshake

	greeting string // what it sends before the request
}

// HTTP2 reports whether the server speaks HTTP/2 alone.
func (s Server) HTTP2() bool { return s.frames != nil }

// IsLate reports whether a client gives up on it, for it never answers completely.
func (s Server) IsLate() bool { return s.Says == late }

// Start serves it until the test is over, and returns its URL and the certificate of its authority, in PEM.
func (s Server) Start(tb testing.TB) (url string, ca []byte) {
	tb.Helper()
	authority, err := pki.NewAuthority("crdconform hostile")
	if err != nil {
		tb.Fatal(err)
	}
	pair, err := authority.Server(append([]string{"localhost", "127.0.0.1"}, s.names...)...)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if s.HTTP2() {
		config.NextProtos = []string{"h2"}
	}
	serving := &serving{server: s, url: "https://" + listener.Addr().String() + "/convert", open: map[net.Conn]bool{}}
	serving.running.Go(func() {
		for {
			plain, err := listener.Accept()
			if err != nil {
				return
			}
			serving.running.Go(func() { serving.serve(plain, tls.Server(plain, config)) })
		}
	})
	tb.Cleanup(func() {
		if err := listener.Close(); err != nil {
			tb.Error(err)
		}
		serving.end()
	})
	return serving.url, authority.PEM()
}

// serving is a server that runs.
type serving struct {
	server  Server
	url     string
	running sync.WaitGroup

	calls atomic.Int64

	mu    sync.Mutex
	open  map[net.Conn]bool
	ended bool
}

// serve answers the first request on a connection, and closes it.
func (s *serving) serve(plain net.Conn, secured *tls.Conn) {
	defer plain.Close()
	s.mu.Lock()
	ended := s.ended
	s.open[plain] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, plain)
	}()
	if ended {
		return
	}
	switch {
	case s.server.stalls:
		_, _ = io.Copy(io.Discard, plain) // until the client leaves
		return
	case s.server.HTTP2():
		s.converse(secured)
		return
	}
	if _, err := io.WriteString(secured, s.server.greeting); err != nil {
		return
	}
	from := bufio.NewReader(secured)
	request, err := http.ReadRequest(from)
	if err != nil {
		return // a handshake alone
	}
	s.server.answer(&call{serving: s, plain: plain, to: secured, from: from, request: request, nth: s.calls.Add(1)})
}

// end breaks all connections, and waits for those who serve them.
func (s *serving) end() {
	s.mu.Lock()
	s.ended = true
	for plain := range s.open {
		_ = plain.Close() // to break it is the point
	}
	s.mu.Unlock()
	s.running.Wait()
}

// call is a request to be answered on a connection of its own. Nobody cares whether writing succeeds: the client may have left.
type call struct {
	serving *serving
	plain   net.Conn
	to      *tls.Conn
	from    *bufio.Reader // what the client sends on it
	request *http.Request
	nth     int64  // of the requests to the server, from 1 on
	body    []byte // see read
	broken  bool   // whether the client has left
}

// read reads the body of the request.
func (c *call) read() []byte {
	if c.body == nil {
		body, err := io.ReadAll(c.request.Body)
		c.body, c.broken = body, err != nil
	}
	return c.body
}

// good is the answer of a correct webhook.
func (c *call) good() []byte {
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(c.request.Context(), http.MethodPost, "/", bytes.NewReader(c.read()))
	request.Header.Set("Content-Type", "application/json")
	webhook.Handler().ServeHTTP(recorder, request)
	return recorder.Body.Bytes()
}

// write writes something, and reports whether the client is still there.
func (c *call) write(parts ...string) bool {
	for _, part := range parts {
		if c.broken {
			return false
		}
		_, err := io.WriteString(c.to, part)
		c.broken = err != nil
	}
	return !c.broken
}

// repeat writes something until it is so many bytes, or the client has left.
func (c *call) repeat(what string, size int) {
	const most = 1 << 16
	times := max(1, most/len(what))
	chunk := string(bytes.Repeat([]byte(what), times))
	for written := 0; written < size && c.write(chunk); {
		written += len(chunk)
	}
}

// head writes the header of a response whose end is the end of the connection.
func (c *call) head(lines ...string) {
	c.read()
	c.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
	for _, line := range lines {
		c.write(line, "\r\n")
	}
	c.write("\r\n")
}

// finish ends a response as it ought to end.
func (c *call) finish() {
	err := errors.Join(c.to.CloseWrite())
	c.broken = c.broken || err != nil
}

// inside is the good answer, cut in two behind the first of something.
func (c *call) inside(after string) (before, behind string) {
	good := c.good()
	at := bytes.Index(good, []byte(after)) + len(after)
	return string(good[:at]), string(good[at:])
}

// Named returns the server of a name, and whether there is one.
func Named(name string) (Server, bool) {
	all := Servers()
	i := slices.IndexFunc(all, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return Server{}, false
	}
	return all[i], true
}
