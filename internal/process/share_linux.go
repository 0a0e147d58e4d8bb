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
	// sampling is how often the memory of a program is read. A program in Go allocates up to 2 GB a second, so 100 MB meanwhile; one
	// look at a process takes some 10 µs.
	sampling = 50 * time.Millisecond

	// counting is how often processes are listed at most, and sparing how many times as long as that takes lies between two lists: each reads what
	// the system says of every process of the machine.
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
			// One that has ended meanwhile may have left its ID to a stranger, and what forked processes share counts once.
			if taken := proportional(p.tree.members()); taken > machine/2 {
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

// proportional is how much memory processes have together, in bytes: of pages that several processes have, each has its part. It takes the system
// longer to find out than allocated, which it is where that is not known.
func proportional(processes []stat) uint64 {
	sum := uint64(0)
	for i, p := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.id))
		if err != nil {
			sum += allocated(processes[i : i+1])
			continue
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 3 && (fields[0] == "Pss_Anon:" || fields[0] == "Pss_Shmem:") {
				if n, err := strconv.ParseUint(fields[1], 10, 54); err == nil {
					sum += n << 10
				}
			}
		}
	}
	return sum
}

// allocated is how much memory processes have together, in bytes, without pages that are of files or shared on purpose. Pages that forked processes
// have in common count for each.
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
