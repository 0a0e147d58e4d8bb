package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// sampling is how often it is looked how much memory a program has. A program in Go allocates up to 2 GB a second, so 100 MB meanwhile; one
	// look at a process takes some 10 µs.
	sampling = 50 * time.Millisecond

	// counting is how often it is looked at least which processes there are, and sparing how many times as long as that takes it is not looked
	// again: it reads what the system says of each process of the machine.
	counting = time.Second
	sparing  = 100
)

// Machine returns how much memory there is for this process and all that it starts, in bytes: the machine's, or less if a cgroup has a limit. It is
// 0 where that is not known.
func Machine() uint64 {
	most := uint64(0)
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			most, _ = strconv.ParseUint(fields[1], 10, 54) // 0 if it is no number
			most <<= 10
		}
	}
	root, own, naming, err := cgroupHierarchy()
	if err != nil {
		return most
	}
	// In a container, the path may be that on the machine, and what counts is at the root.
	for path := own; ; path = filepath.Dir(path) {
		group := Cgroup{filepath.Join(root, path), naming}
		if limit, err := group.read(naming.limit, ""); err == nil && limit > 0 { // version 2 writes max where there is none
			most = min(most, uint64(limit))
		}
		if path == filepath.Dir(path) {
			return most
		}
	}
}

// guard kills the process with all that it has started when they have more than half of the machine's memory, until it has ended.
func (p *Process) guard(machine uint64) {
	ticks := time.NewTicker(sampling)
	defer ticks.Stop()
	var members []stat
	var next time.Time
	for {
		if began := time.Now(); began.After(next) {
			members = p.tree.members()
			next = time.Now().Add(max(counting, sparing*time.Since(began)))
		}
		if allocated(members) > machine/2 {
			// One that has ended meanwhile may have left its ID to a stranger.
			if taken := allocated(p.tree.members()); taken > machine/2 {
				p.took.CompareAndSwap(0, taken)
				p.tree.signal(syscall.SIGKILL)
			}
		}
		select {
		case <-p.exited:
			return
		case <-ticks.C:
		}
	}
}

// allocated is how much memory processes have together, in bytes, without what is mapped from files, which the system can have back at any time.
func allocated(processes []stat) uint64 {
	sum := uint64(0)
	for _, p := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.id))
		if err != nil {
			continue // it has ended
		}
		// The second and the third are pages that are resident, and those of them that are shared.
		fields := bytes.Fields(text)
		if len(fields) < 3 {
			continue
		}
		resident, err := strconv.ParseUint(string(fields[1]), 10, 64)
		shared, other := strconv.ParseUint(string(fields[2]), 10, 64)
		if err == nil && other == nil && shared < resident {
			sum += (resident - shared) * uint64(os.Getpagesize()) //nolint:gosec // it is not negative
		}
	}
	return sum
}
