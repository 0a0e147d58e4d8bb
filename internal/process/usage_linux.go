package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc, which is the same on all architectures that Go knows.
const tick = 10 * time.Millisecond

func (t tree) usage() (Usage, bool) {
	var sum Usage
	for _, member := range t.members() {
		used, found := usageOf(member.id)
		if !found {
			continue // it has ended meanwhile
		}
		sum.Resident, sum.Processor, sum.Processes = sum.Resident+used.Resident, sum.Processor+used.Processor, sum.Processes+1
	}
	return sum, sum.Processes > 0
}

// usageOf returns what a process uses.
func usageOf(id int) (Usage, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return Usage{}, false
	}
	// After the name: the 12th and 13th are ticks in user and in system mode, the 22nd is pages of memory.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return Usage{}, false
	}
	var numbers [3]int64
	for i, at := range []int{11, 12, 21} {
		if numbers[i], err = strconv.ParseInt(fields[at], 10, 64); err != nil {
			return Usage{}, false
		}
	}
	return Usage{Resident: uint64(max(0, numbers[2])) * uint64(os.Getpagesize()), Processor: time.Duration(numbers[0]+numbers[1]) * tick, Processes: 1}, true //nolint:gosec // neither is negative
}
