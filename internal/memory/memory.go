// Package memory finds out whether the memory of a program grows for ever.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// every is the time from one sample to the next.
const every = 200 * time.Millisecond

// Sample is what a program and its children use at a time.
type Sample struct {
	At        time.Duration `json:"at"`
	Resident  uint64        `json:"resident"`  // bytes of memory
	Processor time.Duration `json:"processor"` // used since the program started
	Processes int           `json:"processes"`
}

// Follow measures again and again what a program uses, as long as that is known, until it is stopped.
func Follow(ctx context.Context, measure func(context.Context) (Sample, bool), now func() time.Duration, add func(Sample)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			if sample, known := measure(ctx); known {
				sample.At = now()
				add(sample)
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
		following.Wait()
	}
}

// Trend is how the memory of a program went since it was started last.
type Trend struct {
	From          uint64        `json:"from"` // bytes, at the beginning
	To            uint64        `json:"to"`   // at the end
	Most          uint64        `json:"most"`
	Over          time.Duration `json:"over"`
	PerMinute     Slope         `json:"perMinute"`       // bytes
	PerConversion Slope         `json:"perConversion"`   // bytes
	Leaks         bool          `json:"leaks"`           // it grows all the time, and by much
	Grows         bool          `json:"grows,omitempty"` // it grows all the time, and by too little to say that it leaks
}

// Slope is a slope with the interval that it is in with a probability of 95 %.
type Slope struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

const (
	// blocks are the parts of the time whose least memory is compared: garbage comes and goes between.
	blocks = 10

	// leastSamples is how many samples each of them must have.
	leastSamples = 2

	// student is the factor of the standard error that makes an interval of 95 % with blocks - 2 degrees of freedom.
	student = 2.306

	// leastGrowth is how much a process must grow to leak, in bytes, and as a share of what it had; growthAtFirst if less than longGrowth was
	// seen. A process that has just been started grows by less: it fills its caches, and its runtime collects garbage ever later.
	leastGrowth      = 64 << 20
	leastGrowthShare = 0.5
	growthAtFirst    = 256 << 20
	longGrowth       = time.Minute

	// seenGrowth is how much it must grow to be worth a word, when it has run for longGrowth.
	seenGrowth = 8 << 20
)

// Of returns how the memory went; nil if there are too few samples of the program that ran at the end. The number of conversions until
// a time is given by a function.
func Of(samples []Sample, conversions func(at time.Duration) float64) *Trend {
	samples = lastStart(samples)
	if len(samples) < blocks*leastSamples {
		return nil
	}
	first, last := samples[0], samples[len(samples)-1]
	m := &Trend{From: first.Resident, To: last.Resident, Over: last.At - first.At}
	var minutes, converted, least []float64
	for i := range blocks {
		block := samples[i*len(samples)/blocks : (i+1)*len(samples)/blocks]
		lowest := slices.MinFunc(block, func(a, b Sample) int { return cmp.Compare(a.Resident, b.Resident) })
		m.Most = max(m.Most, slices.MaxFunc(block, func(a, b Sample) int { return cmp.Compare(a.Resident, b.Resident) }).Resident)
		minutes, converted, least = append(minutes, lowest.At.Minutes()), append(converted, conversions(lowest.At)), append(least, float64(lowest.Resident))
	}
	m.PerMinute, m.PerConversion = slope(minutes, least), slope(converted, least)
	growth := least[blocks-1] - least[0]
	enough := float64(growthAtFirst)
	if m.Over >= longGrowth {
		enough = leastGrowth
	}
	steadily := m.PerMinute.Low > 0 && growth >= leastGrowthShare*least[0] && steady(least)
	m.Leaks = steadily && growth >= enough
	m.Grows = steadily && growth >= seenGrowth && m.Over >= longGrowth && !m.Leaks
	return m
}

// Unjudged says of a memory that grows by too little what would be enough; it is empty of another one.
func (m *Trend) Unjudged() string {
	if m == nil || !m.Grows {
		return ""
	}
	return fmt.Sprintf("grew all the time, %s; it leaks if that goes on, and less than %d MiB is not judged: have it convert more, or for longer", m, leastGrowth>>20)
}

// Recommended is a limit, in bytes, that leaves room for a program that used so much at most: half as much again.
func Recommended(most uint64) uint64 {
	const step = 16 << 20
	return (most + most/2 + step - 1) / step * step
}

// String says how a memory that leaks, or may leak, grew.
func (m *Trend) String() string {
	const mebi, kibi = 1 << 20, 1 << 10
	return fmt.Sprintf("from %d MiB to %d MiB in %s, by %.0f MiB a minute (95 %% interval %.0f to %.0f) and %.1f KiB a conversion",
		m.From/mebi, m.To/mebi, m.Over.Round(time.Millisecond), m.PerMinute.Value/mebi, m.PerMinute.Low/mebi, m.PerMinute.High/mebi, m.PerConversion.Value/kibi)
}

// lastStart are the samples since a program was started last, which shows by its processor time beginning again.
func lastStart(samples []Sample) []Sample {
	samples = slices.Clone(samples)
	slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.At, b.At) })
	begin := 0
	for i := range samples {
		if i > 0 && samples[i].Processor < samples[i-1].Processor {
			begin = i
		}
	}
	return samples[begin:]
}

// steady reports whether the second half of the time saw at least a third of the growth, and no step half of it: what fills up grows in the
// first half, and what is filled once at one time.
func steady(least []float64) bool {
	begin, middle, end := least[0], least[len(least)/2], least[len(least)-1]
	step := 0.0
	for i := 1; i < len(least); i++ {
		step = max(step, least[i]-least[i-1])
	}
	return end-middle >= (end-begin)/3 && step <= (end-begin)/2
}

// slope is that of the line of least squares, with its interval; zero if all are at the same x.
func slope(x, y []float64) Slope {
	n := float64(len(x))
	var meanX, meanY, xx, xy float64
	for i := range x {
		meanX, meanY = meanX+x[i]/n, meanY+y[i]/n
	}
	for i := range x {
		xx, xy = xx+(x[i]-meanX)*(x[i]-meanX), xy+(x[i]-meanX)*(y[i]-meanY)
	}
	if xx == 0 {
		return Slope{}
	}
	value, rest := xy/xx, 0.0
	for i := range x {
		off := y[i] - meanY - value*(x[i]-meanX)
		rest += off * off
	}
	margin := student * math.Sqrt(rest/(n-2)/xx)
	return Slope{Value: value, Low: value - margin, High: value + margin}
}
