package reporter

import (
	"fmt"
	"html/template"
	"math"
	"strings"
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

// dashing distinguishes lines for readers who cannot see their colors. It is an attribute of SVG.
type dashing string

const (
	solid  dashing = ""
	dashed dashing = ` stroke-dasharray="5 3"`
	dotted dashing = ` stroke-dasharray="1.5 2.5"`
)

// point is a place in a chart, by the scales of its axes.
type point struct{ X, Y float64 }

// tick is a place on an axis with a label.
type tick struct {
	Value float64
	Label string
}

// axis is a scale of a chart.
type axis struct {
	label    string
	min, max float64
	powers   bool // equal steps are equal factors, not equal differences
	ticks    func(from, to float64) []tick
}

// share returns how far up the axis a value is, between 0 and 1 if it is on the axis.
func (a *axis) share(value float64) float64 {
	from, to := a.min, a.max
	if a.powers {
		value, from, to = math.Log(value), math.Log(from), math.Log(to)
	}
	if to <= from {
		return 0
	}
	return (value - from) / (to - from)
}

// fromZero has an axis begin at 0 and leave room above, as a share of the whole. There is a scale when everything is 0 too.
func (a *axis) fromZero(above float64) {
	a.min, a.max, a.ticks = 0, math.Max(a.max/(1-above), 0.001), roundTicks
}

// line is a line of a chart.
type line struct {
	name   string // in the legend; none if empty
	points []point
	hue    hue
	dash   dashing
	width  float64
}

// chart is a chart with lines, and with a shaded part if there is one.
type chart struct {
	x, y           axis
	lines          []line
	shaded, shades float64 // from where to where on the x axis
}

// newChart is a chart without lines, whose scales have the width of what is added.
func newChart(x, y string) *chart {
	return &chart{x: axis{label: x, ticks: roundTicks}, y: axis{label: y, ticks: roundTicks}}
}

// add adds a line, if it has points.
func (c *chart) add(name string, points []point, h hue, d dashing) {
	if len(points) == 0 {
		return
	}
	c.lines = append(c.lines, line{name, points, h, d, 1.5})
	for _, p := range points {
		c.x.max, c.y.max = max(c.x.max, p.X), max(c.y.max, p.Y)
	}
}

// upright adds a line from bottom to top.
func (c *chart) upright(at float64, name string, h hue, d dashing) {
	c.lines = append(c.lines, line{name, []point{{at, c.y.min}, {at, c.y.max}}, h, d, 1})
}

// Lengths of charts, in points. They are so narrow that phones, which have half of the width, show their text in a size that can be read.
const (
	chartWidth = 360.0
	left       = 54.0 // of the axis: labels of ticks and the name of the scale are beside it
	right      = 24.0 // half of the last label
	below      = 34.0 // labels of ticks and the name of the scale
	spacing    = 8.0
	fontSize   = 10.0
)

// svg returns charts that are above each other as an SVG element.
func svg(height float64, charts ...*chart) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-size="%g">`+"\n", chartWidth, height, fontSize)
	room := (height-spacing)/float64(len(charts)) - spacing
	for i, c := range charts {
		c.draw(&b, spacing+float64(i)*(room+spacing), room)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // it was drawn here, from numbers and escaped names
}

// draw draws a chart that begins at a height of the whole picture.
func (c *chart) draw(b *strings.Builder, top, height float64) {
	bottom, end := top+height-below, chartWidth-right
	x := func(value float64) float64 { return left + c.x.share(value)*(end-left) }
	y := func(value float64) float64 { return bottom - c.y.share(value)*(bottom-top) }
	text := func(x, y float64, attributes, what string) {
		if what == "" {
			return
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f"%s>%s</text>`+"\n", x, y, attributes, template.HTMLEscapeString(what))
	}
	for _, t := range c.x.ticks(c.x.min, c.x.max) {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="#ccc" stroke-width=".5"/>`+"\n", x(t.Value), bottom+4, top)
		text(x(t.Value), bottom+fontSize+5, ` text-anchor="middle"`, t.Label)
	}
	for _, t := range c.y.ticks(c.y.min, c.y.max) {
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="#ccc" stroke-width=".5"/>`+"\n", left-4, y(t.Value), end)
		text(left-7, y(t.Value)+fontSize/3, ` text-anchor="end"`, t.Label)
	}
	fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1fH%.1f" fill="none" stroke="#000" stroke-width=".5"/>`+"\n", left, top, bottom, end)
	text((left+end)/2, bottom+2*fontSize+9, ` text-anchor="middle"`, c.x.label)
	text(fontSize, (top+bottom)/2, fmt.Sprintf(` text-anchor="middle" transform="rotate(-90 %.1f %.1f)"`, fontSize, (top+bottom)/2), c.y.label)
	if c.shades > c.shaded {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1fH%.1fV%.1fz" fill="#%06x" fill-opacity=".1"/>`+"\n", x(c.shaded), bottom, top, x(c.shades), bottom, uint32(red))
	}
	legend := top
	for _, l := range c.lines {
		style := fmt.Sprintf(` fill="none" stroke="#%06x" stroke-width="%g"%s`, uint32(l.hue), l.width, l.dash)
		b.WriteString(`<path d="M`)
		for i, p := range l.points {
			if i > 0 {
				b.WriteByte('L')
			}
			fmt.Fprintf(b, "%.1f %.1f", x(p.X), y(p.Y))
		}
		fmt.Fprintf(b, `"%s/>`+"\n", style)
		if l.name == "" {
			continue
		}
		legend += fontSize + 2
		fmt.Fprintf(b, `<path d="M%.1f %.1fh20"%s/>`+"\n", left+6, legend-fontSize/3, style)
		text(left+30, legend, "", l.name)
	}
}

// roundTicks labels three to seven round numbers.
func roundTicks(from, to float64) []tick {
	step := math.Pow(10, math.Floor(math.Log10(to-from)))
	switch n := (to - from) / step; {
	case n < 1.5:
		step /= 5
	case n < 3:
		step /= 2
	case n > 7:
		step *= 2
	}
	var ticks []tick
	for n := math.Ceil(from / step); n*step <= to; n++ {
		ticks = append(ticks, tick{n * step, fmt.Sprintf("%.6g", n*step)})
	}
	return ticks
}
