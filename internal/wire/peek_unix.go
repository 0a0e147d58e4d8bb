//go:build unix

package wire

import (
	"io"
	"syscall"
)

// peek reads what is there.
func (s *socket) peek(into []byte) (n int, err error) {
	ended := s.raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), into)
		return true
	})
	switch {
	case ended != nil:
		return 0, ended
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return 0, errSilent
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
