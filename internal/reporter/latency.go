package reporter

import (
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
)

// hgrm writes a table of percentiles in milliseconds, in the format of HdrHistogram's tools and plotters.
func hgrm(t loadgen.Times, w io.Writer) error {
	h, err := histogram.Decode(t.Histogram)
	if err != nil {
		return err
	}
	_, err = h.PercentilesPrint(w, 5, 1000)
	return err
}

// curve draws the times of a stage by percentile. The scale is HdrHistogram's: each step to the right has a tenth of the
// requests of the previous one, which leaves room for the slow ones.
func curve(s loadgen.Stage) (template.HTML, error) {
	response, err := curvePoints(s.Response)
	if err != nil {
		return "", err
	}
	service, err := curvePoints(s.Service)
	if err != nil {
		return "", err
	}
	c := newChart("percentile", "milliseconds")
	c.add("response, from due", response, blue, solid)
	c.add("service, from sent", service, orange, dashed)
	furthest := 0.0
	for _, points := range [][]point{response, service} {
		if len(points) > 0 {
			furthest = max(furthest, points[len(points)-1].X)
		}
	}
	c.y.fromZero(0.1)
	c.x.max, c.x.ticks = math.Max(math.Ceil(furthest), 1), percentileTicks
	return svg(280, c), nil
}

func curvePoints(t loadgen.Times) ([]point, error) {
	h, err := histogram.Decode(t.Histogram)
	if err != nil {
		return nil, err
	}
	return steps(h), nil
}

// steps returns a point for each step of the distribution. The last request's percentile is 100, which is infinitely far to
// the right, so it is drawn where the one before the last is.
func steps(h *hdrhistogram.Histogram) []point {
	if h.TotalCount() == 0 {
		return nil
	}
	most := math.Log10(math.Max(float64(h.TotalCount()), 2))
	var points []point
	for _, bracket := range h.CumulativeDistribution() {
		x := -math.Log10(1 - bracket.Quantile/100)
		points = append(points, point{math.Min(x, most), histogram.Milliseconds(bracket.ValueAt)})
	}
	return points
}

// percentileTicks labels the steps 0, 90, 99, 99.9 and so on.
func percentileTicks(from, to float64) []tick {
	var ticks []tick
	for step := math.Ceil(from); step <= to; step++ {
		// 3 steps are 99.9, which has one digit after the point.
		digits := max(int(step)-2, 0)
		ticks = append(ticks, tick{step, fmt.Sprintf("%.*f %%", digits, 100-100*math.Pow(10, -step))})
	}
	return ticks
}
