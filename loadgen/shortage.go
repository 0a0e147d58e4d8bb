package loadgen

import (
	"errors"
	"net"
	"strings"
	"syscall"
)

// shortages are the errors by which a system says that the sender has run out of something.
var shortages = []syscall.Errno{
	syscall.EMFILE,        // file descriptors of the process
	syscall.ENFILE,        // file descriptors of the system
	syscall.EADDRNOTAVAIL, // local ports
	syscall.EADDRINUSE,    // local ports, by another name
	syscall.ENOBUFS,       // memory for sockets
	syscall.ENOMEM,        // memory
}

// shortage says what the generator lacked when an exchange failed for want of it, in the words of the system. It is empty
// for errors that are none of the generator's own.
func shortage(err error) string {
	var dns *net.DNSError
	errors.As(err, &dns)
	for _, errno := range shortages {
		// A lookup keeps no more of the error than its text.
		if errors.Is(err, errno) || dns != nil && strings.HasSuffix(dns.Err, errno.Error()) {
			return errno.Error()
		}
	}
	return ""
}
