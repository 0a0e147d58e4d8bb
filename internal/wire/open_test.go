package wire

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"testing"
	"time"
)

// doorman is a webhook that counts, and has the connections that nobody has sent a request on.
type doorman struct {
	connections, requests atomic.Int64
	fresh                 chan net.Conn
}

func newDoorman(t *testing.T, http2 bool) (*doorman, *Sender) {
	t.Helper()
	d := &doorman{fresh: make(chan net.Conn, 100)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		d.requests.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	server.EnableHTTP2 = http2
	server.Config.ConnState = func(connection net.Conn, state http.ConnState) {
		if state == http.StateNew {
			d.connections.Add(1)
			d.fresh <- connection
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return d, connectSender(t, Endpoint{URL: server.URL, CA: ca, HTTP2: http2})
}

// TestOpen opens connections, sends nothing by them, and uses them for the requests to come.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		d, sender := newDoorman(t, http2)
		const opened = 5
		handshakes := make(chan error, 2*opened)
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) { handshakes <- err }})
		sender.Open(ctx, opened)
		if d.requests.Load() != 0 || d.connections.Load() != opened {
			t.Errorf("HTTP/2 %t: %d requests on %d connections, want none on %d", http2, d.requests.Load(), d.connections.Load(), opened)
		}
		for range opened { // net/http reports a handshake after the connection is there
			select {
			case err := <-handshakes:
				if err != nil {
					t.Errorf("HTTP/2 %t: %v", http2, err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("HTTP/2 %t: fewer than %d handshakes were reported", http2, opened)
			}
		}
		for range 20 {
			if response := sender.Send(t.Context(), nil, []byte("request")); response.Err != nil || response.Status != http.StatusOK {
				t.Errorf("HTTP/2 %t: %+v", http2, response)
			}
		}
		// One may be open, and not yet known to be idle, when the first request is sent.
		if d.requests.Load() != 20 || d.connections.Load() > opened+1 || len(handshakes) > 0 {
			t.Errorf("HTTP/2 %t: %d requests on %d connections, and %d handshakes too many were reported", http2, d.requests.Load(), d.connections.Load(), len(handshakes))
		}
	}
}

// TestOpenAnew sends nothing by a connection that is there already.
func TestOpenAnew(t *testing.T) {
	t.Parallel()
	d, sender := newDoorman(t, false)
	if response := sender.Send(t.Context(), nil, []byte("request")); response.Err != nil {
		t.Fatal(response.Err)
	}
	sender.Open(t.Context(), 3)
	if response := sender.Send(t.Context(), nil, []byte("request")); response.Err != nil {
		t.Error(response.Err)
	}
	if n := d.requests.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// TestOpenedAndClosed has a webhook that closes what is idle before the first request. The request is sent by another connection, as
// those of API servers are.
func TestOpenedAndClosed(t *testing.T) {
	t.Parallel()
	d, sender := newDoorman(t, false)
	const opened = 3
	sender.Open(t.Context(), opened)
	for range opened {
		connection, ok := (<-d.fresh).(*tls.Conn)
		if !ok {
			t.Fatal("the connection is not one of TLS")
		}
		if err := errors.Join(connection.HandshakeContext(t.Context()), connection.CloseWrite()); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range sender.direct.pool.idle {
		l.left = 1 << 20
		if _, err := l.from.Peek(1); !errors.Is(err, io.EOF) { // the end has arrived
			t.Fatal(err)
		}
	}
	if response := sender.Send(t.Context(), nil, []byte("request")); response.Err != nil || response.Status != http.StatusOK {
		t.Errorf("got %+v", response)
	}
}

// TestOpenGivesUp returns when the context ends, though no handshake does, and Close ends those that are under way.
func TestOpenGivesUp(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const wanted = 3
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, wanted)
	go func() {
		for i := range wanted {
			connection, err := listener.Accept()
			if err != nil {
				ended <- err
				continue
			}
			if i == wanted-1 {
				cancel()
			}
			go func() {
				defer connection.Close()
				_, err := io.Copy(io.Discard, connection)
				ended <- err
			}()
		}
	}()
	sender := connectSender(t, Endpoint{URL: "https://" + listener.Addr().String()})
	sender.Open(ctx, wanted)
	sender.Close()
	for range wanted {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	nowhere := connectSender(t, Endpoint{URL: "https://127.0.0.1:1/"})
	nowhere.Open(t.Context(), wanted) // returns, though nobody listens
	nowhere.Open(ctx, wanted)         // and when it is too late
}
