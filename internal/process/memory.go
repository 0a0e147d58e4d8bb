package process

import (
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

const (
	// softMemory is how much memory a run or a check takes, in bytes, before garbage is collected more often than usual. An API server in
	// the process makes much garbage: without it a run takes 600 MiB, of which a third is in use. The program itself takes another 100 MiB.
	softMemory = 368 << 20

	// garbage is how much garbage may wait below that limit, in percent of what is in use. Go's 100 would have a check of a wide definition
	// spend a fifth of its processor time on collecting 20 MiB at a time.
	garbage = 200

	// room is how many times what stays in use a check may take, if that is more than softMemory. With a definition of 10,000 lines it has
	// 250 to 400 MiB in use, and spent more than half of its processor time on collecting garbage below softMemory.
	room = 2

	// looking is how long it takes until what is in use is looked at again.
	looking = 250 * time.Millisecond

	// collections is how many looks in a row, each after another collection of garbage, what is in use has to outlast to stay in use. A
	// definition does; a large answer of a hostile webhook does not.
	collections = 8
)

// LimitMemory sets when garbage of this process is collected, as far as the user has not set it in the environment, and returns what undoes
// it.
func LimitMemory(set func(variable string) bool) func() {
	var undo []func()
	if !set("GOMEMLIMIT") {
		before := debug.SetMemoryLimit(softMemory)
		undo = append(undo, func() { debug.SetMemoryLimit(before) })
	}
	if !set("GOGC") {
		before := debug.SetGCPercent(garbage)
		undo = append(undo, func() { debug.SetGCPercent(before) })
	}
	return func() {
		for _, back := range slices.Backward(undo) {
			back()
		}
	}
}

// FollowMemory does as LimitMemory, with a limit that follows what is in use.
func FollowMemory(set func(variable string) bool) func() {
	undo := LimitMemory(set)
	if set("GOMEMLIMIT") {
		return undo
	}
	stop := raiseLimit(looking, collected)
	return func() {
		stop()
		undo()
	}
}

// collected is how often garbage was collected, and how many bytes were in use the last time.
func collected() (times, live uint64) {
	of := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(of)
	return of[0].Value.Uint64(), of[1].Value.Uint64()
}

// raiseLimit has the limit of memory follow what stays in use, which it looks at every so often, until stop is called.
func raiseLimit(every time.Duration, collected func() (times, live uint64)) (stop func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		var last [collections]uint64
		limit, before := int64(softMemory), uint64(0)
		for look := 0; ; {
			select {
			case <-done:
				return
			case <-ticks.C:
			}
			times, live := collected()
			if times == before {
				continue
			}
			before, last[look%collections] = times, live
			look++
			if now := memoryLimit(slices.Min(last[:])); now != limit {
				limit = now
				debug.SetMemoryLimit(limit)
			}
		}
	})
	return func() {
		close(done)
		watching.Wait()
	}
}

// memoryLimit is the limit for what stays in use, in steps of 16 MiB: to set it stops everything for a moment.
func memoryLimit(live uint64) int64 {
	const step = 16 << 20
	return max(softMemory, int64((room*live+step-1)/step*step))
}
