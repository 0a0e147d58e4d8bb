//go:build !linux

package subject

import (
	"errors"
	"syscall"
)

// family is a program with all that it started and that stayed in its process group.
type family struct {
	leader int    // ID of the first process and of its group
	marker string // NAME=value
}

// alive tells whether anything of the family runs.
func (f family) alive() bool { return syscall.Kill(-f.leader, 0) == nil }

// signal sends a signal to all of the family.
func (f family) signal(signal syscall.Signal) {
	syscall.Kill(-f.leader, signal) //nolint:errcheck // it fails when all are gone
}

func (f family) memory() (uint64, error) {
	return 0, errors.New("memory of the webhook program: it is known on Linux only")
}
