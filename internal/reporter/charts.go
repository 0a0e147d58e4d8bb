package reporter

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// hue is a color as in CSS, such as 0x1f6fc4.
type hue uint32

// The colors of lines. They differ in brightness as well.
const (
	blue   hue = 0x1f6fc4
	orange hue = 0xc46a1f
	red    hue = 0xcf222e
	green  hue = 0x1a7f37
	gray   hue = 0x6e7781
)

// RGBA makes it a color.Color.
func (h hue) RGBA() (r, g, b, a uint32) {
	return color.RGBA{R: uint8(h >> 16), G: uint8(h >> 8), B: uint8(h), A: 0xff}.RGBA()
}

// dashing distinguishes lines for readers who cannot see their colors.
type dashing int

const (
	solid dashing = iota
	dashed
	dotted
)

func (d dashing) lengths() []vg.Length {
	switch d {
	case dashed:
		return []vg.Length{vg.Points(5), vg.Points(3)}
	case dotted:
		return []vg.Length{vg.Points(1.5), vg.Points(2.5)}
	case solid:
	}
	return nil
}

// newChart is a chart without lines.
func newChart(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding, p.Legend.XOffs = vg.Points(3), vg.Points(6)
	return p
}

// addLine draws a line, if it has points, and names it in the legend.
func addLine(p *plot.Plot, name string, points plotter.XYs, h hue, d dashing) error {
	if len(points) == 0 {
		return nil
	}
	drawn, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", name, err)
	}
	drawn.Color, drawn.Dashes, drawn.Width = h, d.lengths(), vg.Points(1.5)
	p.Add(drawn)
	p.Legend.Add(name, drawn)
	return nil
}

// fromZero has the scale of a chart begin at 0 and leave room above, as a share of the whole. There is a scale when everything
// is 0 too.
func fromZero(axis *plot.Axis, above float64) {
	axis.Min, axis.Max = 0, math.Max(axis.Max/(1-above), 0.001)
	axis.Tick.Marker = plot.TickerFunc(roundTicks)
}

// chartWidth is how wide charts are, in points: so little that phones, which have half of it, show their text in a size that can be read.
const chartWidth = 360

// svg returns charts that are above each other, with their axes aligned, as an SVG element. Lengths are points.
func svg(height float64, charts ...*plot.Plot) (template.HTML, error) {
	canvas := vgsvg.New(vg.Points(chartWidth), vg.Points(height))
	rows := make([][]*plot.Plot, 0, len(charts))
	for _, p := range charts {
		rows = append(rows, []*plot.Plot{p})
	}
	// Fonts of browsers are wider than the one that lengths are reckoned with, and the last label is at the edge.
	room := draw.Crop(draw.New(canvas), vg.Points(4), -vg.Points(10), 0, -vg.Points(4))
	for i, row := range plot.Align(rows, draw.Tiles{Rows: len(rows), Cols: 1, PadY: vg.Points(8)}, room) {
		charts[i].Draw(row[0])
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("drawing a chart: %w", err)
	}
	// An element inside of a page has no XML declaration and no document type.
	_, element, _ := bytes.Cut(b.Bytes(), []byte("<svg"))
	return template.HTML("<svg" + string(element)), nil //nolint:gosec // it was drawn here, from numbers
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
