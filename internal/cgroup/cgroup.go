// Package cgroup limits the memory of programs by cgroups of version 1 or 2, where this process may make one.
package cgroup

import "fmt"

// Seen is what became of the programs in a group.
type Seen struct {
	Reached bool // the limit, so that the kernel had to make room
	Killed  int  // processes that the kernel killed, as there was no room to be made
}

// UnavailableError says why no group can be made.
type UnavailableError struct{ Reason string }

// Error returns the reason.
func (e UnavailableError) Error() string { return "no cgroup with a memory limit: " + e.Reason }

func unavailable(format string, arguments ...any) error {
	return UnavailableError{fmt.Sprintf(format, arguments...)}
}
