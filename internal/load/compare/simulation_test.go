package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/loadgen"
)

// enoughRepeats are enough to find what is three times its limit, where the repeats differ by 5 %.
const enoughRepeats = 10

// world is how runs are simulated. All of its numbers are of natural logarithms, so 0.05 is about 5 %.
type world struct {
	repeats  int
	noise    float64 // standard deviation between the repeats of a run, log-normal
	control  float64 // the same for the control
	tail     float64 // share of the repeats that are slower by another 0.3 on average, exponentially distributed
	drift    float64 // standard deviation between runs by the machine, normal
	other    float64 // probability of a run on another machine, which is slower by 0.2
	depends  float64 // how much more the webhook depends on the machine than the control does; 1 is as much
	residual float64 // standard deviation between runs of the same build that has nothing to do with the machine
	seed     uint64
}

// run simulates a run of four statistics, with the webhook slower by a factor.
func (w world) run(random *rand.Rand, slower float64) []Series {
	machine := w.drift * random.NormFloat64()
	if random.Float64() < w.other {
		machine += 0.2
	}
	noise := func(deviation float64) float64 {
		x := deviation * random.NormFloat64()
		if random.Float64() < w.tail {
			x += 0.3 * random.ExpFloat64()
		}
		return x
	}
	var run []Series
	for _, statistic := range []string{"p50", "p90", "p99", "objects/s"} {
		sign := 1.0
		if statistic == "objects/s" {
			sign = -1
		}
		webhook := math.Log(slower) + w.depends*machine + w.residual*random.NormFloat64()
		s := Series{Statistic: statistic, HigherIsBetter: sign < 0}
		c := Series{Statistic: statistic, HigherIsBetter: sign < 0, Control: true}
		for range w.repeats {
			s.Values = append(s.Values, 3*math.Exp(sign*(webhook+noise(w.noise))))
			c.Values = append(c.Values, math.Exp(sign*(machine+noise(w.control))))
		}
		run = append(run, s, c)
	}
	return run
}

// compared counts what comes of many comparisons.
type compared struct{ regressed, incomparable int }

func (w world) compare(t *testing.T, times int, slower float64, limits ...Limit) compared {
	t.Helper()
	random := rand.New(rand.NewPCG(w.seed, 6))
	var sum compared
	for range times {
		c, err := Runs(w.run(random, 1), w.run(random, slower), limits)
		if err != nil {
			t.Fatal(err)
		}
		if len(RegressedRows(c)) > 0 {
			sum.regressed++
		}
		if slices.ContainsFunc(c.Rows, func(r loadgen.Row) bool { return r.Verdict == Incomparable }) {
			sum.incomparable++
		}
	}
	return sum
}

// TestSelfComparisons holds that noise is no regression: neither that of the repeats, nor that of the machine.
func TestSelfComparisons(t *testing.T) {
	slow(t)
	t.Parallel()
	const times = 2000 / portion
	for _, test := range []struct {
		name      string
		world     world
		regressed int // at most
		doubted   int // at least so many would be taken for regressions without the control
	}{
		{"quiet machine", world{noise: 0.01, control: 0.01, residual: 0.01, depends: 1, seed: 1}, 1, 0},
		{"drift", world{noise: 0.05, control: 0.03, residual: 0.01, tail: 0.05, drift: 0.03, depends: 1, seed: 2}, 1, 0},
		{"drift, less noise", world{noise: 0.01, control: 0.01, residual: 0.01, tail: 0.05, drift: 0.03, depends: 1, seed: 3}, 1, times / 200},
		{"noisy neighbours", world{noise: 0.10, control: 0.10, residual: 0.02, tail: 0.20, drift: 0.10, depends: 1, seed: 4}, 1, times / 50},
		{"two machines", world{noise: 0.05, control: 0.03, residual: 0.01, tail: 0.05, drift: 0.03, depends: 1.5, other: 0.5, seed: 5}, 1, times / 10},
		{"all is noise", world{noise: 0.50, control: 0.50, residual: 0.01, tail: 0.05, drift: 0.03, depends: 1, seed: 6}, 1, 0},
		// Only the level of the test distinguishes what the webhook alone does by chance from a regression.
		{"a webhook of moods", world{noise: 0.50, control: 0.03, residual: 0.01, drift: 0.03, depends: 1, seed: 7}, alpha * times, 0},
	} {
		for _, n := range []int{6, enoughRepeats} {
			test.world.repeats = n
			got := test.world.compare(t, times, 1, Limit{Every, 0.1})
			t.Logf("%s, %d repeats: %d of %d comparisons are regressed, %d incomparable", test.name, n, got.regressed, times, got.incomparable)
			if got.regressed > test.regressed {
				t.Errorf("%s, %d repeats: %d false alarms in %d comparisons, want at most %d", test.name, n, got.regressed, times, test.regressed)
			}
			if got.incomparable < test.doubted {
				t.Errorf("%s, %d repeats: %d of %d comparisons are incomparable, want at least %d, or this shows nothing of the control",
					test.name, n, got.incomparable, times, test.doubted)
			}
		}
	}
}

// TestRegressionsAreFound holds that what is three times its limit is found, where repeats differ by 5 % and runs by 3 %.
func TestRegressionsAreFound(t *testing.T) {
	t.Parallel()
	const times = 1000
	drifting := world{noise: 0.05, control: 0.03, residual: 0.01, drift: 0.03, depends: 1, seed: 8}
	still := drifting
	still.drift = 0
	for _, test := range []struct {
		world   world
		repeats int
		limit   Limit
		slower  float64
		share   float64 // found at least
	}{
		{still, 6, Limit{Every, 0.1}, 1.3, 0.95},
		{still, enoughRepeats, Limit{Every, 0.1}, 1.3, 0.99},
		{still, enoughRepeats, Limit{"p99", 0.1}, 1.3, 0.95},
		{drifting, 8, Limit{Every, 0.1}, 1.3, 0.95},
		{drifting, enoughRepeats, Limit{Every, 0.1}, 1.3, 0.95},
		{drifting, enoughRepeats, Limit{"p99", 0.1}, 1.3, 0.90},
		{drifting, enoughRepeats, Limit{"p99", 0.1}, 1.5, 0.99},
	} {
		test.world.repeats = test.repeats
		got := test.world.compare(t, times, test.slower, test.limit)
		found := fmt.Sprintf("%d repeats, drift %g, limit %s, slower by %g: found in %d of %d",
			test.repeats, test.world.drift, test.limit, test.slower, got.regressed, times)
		t.Log(found)
		if float64(got.regressed) < test.share*times {
			t.Errorf("%s, want %g of them", found, test.share)
		}
	}
}
