package load

import (
	"errors"
	"net"
	"strings"
	"syscall"
)

// shortages are the errors by which a system says that the sender has run out of something, and what to do about each.
var shortages = []struct {
	errno  syscall.Errno
	remedy string
}{
	{syscall.EMFILE, "raise the limit of open files (ulimit -n), allow fewer requests in flight"},
	{syscall.ENFILE, "raise the limit of open files of the whole system, allow fewer requests in flight"},
	{syscall.EADDRNOTAVAIL, ports},
	{syscall.EADDRINUSE, ports},
	{syscall.ENOBUFS, memory},
	{syscall.ENOMEM, memory},
}

const (
	ports  = "have the webhook keep its connections open, since local ports ran out"
	memory = "give the machine more memory, send smaller batches"
)

// shortage returns what the generator lacked if an exchange failed because of that, in the words of the system. It is empty for
// errors that are not the generator's own.
func shortage(err error) string {
	if err == nil {
		return ""
	}
	var dns *net.DNSError
	errors.As(err, &dns)
	for _, lacking := range shortages {
		errno := lacking.errno
		// A lookup keeps no more of the error than its text.
		if errors.Is(err, errno) || dns != nil && strings.HasSuffix(dns.Err, errno.Error()) {
			return errno.Error()
		}
	}
	return ""
}
