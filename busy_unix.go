//go:build unix

package crdconform

import (
	"syscall"
	"time"
)

// busy is the processor time that this process has taken so far.
func busy() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
