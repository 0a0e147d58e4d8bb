package load

import (
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/loadgen"
)

// TestSchedules asks pacers as vegeta does: a request is to be sent when it is due, and not before.
func TestSchedules(t *testing.T) {
	t.Parallel()
	const early = 2 * time.Microsecond
	for name, w := range map[string]Workload{
		"constant":   {Phases: Constant(3000, time.Second)},
		"rarely":     {Phases: Constant(0.5, 20*time.Second)},
		"ramp":       {Phases: []loadgen.Phase{{Seconds: 3, Rate: 10, To: 1000}}},
		"from 0":     {Phases: []loadgen.Phase{{Seconds: 1, To: 1000}}},
		"phases":     {Phases: append(Constant(10, time.Second), Constant(1000, time.Second)...)},
		"recordings": {Due: []time.Duration{0, 0, time.Second, time.Second + 1, time.Hour}},
	} {
		s := w.schedule()
		if _, vegetas := s.(constant); vegetas != (name == "constant" || name == "rarely") {
			t.Errorf("%s: %T", name, s)
		}
		for n := range w.Total() {
			due := s.due(n)
			if off := due - w.due(n); off.Abs() > early {
				t.Errorf("%s: request %d is due after %s, want %s", name, n, due, w.due(n))
			}
			if left, stop := s.Pace(due, n); left > 0 || stop {
				t.Errorf("%s: request %d is due, but %s are left, stop %t", name, n, left, stop)
			}
			if left, stop := s.Pace(due-early, n); left != early || stop {
				t.Errorf("%s: of %s before request %d, %s are left, stop %t", name, early, n, left, stop)
			}
		}
		if rate := s.Rate(0); rate < w.Rate()*.999 || rate > w.Rate()*1.001 {
			t.Errorf("%s: a rate of %g, want %g", name, rate, w.Rate())
		}
	}
}

// TestLinear compares a ramp with that of vegeta's pacer, which counts hits from 1.
func TestLinear(t *testing.T) {
	t.Parallel()
	w := Workload{Phases: []loadgen.Phase{{Seconds: 3, Rate: 100, To: 1000}}}
	pacer := vegeta.LinearPacer{StartAt: vegeta.Rate{Freq: 100, Per: time.Second}, Slope: 300}
	const off = 2 * time.Microsecond
	for n := uint64(1); n+1 < w.Total(); n++ {
		due := w.schedule().due(n + 1)
		if left, _ := pacer.Pace(due+off, n); left > 0 {
			t.Errorf("request %d is due after %s, for vegeta's pacer %s later", n, due, left)
		}
		if left, _ := pacer.Pace(due-off, n); left <= 0 {
			t.Errorf("request %d is due after %s, for vegeta's pacer before", n, due)
		}
	}
}
