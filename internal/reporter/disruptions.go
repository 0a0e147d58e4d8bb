package reporter

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

//go:embed disruption.html
var disruptionPage string

// Limits of a page.
const (
	mostCourses  = 60 // scenarios with a chart
	mostFailures = 20 // ways to fail of a scenario
)

// disruptionView is a disruption as the page has it.
type disruptionView struct {
	reports.Disruption

	Anchor   string
	Verdict  requirement.Verdict
	Open     bool
	Why      []string // it is void, unless the requirement is not judged for that reason, which is given with it
	Cells    []string // of its row, by disruptionColumns
	Course   string   // in words
	Chart    template.HTML
	Listed   []reports.DisruptionFailure
	Unlisted string
}

// disruptionColumns are the columns of the table of disruptions, besides the scenario and its verdict.
func disruptionColumns() []string {
	return []string{"failed", "outage s", "recovery s", "lost", "wrong", "watches gone"}
}

// disruptionCells are the figures of a row.
func disruptionCells(d reports.Disruption) []string {
	if len(d.Void) > 0 {
		return []string{"void", "", "", "", "", ""}
	}
	recovery := "none"
	if d.Recovery != nil {
		recovery = fmt.Sprintf("%.2f", *d.Recovery)
	}
	return []string{
		strconv.Itoa(d.Failed), fmt.Sprintf("%.2f", d.Outage), recovery, strconv.Itoa(d.Lost), strconv.Itoa(d.Wrong), strconv.Itoa(d.WatchGone),
	}
}

// disruptionVerdict is the verdict of a disruption's requirement.
func disruptionVerdict(r *reports.Report, d reports.Disruption) requirement.Verdict {
	i := slices.IndexFunc(r.Results, func(result reports.Result) bool { return result.ID == d.Requirement && result.Subject == d.Subject })
	if i < 0 {
		return requirement.Unknown
	}
	return r.Results[i].Verdict
}

// disruptionViews prepares the disruptions of a report for its page.
func disruptionViews(r *reports.Report) []disruptionView {
	var all []disruptionView
	for i, d := range r.Disruptions {
		v := disruptionView{
			Disruption: d, Anchor: "disruption-" + anchor(d.Requirement, d.Subject), Verdict: disruptionVerdict(r, d), Cells: disruptionCells(d), Course: courseOf(d),
			Listed: d.Failures[:min(len(d.Failures), mostFailures)],
		}
		if v.Verdict != requirement.Errored {
			v.Why = d.Void
		}
		v.Open = v.Verdict == requirement.Failed || i == 0
		if n := len(d.Failures) - len(v.Listed); n > 0 {
			v.Unlisted = visible.More(n) + ", all of them in report.json"
		}
		if i < mostCourses {
			v.Chart = courseChart(d)
		}
		all = append(all, v)
	}
	return all
}

// courseOf says what happened, for those who can't see the chart too.
func courseOf(d reports.Disruption) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The fault lasted from %.1f s to %.1f s of %.1f s. ", d.Began, d.Ended, d.Seconds)
	for _, phase := range []struct {
		name     string
		from, to float64
	}{{"Before it", 0, d.Began}, {"Meanwhile", d.Began, d.Ended}, {"Afterwards", d.Ended, d.Seconds}} {
		if text := phaseOf(d.Points, phase.from, phase.to); text != "" {
			fmt.Fprintf(&b, "%s, %s. ", phase.name, text)
		}
	}
	switch {
	case len(d.Void) > 0:
	case d.FirstFailure != nil:
		fmt.Fprintf(&b, "The first failure came %.2f s after its beginning. ", *d.FirstFailure)
	default:
		b.WriteString("Nothing failed. ")
	}
	switch {
	case len(d.Void) > 0:
		b.WriteString("The figures mean nothing.")
	case d.Recovery == nil:
		b.WriteString("The level from before the fault was not reached again.")
	default:
		fmt.Fprintf(&b, "Everything was as before %.2f s after its end", *d.Recovery)
		if d.SinceReady != nil {
			fmt.Fprintf(&b, ", %.2f s after the webhook was ready", *d.SinceReady)
		}
		b.WriteString(".")
	}
	return b.String()
}

// phaseOf sums up the points that begin and end in a time; nothing if there are none.
func phaseOf(points []reports.DisruptionPoint, from, to float64) string {
	n, succeeded, failed, longest, began := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, p := range points {
		// At the edges belongs to a time what is in it for the greater part.
		if middle := (began + p.Seconds) / 2; middle >= from && middle < to {
			n, succeeded, failed, longest = n+1, succeeded+p.Succeeded, failed+p.Failed, max(longest, p.P99)
		}
		began = p.Seconds
	}
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%.0f operations a second succeeded", succeeded/n)
	if failed > 0 {
		text += fmt.Sprintf(" and %.3g failed", failed/n)
	}
	return text + fmt.Sprintf(", with a p99 of up to %.3g ms", longest)
}

// courseChart draws times above, rates below them, and the memory of the webhook below these if it was measured. The time of the fault
// is shaded. It draws nothing when there are no two points to compare.
func courseChart(d reports.Disruption) template.HTML {
	if len(d.Points) < 2 {
		return ""
	}
	times, rates, memory := newChart("", "milliseconds"), newChart("seconds", "operations per second"), newChart("seconds", "MiB")
	charts, height := []*chart{times, rates}, 400.0
	measured := slices.ContainsFunc(d.Points, func(p reports.DisruptionPoint) bool { return p.Memory > 0 })
	if measured {
		charts, height = append(charts, memory), 560
		rates.x.label = ""
	}
	ended := func(p reports.DisruptionPoint) bool { return p.P99 > 0 }
	always := func(reports.DisruptionPoint) bool { return true }
	for _, l := range []courseLine{
		{times, "p99", orange, dashed, func(p reports.DisruptionPoint) float64 { return p.P99 }, ended},
		{times, "p50", blue, solid, func(p reports.DisruptionPoint) float64 { return p.P50 }, ended},
		{rates, "succeeded", green, solid, func(p reports.DisruptionPoint) float64 { return p.Succeeded }, always},
		{rates, "failed", red, dashed, func(p reports.DisruptionPoint) float64 { return p.Failed }, func(reports.DisruptionPoint) bool { return d.Failed > 0 }},
		{memory, "memory", blue, solid, func(p reports.DisruptionPoint) float64 { return p.Memory / (1 << 20) }, func(p reports.DisruptionPoint) bool { return p.Memory > 0 }},
	} {
		l.draw(d.Points)
	}
	for _, c := range charts {
		c.y.fromZero(0.35) // for the legend
		c.x.max = max(d.Seconds, d.Points[len(d.Points)-1].Seconds)
		c.x.fromZero(0)
		c.shade(d)
	}
	return svg(height, charts...)
}

// courseLine is a line in a chart of a disruption.
type courseLine struct {
	in   *chart
	name string
	hue  hue
	dash dashing
	of   func(reports.DisruptionPoint) float64
	has  func(reports.DisruptionPoint) bool
}

// draw draws the line as steps, since each point stands for a time.
func (l courseLine) draw(points []reports.DisruptionPoint) {
	var steps []point
	began := 0.0
	for _, p := range points {
		if l.has(p) {
			steps = append(steps, point{began, l.of(p)}, point{p.Seconds, l.of(p)})
		}
		began = p.Seconds
	}
	l.in.add(l.name, steps, l.hue, l.dash)
}

// shade marks the time of the fault, and when the webhook was ready again: by lines too, which are seen in print.
func (c *chart) shade(d reports.Disruption) {
	c.shaded, c.shades = d.Began, d.Ended
	c.upright(d.Began, "fault", red, solid)
	c.upright(d.Ended, "", red, solid)
	if d.Ready != nil {
		c.upright(*d.Ready, "ready", gray, dotted)
	}
}

// markdownDisruptions has a table with a row for each disruption, and what failed.
func markdownDisruptions(r *reports.Report, b *strings.Builder) {
	if len(r.Disruptions) == 0 {
		return
	}
	t := visible.Table{Head: append([]string{"scenario", "verdict"}, disruptionColumns()...)}
	for _, d := range r.Disruptions {
		row := []any{visible.Raw(fmt.Sprintf("`%s`<br>%s", d.Requirement, visible.Markdown(d.Title))), disruptionVerdict(r, d)}
		for _, cell := range disruptionCells(d) {
			row = append(row, cell)
		}
		t.Add(row...)
	}
	b.WriteString("\n## Disruptions\n\n" + t.Markdown())
	for _, d := range r.Disruptions {
		if disruptionVerdict(r, d) == requirement.Passed || b.Len() > detailed {
			continue
		}
		fmt.Fprintf(b, "\n`%s`: %s\n", d.Requirement, visible.Markdown(courseOf(d)))
		for _, why := range d.Void {
			fmt.Fprintf(b, "- void: %s\n", visible.Markdown(why))
		}
		for _, f := range d.Failures[:min(len(d.Failures), mostFailures)] {
			fmt.Fprintf(b, "- %d × %s at %s: %s\n", f.Count, visible.Markdown(f.Verb), visible.Markdown(f.Version), visible.Markdown(brief(f.Example)))
		}
	}
}
