package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/contract"
)

// link is a connection of a direct transport. One goroutine uses it at a time.
type link struct {
	conn  *tls.Conn
	plain *socket       // below it
	from  *bufio.Reader // reads from the link
	left  int64         // how many bytes more may be read
	out   []byte        // memory for requests

	within context.Context //nolint:containedctx // it is that of the last request, which the next one mostly has too
	stop   func() bool     // has its end no longer interrupt the link
}

func newLink(conn *tls.Conn, plain *socket) *link {
	l := &link{conn: conn, plain: plain}
	l.from = bufio.NewReader(l)
	return l
}

// Read reads from the connection what may be read.
func (l *link) Read(into []byte) (int, error) {
	if l.left <= 0 {
		return 0, contract.HeaderError{}
	}
	n, err := l.conn.Read(into[:min(int64(len(into)), l.left)])
	l.left -= int64(n)
	return n, err
}

// send sends what there is of a request, and a long body behind it.
func (l *link) send(body io.Reader) error {
	if _, err := l.conn.Write(l.out); err != nil || body == nil {
		return err
	}
	_, err := io.Copy(l.conn, body)
	return err
}

// begin has reading and writing end when the context does. It fails if that of the request before has ended.
func (l *link) begin(ctx context.Context) error { //nolint:contextcheck // what a term is within is the caller's
	end, _ := ctx.Deadline()
	if t, is := ctx.(*term); is {
		ctx = t.Context // the end is known
	}
	if l.within != ctx {
		if l.stop != nil && !l.stop() {
			return l.within.Err()
		}
		l.within, l.stop = ctx, context.AfterFunc(ctx, l.interrupt)
	}
	return errors.Join(l.conn.SetDeadline(end), ctx.Err()) // in this order: it may have been interrupted before
}

// interrupt ends reading and writing.
func (l *link) interrupt() { _ = l.conn.SetDeadline(time.Unix(1, 0)) } // it fails if the connection is closed already

// close closes the connection.
func (l *link) close() {
	if l.stop != nil {
		l.stop()
	}
	_ = l.conn.Close() // there is nothing to be lost
}

// quiet looks at an idle connection before a request is sent. It returns io.EOF or another error if the webhook has closed it, and
// unaskedError if the webhook has sent something. Net/http drops such a connection if it notices in time, and takes what was sent for
// the response to the next request otherwise. Here that is a failure of the webhook every time.
func (l *link) quiet() error {
	l.plain.peeking, l.left = true, contract.MaxHeader
	_, err := l.from.Peek(1)
	l.plain.peeking = false
	switch {
	case err == nil:
		return l.unasked()
	case errors.Is(err, errSilent):
		return nil
	}
	return err
}

// unasked returns what the webhook has sent without being asked. A notice that it has waited for too long, as some send before they
// close a connection, is as good as its end.
func (l *link) unasked() error {
	const shown = 60
	sent, _ := l.from.Peek(min(l.from.Buffered(), shown))
	text := string(sent)
	if strings.HasPrefix(text, "HTTP/1.") && strings.HasPrefix(text[min(len("HTTP/1.1"), len(text)):], " 408") {
		return io.EOF
	}
	return unaskedError{text}
}

// socket is a connection that can be read without waiting.
type socket struct {
	net.Conn

	raw     syscall.RawConn // nil where that cannot be had: then there seems to be nothing
	peeking bool            // whether reading does not wait
}

func newSocket(plain net.Conn) *socket {
	s := &socket{Conn: plain}
	if raw, ok := plain.(syscall.Conn); ok {
		s.raw, _ = raw.SyscallConn() // it fails if the connection is closed already
	}
	return s
}

// Read reads from the connection, and returns errSilent if it would have to wait but must not.
func (s *socket) Read(into []byte) (int, error) {
	if !s.peeking {
		return s.Conn.Read(into)
	}
	if s.raw == nil {
		return 0, errSilent
	}
	return s.peek(into)
}

// silence is that there is nothing to be read. To crypto/tls it is a passing trouble.
type silence struct{}

var errSilent net.Error = silence{}

func (silence) Error() string   { return "nothing was sent" }
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }
