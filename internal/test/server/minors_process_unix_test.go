//go:build unix

package server_test

import (
	"syscall"
)

// processRuns reports whether a process is there.
func processRuns(pid int) bool { return syscall.Kill(pid, 0) == nil }
