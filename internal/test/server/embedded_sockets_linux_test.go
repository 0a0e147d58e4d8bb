package server_test

import (
	"os"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/test/neighbours"
)

// TestEmbeddedNeighbours looks for what another user of the machine could connect to.
func TestEmbeddedNeighbours(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	if !alone(t) {
		return
	}
	before := neighbours.Listening(t, os.Getpid())
	startEmbedded(t, embedded.Options{})
	if sockets, ports := neighbours.Reach(t, os.Getpid(), before); sockets != 1 || ports != 1 {
		t.Errorf("it listens at %d sockets and %d ports, want one each", sockets, ports)
	}
}
