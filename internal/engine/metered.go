package engine

import (
	"context"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/loadgen"
)

// meter measures what the webhook uses while it converts.
type meter struct {
	stop func()

	mu      sync.Mutex
	samples []memory.Sample
	counts  []count
}

// count is how many objects were in the requests that had been answered at a time.
type count struct {
	at      time.Duration
	objects float64
}

// metered begins to measure, and returns the watch of the load that the meter needs. Without usage, nothing is measured.
func metered(ctx context.Context, usage func() (process.Usage, bool), w load.Workload, watch load.Watch) (*meter, load.Watch) {
	m := &meter{stop: func() {}}
	if usage == nil {
		return m, watch
	}
	began := time.Now()
	now := func() time.Duration { return time.Since(began) }
	m.stop = memory.Follow(ctx, func(context.Context) (memory.Sample, bool) {
		used, known := usage()
		return memory.Sample{Resident: used.Resident, Processor: used.Processor, Processes: used.Processes}, known
	}, now, func(s memory.Sample) { m.samples = append(m.samples, s) })
	inner := watch.Second
	watch.Second = func(s load.Snapshot) {
		m.mu.Lock()
		m.counts = append(m.counts, count{now(), float64(s.Requests) * float64(w.Batch)})
		m.mu.Unlock()
		if inner != nil {
			inner(s)
		}
	}
	return m, watch
}

// trend stops measuring, and returns how the memory went; nil if it was not measured for long enough.
func (m *meter) trend() *memory.Trend {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	return memory.Of(m.samples, m.objects)
}

// objects returns how many objects had been in requests that were answered at a time.
func (m *meter) objects(at time.Duration) float64 {
	before := count{}
	for _, c := range m.counts {
		if c.at >= at {
			return before.objects + (c.objects-before.objects)*float64(at-before.at)/float64(c.at-before.at)
		}
		before = c
	}
	return before.objects
}

// memoryOf is how the memory of the webhook went, for reports.
func memoryOf(m *memory.Trend) *loadgen.Memory {
	if m == nil {
		return nil
	}
	reported := &loadgen.Memory{
		From: float64(m.From), To: float64(m.To), Max: float64(m.Most), Leaks: m.Leaks,
		PerMinute: m.PerMinute.Value, PerMinuteLow: m.PerMinute.Low, PerMinuteHigh: m.PerMinute.High, PerObject: m.PerConversion.Value,
	}
	if !m.Leaks {
		reported.Limit = float64(memory.Recommended(m.Most))
	}
	return reported
}

// leakless is the objective of a soak.
func leakless(s loadgen.Stage) loadgen.Objective {
	o := loadgen.Objective{Stage: s.Name, Repeat: s.Repeat, Name: "memory leaks", Source: "a soak must not leak", Unit: "proved", Met: !s.Memory.Leaks}
	if s.Memory.Leaks {
		o.Measured = 1
	}
	return o
}
