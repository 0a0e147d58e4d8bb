package embedded

import (
	"os"
	"testing"

	"github.com/crdconform/crdconform/internal/test/neighbours"
)

// TestNeighbours looks for what another user of the machine could connect to.
func TestNeighbours(t *testing.T) {
	before := neighbours.Listening(t, os.Getpid())
	start(t, Options{})
	if sockets, ports := neighbours.Reach(t, os.Getpid(), before); sockets != 1 || ports != 1 {
		t.Errorf("it listens at %d sockets and %d ports, want one each", sockets, ports)
	}
}
