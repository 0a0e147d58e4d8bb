package compare

import (
	"math"
	"slices"

	"github.com/crdconform/crdconform/loadgen"
)

// inverse is the estimate of one divided by what e estimates.
func inverse(e loadgen.Estimate) loadgen.Estimate {
	return loadgen.Estimate{Value: 1 / e.Value, Low: 1 / e.High, High: 1 / e.Low, Confidence: e.Confidence}
}

// finite reports whether there is a number for everything.
func finite(e loadgen.Estimate) bool { return !math.IsInf(e.Value+e.Low+e.High, 0) }

// tails returns, for every k, the probability that the Mann-Whitney statistic of n and m values is k or less when both come
// from the same distribution. It is exact, by the recurrence of Mann and Whitney: the greatest of all values is one of the n
// with probability n/(n+m), and is greater than all of the m then.
func tails(n, m int) []float64 {
	var fewer [][]float64 // with one value fewer of the n, by the number of the m
	for i := range n + 1 {
		row := make([][]float64, m+1)
		for j := range m + 1 {
			row[j] = make([]float64, i*j+1)
			if i == 0 || j == 0 {
				row[j][0] = 1
				continue
			}
			share := float64(i) / float64(i+j)
			for u, p := range fewer[j] {
				row[j][u+j] += share * p
			}
			for u, p := range row[j-1] {
				row[j][u] += (1 - share) * p
			}
		}
		fewer = row
	}
	tail, sum := fewer[m], 0.0
	for u, p := range tail {
		sum += p
		tail[u] = min(sum, 1)
	}
	tail[n*m] = 1 // but for rounding
	return tail
}

// chances keeps what tails returned, by the numbers of values.
type chances map[[2]int][]float64

func (c chances) of(n, m int) []float64 {
	tail, found := c[[2]int{n, m}]
	if !found {
		tail = tails(n, m)
		c[[2]int{n, m}] = tail
	}
	return tail
}

// pairs has the quotients of each value of one sample by each of another, in ascending order. With tail, how likely it is by
// chance that so few of them lie on one side, they are all that the test and the estimate need: to test whether one sample is
// greater by a factor is to count the quotients beyond it, and the interval has the factors that the test does not reject.
type pairs struct {
	quotients []float64
	tail      []float64
}

// between divides the values of one sample by those of another. None of them is negative, and two zeros are equal.
func between(dividends, divisors, tail []float64) pairs {
	quotients := make([]float64, 0, len(dividends)*len(divisors))
	for _, a := range dividends {
		for _, b := range divisors {
			q := 1.0
			if a != b {
				q = a / b
			}
			quotients = append(quotients, q)
		}
	}
	slices.Sort(quotients)
	return pairs{quotients: quotients, tail: tail}
}

// above is the one-sided p value of the hypothesis that the first sample is not greater by more than a factor. Quotients that
// equal the factor speak for the hypothesis, so with ties p is not smaller than it should be.
func (p pairs) above(factor float64) float64 {
	n, _ := slices.BinarySearch(p.quotients, math.Nextafter(factor, math.Inf(1)))
	return p.tail[n]
}

// below is the one-sided p value of the hypothesis that the first sample is not smaller than by a factor.
func (p pairs) below(factor float64) float64 {
	n, _ := slices.BinarySearch(p.quotients, factor)
	return p.tail[len(p.quotients)-n]
}

// estimate is that of Hodges and Lehmann for the factor between the samples.
func (p pairs) estimate() loadgen.Estimate {
	k := 0
	for p.tail[k+1] <= error95 {
		k++
	}
	last := len(p.quotients) - 1
	return loadgen.Estimate{Value: middle(p.quotients), Low: p.quotients[k], High: p.quotients[last-k], Confidence: max(0, 1-2*p.tail[k])}
}

// median is the median of a sample, with the interval of the sign test.
func median(values []float64) loadgen.Estimate {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	tail := math.Pow(0.5, float64(n)) // the probability that at most k values are smaller than the true median
	ways, k := tail, 0
	for {
		ways *= float64(n-k) / float64(k+1)
		if tail+ways > error95 {
			break
		}
		tail += ways
		k++
	}
	return loadgen.Estimate{Value: middle(sorted), Low: sorted[k], High: sorted[n-1-k], Confidence: max(0, 1-2*tail)}
}

// middle is the median of sorted values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
