package load

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/crdconform/crdconform/loadgen"
)

// CostOf finds what a request, each object and, if the stages differ in the size of objects, each kB costs: the plane through the median
// service times of runs with different batches, each weighted by its own size. Being off by a tenth counts the same for small batches and
// large ones. It returns nil when there are less than three batches, when the runs differ in more than batches and sizes, when the size of
// objects goes with the batch so that the two can't be separated, or when a run says nothing, since it is void, or was stopped, or lost a
// part, or since the webhook was behind.
func CostOf(summaries []Summary) *loadgen.Cost {
	var times, weights []float64
	var requests, objects, kilobytes []float64
	c := &loadgen.Cost{}
	for _, s := range summaries {
		first := summaries[0].Workload
		if s.Workload.Clients != first.Clients || s.Workload.Rate() != first.Rate() || s.Good == 0 || s.Void() || s.Partial || s.Behind() != "" {
			return nil
		}
		median := float64(s.Service.ValueAtPercentile(50))
		times, weights = append(times, median), append(weights, 1/(median*median))
		batch := float64(s.Workload.Batch)
		requests, objects, kilobytes = append(requests, 1), append(objects, batch), append(kilobytes, batch*perObject(s)/1000)
		c.Batches, c.Bytes = append(c.Batches, s.Workload.Batch), append(c.Bytes, s.Workload.Bytes)
	}
	c.Batches, c.Bytes = distinct(c.Batches), distinct(c.Bytes)
	if len(c.Batches) < 3 {
		return nil
	}
	parts := [][]float64{requests, objects, kilobytes}
	if len(c.Bytes) == 1 {
		parts, c.Bytes = parts[:2], nil
	}
	costs, explained := regress(parts, times, weights)
	if math.IsNaN(explained) || math.IsInf(explained, 0) {
		return nil // all took the same, or the parts cannot be separated
	}
	c.Fit = explained
	for i, to := range []*float64{&c.Request, &c.Object, &c.Kilobyte}[:len(costs)] {
		*to = milliseconds(time.Duration(costs[i] * float64(time.Microsecond)))
	}
	return c
}

// perObject returns how many bytes an object of a run had, with its share of what is around the objects.
func perObject(s Summary) float64 {
	return float64(s.BytesOut) / (float64(max(s.answered(), 1)) * float64(s.Workload.Batch))
}

// distinct sorts values, and leaves each in once.
func distinct(values []int) []int {
	slices.Sort(values)
	return slices.Compact(values)
}

// regress returns what each part costs, by the least weighted squares, and the share of the variance that this explains. That is NaN if
// the parts can't be separated. The library that computes other statistics here would link two megabytes of linear algebra for it.
func regress(parts [][]float64, y, weights []float64) (costs []float64, explained float64) {
	n := len(parts)
	equations := make([][]float64, n) // the normal equations, with the right side in the last column
	for i := range equations {
		equations[i] = make([]float64, n+1)
		for k := range y {
			for j := range parts {
				equations[i][j] += weights[k] * parts[i][k] * parts[j][k]
			}
			equations[i][n] += weights[k] * parts[i][k] * y[k]
		}
	}
	costs = solve(equations)
	if costs == nil {
		return make([]float64, n), math.NaN()
	}
	sum, total := 0.0, 0.0
	for k := range y {
		sum, total = sum+weights[k]*y[k], total+weights[k]
	}
	var all, rest float64
	for k := range y {
		off := y[k]
		for i := range parts {
			off -= costs[i] * parts[i][k]
		}
		all, rest = all+weights[k]*(y[k]-sum/total)*(y[k]-sum/total), rest+weights[k]*off*off
	}
	if all == 0 {
		return costs, math.NaN()
	}
	return costs, 1 - rest/all
}

// dependent is how small a pivot may be, as a share of what was there, until equations count as saying the same.
const dependent = 1e-9

// solve solves linear equations, whose right sides are the last column, by elimination; nil if they say the same. They are scaled to ones
// in the diagonal before, which must be positive, as it is in normal equations.
func solve(equations [][]float64) []float64 {
	n := len(equations)
	scales := make([]float64, n)
	for i := range n {
		scales[i] = math.Sqrt(equations[i][i])
	}
	for i := range n {
		for j := range n {
			equations[i][j] /= scales[i] * scales[j]
		}
		equations[i][n] /= scales[i]
	}
	for i := range n {
		if !(equations[i][i] > dependent) {
			return nil
		}
		for k := range n {
			if k == i {
				continue
			}
			share := equations[k][i] / equations[i][i]
			for j := i; j <= n; j++ {
				equations[k][j] -= share * equations[i][j]
			}
		}
	}
	solution := make([]float64, n)
	for i := range n {
		solution[i] = equations[i][n] / equations[i][i] / scales[i]
	}
	return solution
}

// TypicalCost returns the median of several repeats by the time that an object adds; of two, the lesser. It returns nil if there are
// none.
func TypicalCost(costs []*loadgen.Cost) *loadgen.Cost {
	if len(costs) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(costs), func(a, b *loadgen.Cost) int { return cmp.Compare(a.Object, b.Object) })
	return sorted[(len(sorted)-1)/2]
}
