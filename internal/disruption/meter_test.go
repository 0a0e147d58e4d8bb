package disruption

import (
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/process"
)

// metered is a program of which it is known what it uses, unless that is nothing.
type metered struct {
	used   process.Usage
	exited chan struct{}
}

func (m metered) Usage() (process.Usage, bool) { return m.used, m.used.Processes > 0 }

func (m metered) Exited() <-chan struct{} { return m.exited }

func TestMeter(t *testing.T) {
	t.Parallel()
	one := metered{process.Usage{Resident: 5, Processor: time.Second, Processes: 2}, make(chan struct{})}
	two := metered{process.Usage{Resident: 7, Processor: time.Minute, Processes: 1}, make(chan struct{})}
	var m meter
	if used, known := m.measure(t.Context()); known {
		t.Errorf("got %+v of no program", used)
	}
	m.watch(one)
	m.watch(two)
	m.watch(metered{exited: make(chan struct{})}) // of which nobody knows
	if used, known := m.measure(t.Context()); !known || used != (memory.Sample{Resident: 12, Processor: 61 * time.Second, Processes: 3}) {
		t.Errorf("got %+v", used)
	}
	close(one.exited)
	r := record.New(record.Header{})
	memory.Follow(t.Context(), m.measure, r.Now, r.Sample)()
	samples := r.History().Samples
	if len(samples) == 0 || samples[0].Resident != 7 || samples[0].At <= 0 {
		t.Errorf("got %+v", samples)
	}
}
