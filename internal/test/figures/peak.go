package figures

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

// Peak watches the memory of a process until the function that it returns is called, which returns the most that it had, in KiB; 0 if that
// is not known. What the system says of a process that has ended would not do: it counts the memory of the process that started it, of
// which it was a copy.
func Peak(pid int) (ended func() int64) {
	held := regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		var peak int64
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for watching := true; watching; {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if found := held.FindSubmatch(text); err == nil && found != nil { // it has ended otherwise
				if now, err := strconv.ParseInt(string(found[1]), 10, 64); err == nil {
					peak = max(peak, now)
				}
			}
			select {
			case <-stop:
				watching = false
			case <-tick.C:
			}
		}
		most <- peak
	}()
	return func() int64 { close(stop); return <-most }
}
