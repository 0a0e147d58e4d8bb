package load

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// TestRegress holds the line to that of a library.
func TestRegress(t *testing.T) {
	t.Parallel()
	x, y, weights := []float64{1, 10, 100, 500}, []float64{3, 4.1, 13.7, 52}, []float64{1, 0.5, 0.1, 0.01}
	at0, slope, explained := regress(x, y, weights)
	want0, want := stat.LinearRegression(x, y, weights, false)
	if near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Abs(b) }; !near(at0, want0) || !near(slope, want) || !near(explained, stat.RSquared(x, y, weights, want0, want)) {
		t.Errorf("%g + %g x, which explains %g; want %g + %g x", at0, slope, explained, want0, want)
	}
	if _, _, explained := regress([]float64{1, 2, 3}, []float64{5, 5, 5}, []float64{1, 1, 1}); !math.IsNaN(explained) {
		t.Errorf("what is always the same explains %g", explained)
	}
}
