//go:build unix

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
)

// listens is whether what has come can be read without waiting.
const listens = true

// listen reads what is there, and sends the question if nothing is. It reports whether it has done: if not, there is something to wait for.
func (s *socket) listen(fd uintptr) bool {
	for {
		s.n, s.err = syscall.Read(int(fd), s.into)
		switch {
		case s.err == syscall.EINTR:
			continue
		case s.err == syscall.EAGAIN && s.question == nil:
			return false
		case s.err == syscall.EAGAIN && s.ask():
			return false
		case s.err == syscall.EAGAIN:
			s.n, s.err = 0, s.failed
		case s.err != nil:
			s.n, s.err = 0, &net.OpError{Op: "read", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError("read", s.err)}
		case s.n == 0:
			s.err = io.EOF
		}
		return true
	}
}
