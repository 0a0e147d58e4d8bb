//go:build unix && !linux

package process

import (
	"errors"
	"syscall"
)

// tree is a program with all that it started and that stayed in its process group.
type tree struct {
	leader int    // ID of the first process and of its group
	marker string // NAME=value
}

// ownGroup puts a command into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killWithParent does nothing: the system has no such thing.
func killWithParent(*syscall.SysProcAttr) {}

// alive reports whether anything of the tree runs.
func (t tree) alive() bool { return syscall.Kill(-t.leader, 0) == nil }

// signal sends a signal to all of the tree.
func (t tree) signal(signal syscall.Signal) {
	syscall.Kill(-t.leader, signal) //nolint:errcheck // it fails when all are gone
}

// Started says when a process was started, in the words of the system where it has any, and whether the process runs.
func Started(id int) (when string, running bool) {
	err := syscall.Kill(id, 0)
	return "", err == nil || errors.Is(err, syscall.EPERM)
}
