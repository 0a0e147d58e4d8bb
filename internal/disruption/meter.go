package disruption

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/process"
)

// meterEvery is the time from one measurement to the next.
const meterEvery = 200 * time.Millisecond

// running is a program that may have ended.
type running interface {
	Usage() (process.Usage, bool)
	Exited() <-chan struct{}
}

// meter measures what all replicas use together.
type meter struct {
	mu       sync.Mutex
	programs []running
}

// watch adds a program that was started.
func (m *meter) watch(p running) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs = append(m.programs, p)
}

// measure returns what those use that have not ended, and false if nobody knows.
func (m *meter) measure() (record.Sample, bool) {
	m.mu.Lock()
	m.programs = slices.DeleteFunc(m.programs, func(p running) bool {
		select {
		case <-p.Exited():
			return true
		default:
			return false
		}
	})
	programs := slices.Clone(m.programs)
	m.mu.Unlock()
	var sum record.Sample
	for _, p := range programs {
		if used, known := p.Usage(); known {
			sum.Resident, sum.Processor, sum.Processes = sum.Resident+used.Resident, sum.Processor+used.Processor, sum.Processes+used.Processes
		}
	}
	return sum, sum.Processes > 0
}

// run records what the programs use until it is stopped.
func (m *meter) run(ctx context.Context, r *record.Recorder) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(meterEvery)
		defer ticker.Stop()
		for {
			if sample, known := m.measure(); known {
				sample.At = r.Now()
				r.Sample(sample)
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}
