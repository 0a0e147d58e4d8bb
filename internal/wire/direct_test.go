package wire

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// scripted is a webhook that serves each connection with a function. Its requests are what came, byte by byte.
func scripted(t *testing.T, serve func(nth int, c *tls.Conn, from *bufio.Reader)) Endpoint {
	t.Helper()
	authority := newAuthority(t)
	pair, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for nth := 1; ; nth++ {
			plain, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer plain.Close()
				c := tls.Server(&held{Conn: plain}, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
				serve(nth, c, bufio.NewReader(c))
			}()
		}
	}()
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return Endpoint{URL: "https://" + listener.Addr().String() + "/convert", CA: authority.PEM(), Timeout: time.Minute}
}

// held is a connection that can hold back what is written, so that it comes all at once.
type held struct {
	net.Conn

	holds bool
	back  []byte
}

func (h *held) Write(text []byte) (int, error) {
	if h.holds {
		h.back = append(h.back, text...)
		return len(text), nil
	}
	return h.Conn.Write(text)
}

// asked reads a request, and returns how it came.
func asked(from *bufio.Reader) (string, error) {
	var read bytes.Buffer
	request, err := http.ReadRequest(bufio.NewReaderSize(io.TeeReader(from, &read), 1))
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, request.Body)
	return read.String(), err
}

const answered = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

// TestSameRequests has a sender send what net/http sends, byte by byte.
func TestSameRequests(t *testing.T) {
	t.Parallel()
	came := make(chan string, 1)
	e := scripted(t, func(_ int, c *tls.Conn, from *bufio.Reader) {
		for {
			request, err := asked(from)
			if err != nil {
				return
			}
			came <- request
			if _, err := io.WriteString(c, answered); err != nil {
				return
			}
		}
	})
	client, sender := connect(t, e), connectSender(t, e)
	for name, body := range map[string]string{"none": "", "short": "{}", "long": strings.Repeat("x", 3*joined)} {
		if response := client.Send(t.Context(), []byte(body)); response.Err != nil {
			t.Fatal(name, response.Err)
		}
		want := <-came
		if response := sender.Send(t.Context(), nil, []byte(body[:len(body)/2]), []byte(body[len(body)/2:])); response.Err != nil {
			t.Fatal(name, response.Err)
		}
		if got := <-came; got != want || !strings.HasSuffix(got, body) {
			t.Errorf("%s: got %.500q, want %.500q", name, got, want)
		}
	}
}

// TestConnectionsAreUsedAgain has answers after which a connection can be used again, and others.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer string
		again  bool
	}{
		"a length":         {answered, true},
		"chunks":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", true},
		"a trailer":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\n{}\r\n0\r\nX: x\r\n\r\n", true},
		"early hints":      {"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + answered, true},
		"no body":          {"HTTP/1.1 204 No Content\r\n\r\n", true},
		"close":            {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", false},
		"HTTP/1.0":         {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", false},
		"another protocol": {"HTTP/1.1 101 Switching Protocols\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const times = 3
			connections := make(chan int, times)
			e := scripted(t, func(nth int, c *tls.Conn, from *bufio.Reader) {
				for {
					if _, err := asked(from); err != nil {
						return
					}
					connections <- nth
					if _, err := io.WriteString(c, test.answer); err != nil {
						return
					}
				}
			})
			sender := connectSender(t, e)
			for n := range times {
				if response := sender.Send(t.Context(), nil, []byte("{}")); response.Err != nil {
					t.Fatal(response.Err)
				}
				want := 1
				if !test.again {
					want = n + 1
				}
				if got := <-connections; got != want {
					t.Errorf("request %d came on connection %d, want %d", n+1, got, want)
				}
			}
		})
	}
}

// TestNoticeWithAnswer has a webhook send along with an answer that it waited too long, which is as good as its end.
func TestNoticeWithAnswer(t *testing.T) {
	t.Parallel()
	e := scripted(t, func(_ int, c *tls.Conn, from *bufio.Reader) {
		if _, err := asked(from); err == nil {
			_, _ = io.WriteString(c, answered+"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
		}
	})
	sender := connectSender(t, e)
	for range 2 {
		if response := sender.Send(t.Context(), nil, []byte("{}")); response.Err != nil || string(response.Body) != "{}" {
			t.Errorf("got %s, %v", response.Body, response.Err)
		}
	}
}

// TestEndsWithAnswer has a webhook close each connection along with its answer, without saying so before, while another request waits for
// that connection, as the handshakes of others take long. It is sent by yet another one.
func TestEndsWithAnswer(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{})
	e := scripted(t, func(nth int, c *tls.Conn, from *bufio.Reader) {
		if nth == 2 { // the second request waits for this one, and then takes the first
			close(waits)
			_, _ = io.Copy(io.Discard, c.NetConn())
			return
		}
		if _, err := asked(from); err != nil {
			return
		}
		if nth == 1 {
			<-waits
		}
		plain, ok := c.NetConn().(*held)
		if !ok {
			return
		}
		plain.holds = true
		_, _ = io.WriteString(c, answered)
		_ = c.CloseWrite() // lets nothing be written any more
		_ = plain.SetWriteDeadline(time.Time{})
		_, _ = plain.Conn.Write(plain.back)
		_, _ = io.Copy(io.Discard, plain)
	})
	sender := connectSender(t, e)
	done := make(chan error)
	for range 2 {
		go func() { done <- sender.Send(t.Context(), nil, []byte("{}")).Err }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	sender.Close() // which ends the handshake
}

// TestWithoutListening has connections that cannot be listened to, as on Windows.
func TestWithoutListening(t *testing.T) {
	t.Parallel()
	e := scripted(t, func(_ int, c *tls.Conn, from *bufio.Reader) {
		for {
			if _, err := asked(from); err != nil {
				return
			}
			if _, err := io.WriteString(c, answered); err != nil {
				return
			}
		}
	})
	sender := connectSender(t, e)
	sender.Open(t.Context(), 1)
	for _, size := range []int{0, 1, joined, joined + 1, 5 << 20} {
		for _, l := range sender.direct.pool.idle {
			l.plain.raw = nil
		}
		if response := sender.Send(t.Context(), nil, bytes.Repeat([]byte("x"), size)); response.Err != nil || string(response.Body) != "{}" {
			t.Errorf("%d bytes: got %s, %v", size, response.Body, response.Err)
		}
	}
}

// TestUnasked has webhooks send what nobody asked for while a connection is idle.
func TestUnasked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sends, err string
	}{
		"a response":              {answered, `it sent what no request asked for ("HTTP/1.1 200 OK`},
		"a line end":              {"\r\n", "it sent what no request asked for"},
		"that it waited too long": {"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := scripted(t, func(nth int, c *tls.Conn, from *bufio.Reader) {
				for {
					if _, err := asked(from); err != nil {
						return
					}
					more := ""
					if nth == 1 {
						more = test.sends
					}
					// In records of their own, the first of which is all that the sender must have read of this.
					for _, part := range []string{answered, more} {
						if _, err := io.WriteString(c, part); err != nil {
							return
						}
					}
				}
			})
			sender := connectSender(t, e)
			response := sender.Send(t.Context(), nil, []byte("{}"))
			if idle := sender.direct.pool.idle; len(idle) > 0 { // unless it was noticed at once
				l := idle[0]
				l.plain.SetReadDeadline(time.Now().Add(time.Minute))
				l.left = 1 << 20
				if _, err := l.from.Peek(1); err != nil { // what was sent has arrived
					t.Fatal(err)
				}
				response = sender.Send(t.Context(), nil, []byte("{}"))
			}
			if got := fmt.Sprint(response.Err); test.err == "" && response.Err != nil || !strings.Contains(got, test.err) {
				t.Errorf("got %s, want something with %q", got, test.err)
			}
			if response = sender.Send(t.Context(), nil, []byte("{}")); response.Err != nil || string(response.Body) != "{}" {
				t.Errorf("then, on another connection, got %s, %v", response.Body, response.Err)
			}
		})
	}
}

// TestNeverAnswered has a webhook that ends each connection as soon as it is open. That is its failure, and no reason to try for ever.
func TestNeverAnswered(t *testing.T) {
	t.Parallel()
	opened := make(chan struct{}, 100)
	e := scripted(t, func(_ int, c *tls.Conn, _ *bufio.Reader) {
		opened <- struct{}{}
		_ = c.HandshakeContext(t.Context()) // and it is closed
	})
	response := connectSender(t, e).Send(t.Context(), nil, []byte("{}"))
	if response.Err == nil || response.TimedOut || len(opened) != 1 {
		t.Errorf("got %+v by %d connections", response, len(opened))
	}
}

// TestEarlyAnswer has a webhook answer without reading a long request, as those do that refuse it for its length.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	e := scripted(t, func(_ int, c *tls.Conn, _ *bufio.Reader) {
		if _, err := io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}"); err == nil {
			<-left
		}
	})
	defer close(left)
	response := connectSender(t, e).Send(t.Context(), nil, bytes.Repeat([]byte("x"), 64<<20))
	if unasked := (unaskedError{}); response.Status != http.StatusRequestEntityTooLarge && !errors.As(response.Err, &unasked) {
		t.Errorf("got %+v", response)
	}
}

// TestWaitingForConnections has a request take a connection that becomes idle while another is being opened for it.
func TestWaitingForConnections(t *testing.T) {
	t.Parallel()
	first, second := make(chan struct{}), make(chan struct{})
	e := scripted(t, func(nth int, c *tls.Conn, from *bufio.Reader) {
		if nth > 1 {
			close(second)
			_, _ = io.Copy(io.Discard, c.NetConn()) // there is no handshake
			return
		}
		for {
			if _, err := asked(from); err != nil {
				return
			}
			select {
			case first <- struct{}{}:
				<-second
			case <-second:
			}
			if _, err := io.WriteString(c, answered); err != nil {
				return
			}
		}
	})
	sender := connectSender(t, e)
	done := make(chan error)
	for n := range 2 {
		go func() { done <- sender.Send(t.Context(), nil, []byte("{}")).Err }()
		if n == 0 {
			<-first
		}
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	sender.Close() // which ends the handshake
}
