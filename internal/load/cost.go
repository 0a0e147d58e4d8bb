package load

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/crdconform/crdconform/loadgen"
)

// CostOf finds the line through the median service times of runs with different batches, each weighted by its own size:
// being off by a tenth counts the same for small batches and large ones. It returns nil when there are less than three
// batches, when the runs differ in more than their batches, as in the size of objects, or when one of them says nothing, since
// it is void, or was stopped, or lost a part, or since the webhook was behind.
func CostOf(summaries []Summary) *loadgen.Cost {
	var x, y, weights []float64
	c := &loadgen.Cost{}
	for _, s := range summaries {
		first := summaries[0].Workload
		if s.Workload.Bytes != first.Bytes || s.Workload.Clients != first.Clients || s.Workload.Rate() != first.Rate() || s.Good == 0 || s.Void() || s.Partial || s.Behind() != "" {
			return nil
		}
		median := float64(s.Service.ValueAtPercentile(50))
		x, y, weights = append(x, float64(s.Workload.Batch)), append(y, median), append(weights, 1/(median*median))
		c.Batches = append(c.Batches, s.Workload.Batch)
	}
	slices.Sort(c.Batches)
	c.Batches = slices.Compact(c.Batches)
	if len(c.Batches) < 3 {
		return nil
	}
	request, object, fit := regress(x, y, weights)
	c.Fit = fit
	if math.IsNaN(c.Fit) || math.IsInf(c.Fit, 0) {
		return nil // all took the same
	}
	c.Request, c.Object = milliseconds(time.Duration(request*float64(time.Microsecond))), milliseconds(time.Duration(object*float64(time.Microsecond)))
	return c
}

// regress returns the line y = at0 + slope*x of the least weighted squares, and the share of the variance that it explains. The library
// that computes other statistics here would link two megabytes of linear algebra for it.
func regress(x, y, weights []float64) (at0, slope, explained float64) {
	mean := func(values []float64) float64 {
		sum, total := 0.0, 0.0
		for i, v := range values {
			sum, total = sum+weights[i]*v, total+weights[i]
		}
		return sum / total
	}
	meanX, meanY := mean(x), mean(y)
	var xx, xy, yy, rest float64
	for i := range x {
		dx, dy := x[i]-meanX, y[i]-meanY
		xx, xy, yy = xx+weights[i]*dx*dx, xy+weights[i]*dx*dy, yy+weights[i]*dy*dy
	}
	slope = xy / xx
	at0 = meanY - slope*meanX
	for i := range x {
		off := y[i] - at0 - slope*x[i]
		rest += weights[i] * off * off
	}
	return at0, slope, 1 - rest/yy
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
