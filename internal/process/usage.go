package process

import "time"

// Usage is what a program uses, with all that it started.
type Usage struct {
	Resident  uint64        // bytes of memory; what processes share counts for each of them
	Processor time.Duration // by processes that run, since each was started
	Processes int
}

// Usage returns what the program uses now, and false where that can't be found out: on other systems than Linux, and when nothing runs.
func (p *Process) Usage() (Usage, bool) { return p.tree.usage() }
