package compare

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/loadgen"
)

// TestTailsCountArrangements compares with the definition: all ways to mix two samples, counted one by one.
func TestTailsCountArrangements(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		for m := 1; m <= 6; m++ {
			want := make([]float64, n*m+1)
			all := 0.0
			for mix := range 1 << (n + m) {
				if bits.OnesCount(uint(mix)) != n {
					continue
				}
				all++
				u, smaller := 0, 0
				for i := range n + m {
					if mix>>i&1 == 1 {
						u += smaller
					} else {
						smaller++
					}
				}
				for k := u; k < len(want); k++ {
					want[k]++
				}
			}
			for k, got := range tails(n, m) {
				if math.Abs(got-want[k]/all) > 1e-12 {
					t.Errorf("%d and %d values: P(U <= %d) = %g, want %g", n, m, k, got, want[k]/all)
				}
			}
		}
	}
}

// TestCriticalValues compares with the tables that statistics books print for the two-sided test at 5 %.
func TestCriticalValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ n, m, critical int }{
		{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 9, 12}, {8, 8, 13}, {10, 10, 23}, {5, 15, 14}, {20, 20, 127},
	} {
		tail := tails(test.n, test.m)
		if tail[test.critical] > 0.025 || tail[test.critical+1] <= 0.025 {
			t.Errorf("%d and %d values: P(U <= %d) = %g and P(U <= %d) = %g, want 0.025 between them",
				test.n, test.m, test.critical, tail[test.critical], test.critical+1, tail[test.critical+1])
		}
	}
	tail := tails(MaxRepeats, MaxRepeats)
	if half := tail[len(tail)/2-1]; math.Abs(half-0.5) > 0.01 {
		t.Errorf("%d repeats: the distribution has %g below its middle", MaxRepeats, half)
	}
}

func sample(random *rand.Rand, n int, center float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = center * math.Exp(0.2*random.NormFloat64())
	}
	return values
}

// TestIntervalIsWhatTheTestDoesNotReject holds the interval and the test together.
func TestIntervalIsWhatTheTestDoesNotReject(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		n, m := 4+random.IntN(8), 4+random.IntN(8)
		p := between(sample(random, n, 2), sample(random, m, 1), tails(n, m))
		e := p.estimate()
		if e.Confidence < 0.95 || e.Low > e.Value || e.Value > e.High {
			t.Fatalf("%d and %d values: the estimate is %+v", n, m, e)
		}
		const little = 1e-9
		for name, test := range map[string]struct{ inside, outside float64 }{
			"low":  {p.above(e.Low * (1 + little)), p.above(e.Low * (1 - little))},
			"high": {p.below(e.High * (1 - little)), p.below(e.High * (1 + little))},
		} {
			if test.inside <= error95 || test.outside > error95 {
				t.Fatalf("%d and %d values: at the %s bound p is %g inside and %g outside, want 0.025 between them",
					n, m, name, test.inside, test.outside)
			}
		}
	}
}

// TestIntervalsCover holds that the true values are in as many intervals as the intervals say.
func TestIntervalsCover(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	const times = 4000
	ratios, medians, tail := 0, 0, tails(7, 9)
	for range times {
		now, base := sample(random, 7, 2), sample(random, 9, 1)
		if e := between(now, base, tail).estimate(); e.Low <= 2 && 2 <= e.High {
			ratios++
		}
		if e := median(base); e.Low <= 1 && 1 <= e.High {
			medians++
		}
	}
	wantRatios := between(sample(random, 7, 2), sample(random, 9, 1), tail).estimate().Confidence
	wantMedians := median(sample(random, 9, 1)).Confidence
	if got := float64(ratios) / times; math.Abs(got-wantRatios) > 0.015 {
		t.Errorf("%g of the intervals have the true ratio, want %g", got, wantRatios)
	}
	if got := float64(medians) / times; math.Abs(got-wantMedians) > 0.015 {
		t.Errorf("%g of the intervals have the true median, want %g", got, wantMedians)
	}
}

func TestTiesAreNoProof(t *testing.T) {
	t.Parallel()
	tail := tails(5, 5)
	same := []float64{3, 3, 3, 3, 3}
	if p := between(same, same, tail); p.above(1) != 1 || p.below(1) != 1 {
		t.Errorf("equal values: p is %g and %g, want 1", p.above(1), p.below(1))
	}
	zeros := []float64{0, 0, 0, 0, 0}
	if p := between(zeros, zeros, tail); p.above(1) != 1 || p.estimate().Value != 1 {
		t.Errorf("zeros: p is %g and the ratio %g, want 1", p.above(1), p.estimate().Value)
	}
	if p := between(same, zeros, tail); p.above(1000) != tail[0] || finite(p.estimate()) {
		t.Errorf("more than zeros: p is %g and the ratio %+v", p.above(1000), p.estimate())
	}
	// Of the 25 quotients 6 are 2 by 2.
	if p := between([]float64{2, 2, 3, 3, 3}, []float64{1, 1, 2, 2, 2}, tail); p.above(1) != tail[6] || p.below(1) != tail[25] {
		t.Errorf("6 ties: p is %g and %g, want %g and %g", p.above(1), p.below(1), tail[6], tail[25])
	}
	// A bound that is a quotient is not exceeded by it.
	p := between([]float64{11, 11, 11, 11, 11}, []float64{10, 10, 10, 10, 10}, tail)
	if p.above(1.1) != 1 || p.above(1.0999) != tail[0] || p.below(1.1) != 1 || p.below(1.1001) != tail[0] {
		t.Errorf("all quotients 1.1: p is %g at it, %g below it", p.above(1.1), p.above(1.0999))
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		n    int
		want loadgen.Estimate
	}{
		{1, loadgen.Estimate{Value: 1, Low: 1, High: 1, Confidence: 0}},
		{2, loadgen.Estimate{Value: 1.5, Low: 1, High: 2, Confidence: 0.5}},
		{5, loadgen.Estimate{Value: 3, Low: 1, High: 5, Confidence: 1 - 2.0/32}},
		{6, loadgen.Estimate{Value: 3.5, Low: 1, High: 6, Confidence: 1 - 2.0/64}},
		{10, loadgen.Estimate{Value: 5.5, Low: 2, High: 9, Confidence: 1 - 2*11.0/1024}},
		{20, loadgen.Estimate{Value: 10.5, Low: 6, High: 15, Confidence: 1 - 2*21700.0/(1<<20)}},
	} {
		values := make([]float64, test.n)
		for i := range values {
			values[i] = float64(test.n - i)
		}
		got := median(values)
		if math.Abs(got.Confidence-test.want.Confidence) > 1e-12 {
			t.Errorf("%d values: the confidence is %g, want %g", test.n, got.Confidence, test.want.Confidence)
		}
		got.Confidence = test.want.Confidence
		if got != test.want {
			t.Errorf("%d values: %+v, want %+v", test.n, got, test.want)
		}
		if slices.IsSorted(values) && test.n > 1 {
			t.Errorf("%d values: the caller's values were sorted", test.n)
		}
	}
}
