//go:build !unix

package process

import (
	"os"
	"syscall"
)

// tree is a process alone: what it starts is not found on this system.
type tree struct {
	leader int    // its ID
	marker string // NAME=value
}

func ownGroup() *syscall.SysProcAttr { return nil }

// killWithParent does nothing: the system has no such thing.
func killWithParent(*syscall.SysProcAttr) {}

// alive is false: the caller has waited for the process.
func (t tree) alive() bool { return false }

// signal sends a signal to the process. Only SIGKILL is known here.
func (t tree) signal(signal syscall.Signal) {
	if p, err := os.FindProcess(t.leader); err == nil {
		p.Signal(signal) //nolint:errcheck // it fails when it is gone
	}
}

// Started says when a process was started, in the words of the system where it has any, and whether the process runs.
func Started(id int) (when string, running bool) {
	p, err := os.FindProcess(id)
	if err != nil {
		return "", false
	}
	_ = p.Release() // nothing is done with it
	return "", true
}
