//go:build !unix

package load

import "time"

// ProcessorTime is how long this process has been running on processors; 0 where that is not known.
func ProcessorTime() time.Duration { return 0 }
