//go:build unix

package load

import (
	"syscall"
	"time"
)

// ProcessorTime is how long this process has been running on processors; 0 where that is not known.
func ProcessorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
