package reports

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// HGRM writes a table of percentiles as HdrHistogram's tools and plotters read it, in milliseconds.
func (t Times) HGRM(w io.Writer) error {
	h, err := t.decode()
	if err != nil {
		return err
	}
	_, err = h.PercentilesPrint(w, 5, 1000)
	return err
}

// curve draws the times by percentile as SVG. The scale is HdrHistogram's: each step to the right is a tenth of the
// requests of the step before, so that the slow ones get the room.
func (l *Load) curve(w io.Writer) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "percentile", "milliseconds"
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Y.Min = 0
	furthest := 0.0
	for _, line := range []struct {
		times Times
		color color.Color
		dash  []vg.Length
	}{
		{l.Response, color.RGBA{R: 0x1f, G: 0x6f, B: 0xc4, A: 0xff}, nil},
		{l.Service, color.RGBA{R: 0xc4, G: 0x6a, B: 0x1f, A: 0xff}, []vg.Length{vg.Points(5), vg.Points(3)}},
	} {
		h, err := line.times.decode()
		if err != nil {
			return err
		}
		points := curvePoints(h)
		if len(points) == 0 {
			continue
		}
		furthest = max(furthest, points[len(points)-1].X)
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("drawing the curve: %w", err)
		}
		drawn.Color, drawn.Dashes, drawn.Width = line.color, line.dash, vg.Points(1.5)
		p.Add(drawn)
		p.Legend.Add(map[bool]string{true: "response, from due", false: "service, from sent"}[line.dash == nil], drawn)
	}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding, p.Legend.XOffs = vg.Points(3), vg.Points(6)
	p.Y.Max = math.Max(p.Y.Max*1.1, 0.001) // room for the legend, and an axis when nothing took a microsecond
	p.X.Min, p.X.Max = 0, math.Max(math.Ceil(furthest), 1)
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(percentileTicks), plot.TickerFunc(roundTicks)
	canvas := vgsvg.New(vg.Points(640), vg.Points(280))
	p.Draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}

// curvePoints returns a point for each step of the distribution. The last request's percentile is 100, which is infinitely
// far to the right, so it is drawn where the one before the last is.
func curvePoints(h *hdrhistogram.Histogram) plotter.XYs {
	if h.TotalCount() == 0 {
		return nil
	}
	most := math.Log10(math.Max(float64(h.TotalCount()), 2))
	var points plotter.XYs
	for _, bracket := range h.CumulativeDistribution() {
		x := -math.Log10(1 - bracket.Quantile/100)
		points = append(points, plotter.XY{X: math.Min(x, most), Y: ms(bracket.ValueAt)})
	}
	return points
}

// percentileTicks labels the steps 0, 90, 99, 99.9 and so on.
func percentileTicks(from, to float64) []plot.Tick {
	var ticks []plot.Tick
	for step := math.Ceil(from); step <= to; step++ {
		// 3 steps are 99.9, which has one digit after the point.
		digits := max(int(step)-2, 0)
		ticks = append(ticks, plot.Tick{Value: step, Label: fmt.Sprintf("%.*f %%", digits, 100-100*math.Pow(10, -step))})
	}
	return ticks
}

// roundTicks labels three to seven round numbers.
func roundTicks(from, to float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10(to-from)))
	switch n := (to - from) / step; {
	case n < 1.5:
		step /= 5
	case n < 3:
		step /= 2
	case n > 7:
		step *= 2
	}
	var ticks []plot.Tick
	for n := math.Ceil(from / step); n*step <= to; n++ {
		ticks = append(ticks, plot.Tick{Value: n * step, Label: fmt.Sprintf("%.6g", n*step)})
	}
	return ticks
}
