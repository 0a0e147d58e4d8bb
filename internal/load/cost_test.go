package load

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// TestRegress holds a line to that of a library.
func TestRegress(t *testing.T) {
	t.Parallel()
	ones, x, y, weights := []float64{1, 1, 1, 1}, []float64{1, 10, 100, 500}, []float64{3, 4.1, 13.7, 52}, []float64{1, 0.5, 0.1, 0.01}
	costs, explained := regress([][]float64{ones, x}, y, weights)
	want0, want := stat.LinearRegression(x, y, weights, false)
	if !near(costs[0], want0) || !near(costs[1], want) || !near(explained, stat.RSquared(x, y, weights, want0, want)) {
		t.Errorf("%v, which explains %g; want %g + %g x", costs, explained, want0, want)
	}
	for name, y := range map[string][]float64{"what is always the same": {5, 5, 5}, "parts that go together": {1, 2, 3}} {
		parts := [][]float64{{1, 1, 1}, {1, 2, 3}}
		if name == "parts that go together" {
			parts = append(parts, []float64{2, 4, 6})
		}
		if _, explained := regress(parts, y, []float64{1, 1, 1}); !math.IsNaN(explained) {
			t.Errorf("%s: explains %g", name, explained)
		}
	}
}

// TestRegressPlane holds a plane to that of a library, whose equations are scaled by the roots of the weights.
func TestRegressPlane(t *testing.T) {
	t.Parallel()
	parts := [][]float64{{1, 1, 1, 1, 1, 1}, {1, 10, 100, 1, 10, 100}, {1, 10, 100, 10, 100, 1000}}
	y, weights := []float64{0.31, 0.52, 2.4, 0.36, 0.9, 6.7}, []float64{10, 4, 0.2, 8, 1.2, 0.02}
	a, b := mat.NewDense(len(y), len(parts), nil), mat.NewVecDense(len(y), nil)
	for k := range y {
		root := math.Sqrt(weights[k])
		for i := range parts {
			a.Set(k, i, root*parts[i][k])
		}
		b.SetVec(k, root*y[k])
	}
	var want mat.VecDense
	if err := want.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	costs, explained := regress(parts, y, weights)
	for i := range costs {
		if !near(costs[i], want.AtVec(i)) {
			t.Errorf("part %d costs %g, want %g", i, costs[i], want.AtVec(i))
		}
	}
	if explained < 0.9 || explained >= 1 {
		t.Errorf("it explains %g", explained)
	}
}
