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
	usual usual         // head of a response
	left  int64         // how many bytes more may be read
	out   []byte        // memory for requests

	old bool // whether it ever was used or idle, so that the webhook may rightly have closed it

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

// write writes what there is of a request, and a long body behind it.
func (l *link) write(body io.Reader) error {
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

// question is what is sent by a connection.
type question interface{ send() error }

// ask sends something, and returns when the first byte of the answer is there. It sends nothing, and fails, if the webhook has closed the
// connection (staleError) or has sent something before (unaskedError). Net/http drops such a connection if it notices in time, and takes
// what was sent for the response to the next request otherwise. Here that is a failure of the webhook whenever a whole record of TLS has
// come and, where connections cannot be listened to, whenever it came along with the answer before.
func (l *link) ask(q question) error {
	l.plain.question, l.left = q, contract.MaxHeader
	_, err := l.from.Peek(1)
	asked := l.plain.question == nil
	l.plain.question = nil
	switch {
	case asked:
		return err
	case err == nil:
		if err = l.unasked(); err != io.EOF { //nolint:errorlint // it is returned as it is
			return err
		}
	}
	return staleError{err}
}

// staleError is that a connection was of no use any more when it was to be used again.
type staleError struct{ error }

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

// socket is a connection that sends a question when it is listened to: only then, what came before can be separated from the answer,
// and nothing is read in vain.
type socket struct {
	net.Conn

	raw      syscall.RawConn // nil where reading without waiting is not to be had: then nothing comes before a question
	question question        // nil when it is sent

	attempt func(fd uintptr) bool // is s.listen
	into    []byte                // what is read, and how that ended
	n       int
	err     error
}

func newSocket(plain net.Conn) *socket {
	s := &socket{Conn: plain}
	s.attempt = s.listen
	if raw, ok := plain.(syscall.Conn); ok && listens {
		s.raw, _ = raw.SyscallConn() // connections of TCP have one
	}
	return s
}

// Read reads from the connection. If nothing is there, it sends the question first, if there is one.
func (s *socket) Read(into []byte) (int, error) {
	switch {
	case s.question == nil:
		return s.Conn.Read(into)
	case s.raw == nil:
		if err := s.ask(); err != nil {
			return 0, err
		}
		return s.Conn.Read(into)
	}
	s.into = into
	defer func() { s.into = nil }()
	if err := s.raw.Read(s.attempt); err != nil {
		return 0, err
	}
	return s.n, s.err
}

// ask sends the question.
func (s *socket) ask() error {
	q := s.question
	s.question = nil
	return q.send()
}
