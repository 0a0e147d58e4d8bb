package record

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/memory"
)

const mebibyte = 1 << 20

// sampled adds ten samples a second of a process whose memory is that of a function, beside what comes and goes.
func sampled(h *History, end time.Duration, bytes func(at time.Duration) float64) {
	random := rand.New(rand.NewPCG(7, 7))
	for at := time.Duration(0); at < end; at += 100 * millisecond {
		garbage := random.Float64() * 12 * mebibyte
		h.Samples = append(h.Samples, memory.Sample{At: at, Resident: uint64(bytes(at) + garbage), Processor: at / 10, Processes: 1})
	}
}

func TestMemory(t *testing.T) {
	mebibytes := func(n float64) float64 { return n * mebibyte }
	for name, test := range map[string]struct {
		bytes func(at time.Duration) float64
		leaks bool
		slope float64 // MiB a minute
	}{
		"stays":          {func(time.Duration) float64 { return mebibytes(30) }, false, 0},
		"leaks":          {func(at time.Duration) float64 { return mebibytes(30 + 40*at.Seconds()) }, true, 2400},
		"may just begin": {func(at time.Duration) float64 { return mebibytes(30 + 20*at.Seconds()) }, false, 1200},
		"leaks slowly":   {func(at time.Duration) float64 { return mebibytes(30 + at.Seconds()) }, false, 60}, // 9 MiB are too few to say
		"fills up":       {func(at time.Duration) float64 { return mebibytes(30 + 400*(1-math.Exp(-at.Seconds()))) }, false, 0},
		"steps once":     {func(at time.Duration) float64 { return mebibytes(30 + 400*math.Floor(at.Seconds()/5)) }, false, 0},
		"much at first":  {func(at time.Duration) float64 { return mebibytes(1000 + 40*at.Seconds()) }, false, 2400},
		"shrinks":        {func(at time.Duration) float64 { return mebibytes(900 - 20*at.Seconds()) }, false, -1200},
	} {
		s := sim{change: func(s *sim, h *History) { sampled(h, s.end, test.bytes) }}
		r := judged(t, s.history())
		m := r.Facts.Memory
		if m == nil || m.Leaks != test.leaks {
			t.Errorf("%s: got %+v", name, m)
			continue
		}
		found, there := r.Found(FoundLeak)
		if there != test.leaks || there && !strings.Contains(found.Text, "MiB a minute") {
			t.Errorf("%s: found %+v", name, found)
		}
		if value := m.PerMinute.Value / mebibyte; test.slope != 0 && math.Abs(value-test.slope) > 60 {
			t.Errorf("%s: %.0f MiB a minute", name, value)
		}
		if m.PerMinute.Low > m.PerMinute.Value || m.PerMinute.High < m.PerMinute.Value || m.Most < m.From || m.Most < m.To {
			t.Errorf("%s: got %+v", name, m)
		}
	}
}

// TestMemoryPerOperation has a webhook that keeps a mebibyte of each operation.
func TestMemoryPerOperation(t *testing.T) {
	s := sim{change: func(s *sim, h *History) {
		sampled(h, s.end, func(now time.Duration) float64 {
			n := 0
			for _, o := range h.Operations {
				if !o.Storage && o.Return < now {
					n++
				}
			}
			return float64(n) * mebibyte
		})
	}}
	m := judged(t, s.history()).Facts.Memory
	if got := m.PerConversion; !m.Leaks || math.Abs(got.Value/mebibyte-1) > 0.02 || got.Low > mebibyte || got.High < mebibyte {
		t.Errorf("got %+v", m)
	}
}

// TestMemoryAfterRestart leaves out what another process used.
func TestMemoryAfterRestart(t *testing.T) {
	s := sim{change: func(s *sim, h *History) {
		sampled(h, s.end, func(at time.Duration) float64 { return (30 + 400*min(at, s.ended).Seconds()) * mebibyte })
		for i := range h.Samples {
			if sample := &h.Samples[i]; sample.At >= s.ended {
				sample.Processor -= s.ended / 10
			}
		}
	}}
	if m := judged(t, s.history()).Facts.Memory; m.Leaks || m.Over > 5*second {
		t.Errorf("got %+v", m)
	}
	few := sim{change: func(_ *sim, h *History) { sampled(h, second, func(time.Duration) float64 { return 1 }) }}
	if m := judged(t, few.history()).Facts.Memory; m != nil {
		t.Errorf("got %+v of ten samples", m)
	}
}

// TestMemoryOverTime has a webhook that leaks a mebibyte a second: after a minute and a half it is proved.
func TestMemoryOverTime(t *testing.T) {
	for seconds, want := range map[int]bool{40: false, 59: false, 90: true} {
		h := new(History)
		sampled(h, time.Duration(seconds)*second, func(at time.Duration) float64 { return (30 + at.Seconds()) * mebibyte })
		if m := memoryOf(h); m == nil || m.Leaks != want {
			t.Errorf("%d s: got %+v", seconds, m)
		}
	}
}

// TestMemoryBelowTheFloor has webhooks that grow by less than what is judged: one that goes on growing is named with that, and one that fills
// up, stays, or has not run for long is not.
func TestMemoryBelowTheFloor(t *testing.T) {
	for name, test := range map[string]struct {
		seconds int
		bytes   func(seconds float64) float64
		want    bool
	}{
		"grows":      {75, func(seconds float64) float64 { return 18 + 0.4*seconds }, true},
		"not long":   {50, func(seconds float64) float64 { return 18 + 0.4*seconds }, false},
		"stays":      {75, func(float64) float64 { return 18 }, false},
		"fills up":   {75, func(seconds float64) float64 { return 18 + 30*(1-math.Exp(-seconds/5)) }, false},
		"leaks":      {75, func(seconds float64) float64 { return 18 + 2*seconds }, false}, // which is found
		"by a third": {75, func(seconds float64) float64 { return 90 + 0.4*seconds }, false},
	} {
		h := new(History)
		sampled(h, time.Duration(test.seconds)*second, func(at time.Duration) float64 { return test.bytes(at.Seconds()) * mebibyte })
		text := memoryOf(h).Unjudged()
		if got := strings.Contains(text, "less than 64 MiB is not judged"); got != test.want || got == (text == "") {
			t.Errorf("%s: got %q of %+v", name, text, memoryOf(h))
		}
	}
}

// TestSlope compares with an example whose figures are known: of points that are off a line by turns, as +1, -1, -1, +1, the slope is the
// line's, and its standard error follows from their distances alone.
func TestSlope(t *testing.T) {
	const student, sumOfX, distance = 2.306, 82.5, 10 // of 8 degrees of freedom; the sum of squares of 1 to 10 about their mean
	var samples []memory.Sample
	for i := range 10 {
		off := [10]int{distance, -distance, -distance, distance}[i]
		for range 2 {
			samples = append(samples, memory.Sample{At: time.Duration(i+1) * time.Minute, Resident: uint64(1000 + 100*i + off)})
		}
	}
	m := memory.Of(samples, func(time.Duration) float64 { return 0 })
	margin := student * math.Sqrt(4*distance*distance/8./sumOfX)
	if s := m.PerMinute; math.Abs(s.Value-100) > 1e-9 || math.Abs(s.High-100-margin) > 1e-9 || math.Abs(s.Low-100+margin) > 1e-9 {
		t.Errorf("got %+v, want 100 with a margin of %g", s, margin)
	}
	if m.PerConversion != (memory.Slope{}) {
		t.Errorf("without conversions: got %+v", m.PerConversion)
	}
}
