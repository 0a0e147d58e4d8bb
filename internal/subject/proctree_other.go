//go:build !linux

package subject

import (
	"errors"
	"syscall"
)

// procTree is a program with all that it started and that stayed in its process group.
type procTree struct {
	leader int    // ID of the first process and of its group
	marker string // NAME=value
}

// alive reports whether anything of the tree runs.
func (t procTree) alive() bool { return syscall.Kill(-t.leader, 0) == nil }

// signal sends a signal to all of the tree.
func (t procTree) signal(signal syscall.Signal) {
	syscall.Kill(-t.leader, signal) //nolint:errcheck // it fails when all are gone
}

func (t procTree) memory() (uint64, error) {
	return 0, errors.New("memory of the webhook program: it is known only on Linux")
}
