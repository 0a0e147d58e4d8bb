package process

import (
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
)

// TestLimitMemory sets what the user has not set, and undoes it.
func TestLimitMemory(t *testing.T) { // not parallel: the limits are those of the process
	limits := func() [2]int64 {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return [2]int64{debug.SetMemoryLimit(-1), int64(percent)}
	}
	before := limits()
	for users, want := range map[string][2]int64{
		"":           {softMemory, garbage},
		"GOMEMLIMIT": {before[0], garbage},
		"GOGC":       {softMemory, before[1]},
	} {
		undo := LimitMemory(func(name string) bool { return name == users })
		during := limits()
		undo()
		if after := limits(); during != want || after != before {
			t.Errorf("with %q set the limits are %d, and %d afterwards, want %d and %d", users, during, after, want, before)
		}
	}
}

// eventually waits until a condition holds; a test that waits forever ends by the timeout of all.
func eventually(condition func() bool) {
	for !condition() {
		<-time.After(time.Millisecond)
	}
}

// TestMemoryLimit has more room where more is in use, and the limit of before once it ends.
func TestMemoryLimit(t *testing.T) { // not parallel: the limit is that of the process
	for live, want := range map[uint64]int64{0: softMemory, softMemory / room: softMemory, softMemory/room + 1: softMemory + 16<<20, 300 << 20: 608 << 20} {
		if got := memoryLimit(live); got != want {
			t.Errorf("with %d bytes in use it is %d, want %d", live, got, want)
		}
	}
	before := debug.SetMemoryLimit(softMemory)
	defer debug.SetMemoryLimit(before)
	var live, asked atomic.Uint64
	stop := raiseLimit(time.Millisecond, func() (times, inUse uint64) {
		n := asked.Add(1)
		if got := debug.SetMemoryLimit(-1); n <= collections && got != softMemory {
			t.Errorf("what was in use after %d collections has it be %d", n-1, got)
		}
		if n < collections {
			return n, 4 << 30
		}
		return n, live.Load()
	})
	defer stop()
	eventually(func() bool { return asked.Load() > collections })
	live.Store(1 << 30)
	eventually(func() bool { return debug.SetMemoryLimit(-1) == 2<<30 })
	live.Store(0)
	eventually(func() bool { return debug.SetMemoryLimit(-1) == softMemory })
}

// TestMemoryLimitWaitsForCollections looks at what one collection left once, however often it could.
func TestMemoryLimitWaitsForCollections(t *testing.T) { // not parallel: the limit is that of the process
	before := debug.SetMemoryLimit(softMemory)
	defer debug.SetMemoryLimit(before)
	var asked atomic.Uint64
	stop := raiseLimit(time.Millisecond, func() (times, inUse uint64) {
		asked.Add(1)
		return 1, 4 << 30
	})
	defer stop()
	eventually(func() bool { return asked.Load() > 3*collections })
	if got := debug.SetMemoryLimit(-1); got != softMemory {
		t.Errorf("one collection has it be %d", got)
	}
}
