package reporter

import (
	"encoding/csv"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/crdconform/crdconform/loadgen"
)

// mostPoints is how many seconds a chart draws one by one. It has room for no more, nor has a page with several charts.
const mostPoints = 300

// stageCSV writes the stage second by second. Times are milliseconds, and absent where nothing came back.
func stageCSV(s loadgen.Stage, w io.Writer) error {
	table := csv.NewWriter(w)
	rows := [][]string{{"end s", "requests", "objects", "failed", "p50 ms", "p90 ms", "p99 ms", "max ms"}}
	for _, second := range s.Series {
		row := []string{
			strconv.FormatFloat(second.End, 'f', -1, 64),
			strconv.FormatUint(second.Requests, 10), strconv.FormatUint(second.Objects, 10), strconv.FormatUint(second.Failed, 10),
		}
		for _, t := range []float64{second.P50, second.P90, second.P99, second.Max} {
			text := ""
			if second.Requests > 0 {
				text = strconv.FormatFloat(t, 'f', -1, 64)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return table.WriteAll(rows)
}

// overTime draws what came back over time: times above, requests below. It draws nothing when there is no second to compare
// with another.
func overTime(s loadgen.Stage) template.HTML {
	seconds, each := drawn(s)
	if len(seconds) < 2 {
		return ""
	}
	times, rates := newChart("", "milliseconds"), newChart("seconds", "requests per second")
	if each > 1 {
		rates.x.label = fmt.Sprintf("seconds; times are the longest in %d s, rates the mean", each)
	}
	above := func(name string, of func(loadgen.Second) float64, h hue, d dashing) {
		times.add(name, levels(seconds, func(s loadgen.Second, _ float64) (float64, bool) { return of(s), s.Requests > 0 }), h, d)
	}
	below := func(name string, of func(loadgen.Second) uint64, h hue, d dashing) {
		rates.add(name, levels(seconds, func(s loadgen.Second, lasted float64) (float64, bool) {
			return float64(of(s)) / lasted, lasted > 0
		}), h, d)
	}
	above("max", func(s loadgen.Second) float64 { return s.Max }, gray, dotted)
	above("p99", func(s loadgen.Second) float64 { return s.P99 }, orange, dashed)
	above("p50", func(s loadgen.Second) float64 { return s.P50 }, blue, solid)
	below("answered", func(s loadgen.Second) uint64 { return s.Requests }, green, solid)
	if s.Failed > 0 {
		below("failed", func(s loadgen.Second) uint64 { return s.Failed }, red, dashed)
	}
	times.y.fromZero(0.3) // for the legend, since the longest time may be the first
	rates.y.fromZero(0.3)
	rates.x.fromZero(0)
	times.x.max = rates.x.max
	return svg(400, times, rates)
}

// levels are a line that has the same height from the beginning of each second to its end, so that the first is there too. A second
// that has no figure, given how long it lasted, is passed over.
func levels(seconds []loadgen.Second, of func(s loadgen.Second, lasted float64) (y float64, has bool)) []point {
	var points []point
	began := 0.0
	for _, second := range seconds {
		if y, has := of(second, second.End-began); has {
			points = append(points, point{began, y}, point{second.End, y})
		}
		began = second.End
	}
	return points
}

// drawn are the seconds that a chart shows, and how many each of them stands for. A last one that was cut short is left out:
// the few requests in it make no rate.
func drawn(s loadgen.Stage) (seconds []loadgen.Second, each int) {
	seconds = s.Series
	if n := len(seconds); n > 1 && seconds[n-1].End-seconds[n-2].End < 0.5 {
		seconds = seconds[:n-1]
	}
	each = (len(seconds) + mostPoints - 1) / mostPoints
	if each <= 1 {
		return seconds, 1
	}
	var merged []loadgen.Second
	for i, second := range seconds {
		if i%each == 0 {
			merged = append(merged, second)
			continue
		}
		m := &merged[len(merged)-1]
		m.End, m.Requests, m.Objects, m.Failed = second.End, m.Requests+second.Requests, m.Objects+second.Objects, m.Failed+second.Failed
		m.P50, m.P90, m.P99, m.Max = max(m.P50, second.P50), max(m.P90, second.P90), max(m.P99, second.P99), max(m.Max, second.Max)
	}
	return merged, each
}
