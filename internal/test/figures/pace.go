//go:build unix

package figures

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// How long a unit of work takes on the machine that times are promised for, which has two cores and nothing else to do.
const (
	quietWall      = 340 * time.Millisecond
	quietProcessor = 680 * time.Millisecond // on both together
)

// Pace is how many times slower than the quiet machine a machine was: 1 or more. A time divided by that is what is promised of the
// quiet machine, which neither slower processors nor other work on them change.
type Pace struct {
	Wall      float64 // for time that passed
	Processor float64 // for time that processors worked
}

// String says both.
func (p Pace) String() string {
	return fmt.Sprintf("the machine was %.2f times slower than a quiet one, its processors %.2f times", p.Wall, p.Processor)
}

// Busy says why a comparison of two programs proves nothing: others had most of the processors. It is empty if they had not.
func (p Pace) Busy() string {
	const most = 2
	if p.Wall < most*p.Processor {
		return ""
	}
	return fmt.Sprintf("the machine was busy: work took %.1f times as long as on a quiet one", p.Wall)
}

// Paced measures something between two units of work.
func Paced(measure func()) (Pace, error) {
	wall, processor, err := work()
	if err != nil {
		return Pace{}, err
	}
	measure()
	wallAfter, processorAfter, err := work()
	slower := func(a, b, quiet time.Duration, cores int) float64 {
		return max(1, float64(a+b)/float64(2*quiet)*2/float64(cores))
	}
	return Pace{
		Wall:      slower(wall, wallAfter, quietWall, 2),
		Processor: slower(processor, processorAfter, quietProcessor, runtime.GOMAXPROCS(0)),
	}, err
}

// work does a unit of work on each core, and returns how long that took, and how long processors worked for it.
func work() (wall, processor time.Duration, err error) {
	busy, err := processors()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() { unit() })
	}
	all.Wait()
	wall = time.Since(began)
	after, err := processors()
	return wall, after - busy, err
}

// processors is how long processors worked for this process.
func processors() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("figures: processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// unit decodes, encodes and hashes, as the project's own work does.
func unit() [sha256.Size]byte {
	fields := map[string]any{}
	for i := range 200 {
		fields[fmt.Sprintf("field%d", i)] = []any{i, "a text of some length", map[string]any{"port": 80 + i, "on": true}}
	}
	var sum [sha256.Size]byte
	for range 450 {
		data, err := json.Marshal(fields)
		if err != nil {
			panic(fmt.Sprintf("figures: %v", err)) // it is part of the program
		}
		sum = sha256.Sum256(append(data, sum[:]...))
		var decoded map[string]any
		if err := json.Unmarshal(data, &decoded); err != nil {
			panic(fmt.Sprintf("figures: %v", err))
		}
		fields = decoded
	}
	return sum
}
