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
		n, err := syscall.Read(int(fd), s.into)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN && s.question == nil:
			return false
		case err == syscall.EAGAIN:
			s.n, s.err = 0, s.ask()
			return s.err != nil
		case err != nil:
			n, err = 0, &net.OpError{Op: "read", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError("read", err)}
		case n == 0:
			err = io.EOF
		}
		s.n, s.err = n, err
		return true
	}
}
