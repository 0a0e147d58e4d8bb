// Package loopback knows which hosts are the machine itself.
package loopback

import (
	"net/netip"
	"strings"
)

// Is reports whether a host name or IP address is that of the machine itself.
func Is(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}
