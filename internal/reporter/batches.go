package reporter

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
)

// batches are workloads that differ in the size of their batch only.
type batches struct {
	name   string
	groups []group
}

// mostBatches is the maximum number of lines of each kind in a chart over batch sizes.
const mostBatches = 3

// byBatch returns workloads that differ only in batch size: with objects of the same size, sent in the same way. It returns nil if
// there are fewer than two sizes.
func byBatch(l *loadgen.Load) []batches {
	type key struct {
		bytes, clients int
		rate           float64
		pairs          string
	}
	lines, order := map[key][]group{}, []key(nil)
	for _, g := range groupsOf(l) {
		s := g.Runs[0]
		k := key{s.Bytes, s.Clients, s.Rate, fmt.Sprint(s.Pairs)}
		if lines[k] == nil {
			order = append(order, k)
		}
		lines[k] = append(lines[k], g)
	}
	var all []batches
	for _, k := range order {
		sizes := map[int]group{}
		for _, g := range lines[k] {
			if size := max(g.Runs[0].Batch, 1); len(sizes[size].Runs) == 0 {
				sizes[size] = g
			}
		}
		if len(sizes) < 2 {
			continue
		}
		b := batches{name: given(k.rate) + "/s"}
		if k.clients > 0 {
			b.name = visible.Count(k.clients, "client", "")
		}
		if k.bytes > 0 {
			b.name += fmt.Sprintf(", %s bytes", grouped(strconv.Itoa(k.bytes)))
		}
		for _, size := range slices.Sorted(maps.Keys(sizes)) {
			b.groups = append(b.groups, sizes[size])
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b batches) int { return cmp.Compare(len(b.groups), len(a.groups)) })
	return all
}

// overBatches draws times over batch sizes, if there is more than one.
func overBatches(l *loadgen.Load) template.HTML {
	all := byBatch(l)
	if len(all) == 0 {
		return ""
	}
	c := newChart("objects in a request", "milliseconds")
	hues, sizes := []hue{blue, orange, green}, map[int]bool{}
	least, most := math.Inf(1), 0.0
	line := func(name string, b batches, of func(loadgen.Times) float64, h hue, d dashing) {
		var points []point
		for _, g := range b.groups {
			s := g.Typical()
			y := max(of(s.Response), 0.001) // a microsecond, as a scale of powers has no 0
			size := max(s.Batch, 1)
			points = append(points, point{float64(size), y})
			least, most, sizes[size] = min(least, y), max(most, y), true
		}
		c.add(name, points, h, d)
	}
	for i, b := range all[:min(len(all), mostBatches)] {
		line("p50, "+b.name, b, func(t loadgen.Times) float64 { return t.P50 }, hues[i], solid)
		line("p99, "+b.name, b, func(t loadgen.Times) float64 { return t.P99 }, hues[i], dashed)
	}
	ordered := slices.Sorted(maps.Keys(sizes))
	c.x.min, c.x.max, c.x.powers = float64(ordered[0]), float64(ordered[len(ordered)-1]), true
	c.y.min, c.y.max, c.y.powers, c.y.ticks = least/1.5, most*2, true, powerTicks
	c.x.ticks = func(_, _ float64) []tick {
		var ticks []tick
		for _, size := range ordered {
			ticks = append(ticks, tick{float64(size), strconv.Itoa(size)})
		}
		return ticks
	}
	return svg(280, c)
}

// powerTicks labels powers of ten, and twice and five times as much where there is room.
func powerTicks(from, to float64) []tick {
	steps := []float64{1, 2, 5}
	if to/from > 300 {
		steps = []float64{1}
	}
	var ticks []tick
	for e := math.Floor(math.Log10(from)); math.Pow(10, e) <= to; e++ {
		for _, step := range steps {
			if v := step * math.Pow(10, e); from <= v && v <= to {
				ticks = append(ticks, tick{v, fmt.Sprintf("%.3g", v)})
			}
		}
	}
	return ticks
}
