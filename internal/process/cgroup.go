package process

import "fmt"

// CgroupSeen is what became of the programs in a group.
type CgroupSeen struct {
	Reached bool // the limit, so that the kernel had to make room
	Killed  int  // processes that the kernel killed, as there was no room to be made
}

// NoCgroupError says why no group can be made.
type NoCgroupError struct{ Reason string }

// Error returns the reason.
func (e NoCgroupError) Error() string { return "no cgroup with a memory limit: " + e.Reason }

func unavailable(format string, arguments ...any) error {
	return NoCgroupError{fmt.Sprintf(format, arguments...)}
}
