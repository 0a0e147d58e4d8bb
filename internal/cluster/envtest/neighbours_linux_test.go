package envtest

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/neighbours"
)

// TestNeighbours looks for what another user of the machine could connect to, and whether keys can be read.
func TestNeighbours(t *testing.T) {
	options := inAssets(t)
	before := neighbours.Listening(t, os.Getpid())
	c := running(t, options)
	neighbours.Reach(t, os.Getpid(), before)
	for name, want := range map[string][2]int{etcdName: {1, 2}, apiServerName: {0, 1}} {
		note, err := os.ReadFile(c.guard.noteOf(name))
		if err != nil {
			t.Fatal(err)
		}
		process, err := strconv.Atoi(strings.TrimSpace(string(note)))
		if err != nil {
			t.Fatal(err)
		}
		if sockets, ports := neighbours.Reach(t, process, nil); [2]int{sockets, ports} != want {
			t.Errorf("%s listens at %d sockets and %d ports, want %d", name, sockets, ports, want)
		}
	}
	if info, err := os.Stat(c.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder with the keys has the mode %v, %v", info, err)
	}
}
