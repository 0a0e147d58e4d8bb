package reporter

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

//go:embed nights.html
var nightsPage string

const (
	shownTroubles = 1000
	shownStrip    = 120 // nights
	shownTrends   = 12
)

// nightRow is a line of the table of nights.
type nightRow struct {
	Name, Page, Time, Outcome, Class, Seconds, Tool string
	Passed, Failed, Errored, Tolerated, New, Mended int
}

// troubleRow is a line of the table of failures.
type troubleRow struct {
	Trouble
	Class, Since, Day string
}

// trendChart is the chart of a trend.
type trendChart struct {
	Name, Note string
	Chart      template.HTML
}

// HTML writes the nights as one page, which loads nothing.
func (n *Nights) HTML(w io.Writer) error {
	last := n.Runs[len(n.Runs)-1]
	troubles := n.Troubles()
	headline, class := n.verdict()
	data := struct {
		About, Headline, Class, First, Last, Count, Unit string
		Shown, Unshown                                   int
		LeftOut                                          []string
		Verdicts                                         template.HTML
		Trends                                           []trendChart
		Troubles                                         []troubleRow
		Rows                                             []nightRow
	}{
		About: n.About, Headline: headline, Class: class, First: day(n.Runs[0]), Last: day(last),
		Count: visible.Count(len(n.Runs), n.unit(), ""), Unit: n.unit(), Shown: min(shownStrip, len(n.Runs)), Unshown: max(0, len(troubles)-shownTroubles), LeftOut: n.LeftOut, Verdicts: n.verdicts(),
	}
	for _, t := range n.trends() {
		if len(data.Trends) < shownTrends && t.measured() > 1 { // one value is in the report of its run
			data.Trends = append(data.Trends, n.chart(t))
		}
	}
	for _, t := range troubles[:min(len(troubles), shownTroubles)] {
		since := n.Runs[t.Since]
		first, _, _ := strings.Cut(strings.TrimSpace(t.Reason), "\n")
		t.Reason = visible.Cut(first, 160)
		t.Strip = t.Strip[max(0, len(t.Strip)-shownStrip):]
		class := map[Condition]string{Fresh: "fresh", Broken: "broken", Flaky: "flaky", Mended: "mended"}[t.Condition]
		data.Troubles = append(data.Troubles, troubleRow{t, class, nightAnchor(since), day(since)})
	}
	for i := range slices.Backward(n.Runs) {
		data.Rows = append(data.Rows, n.row(i))
	}
	page, err := template.New("nights").Parse(nightsPage + style)
	if err != nil {
		return fmt.Errorf("nights: %w", err)
	}
	return writePage(w, page, data)
}

// verdict is what the last runs came to, as a sentence and as a class. The last run of each command counts, since a load test does not
// mend what a check found.
func (n *Nights) verdict() (headline, class string) {
	worst, judged := n.Runs[len(n.Runs)-1], map[string]bool{}
	for _, night := range slices.Backward(n.Runs) {
		if command := commandOf(night.Report); !judged[command] {
			judged[command] = true
			if gravity(night.Outcome) > gravity(worst.Outcome) {
				worst = night
			}
		}
	}
	headline = Headline(worst.Report)
	if !worst.Started.Equal(n.Runs[len(n.Runs)-1].Started) {
		headline += fmt.Sprintf(" (%s, the last %s)", worst.Started.UTC().Format("2006-01-02 15:04"), commandOf(worst.Report))
	}
	return headline, strings.ToLower(string(worst.Outcome))
}

// commandOf is the command that made a report, without its flags.
func commandOf(r *reports.Report) string {
	if words := strings.Fields(r.Command); len(words) > 1 {
		return words[1]
	}
	return "run"
}

// gravity orders outcomes, the worst last.
func gravity(o reports.Outcome) int {
	return slices.Index([]reports.Outcome{reports.Conformant, reports.Partial, reports.Interrupted, reports.Unjudged, reports.NonConformant}, o)
}

// outcomeWords are what the rest of the program calls an outcome.
func outcomeWords(o reports.Outcome) string {
	return map[reports.Outcome]string{
		reports.Conformant: "conforms", reports.Partial: "conforms, not fully judged", reports.Interrupted: "interrupted",
		reports.Unjudged: "could not judge", reports.NonConformant: "does not conform",
	}[o]
}

// unit is what the page calls the runs: nights, unless a day has several.
func (n *Nights) unit() string {
	for i := range n.Runs[1:] {
		if day(n.Runs[i]) == day(n.Runs[i+1]) {
			return "run"
		}
	}
	return "night"
}

func day(n Night) string { return n.Started.UTC().Format(time.DateOnly) }

// nightAnchor is where the row of a night is on the page.
func nightAnchor(n Night) string { return n.Started.UTC().Format("2006-01-02T15-04-05") }

// row is the line of a night.
func (n *Nights) row(i int) nightRow {
	night := n.Runs[i]
	r := nightRow{
		Name: nightAnchor(night), Page: (&url.URL{Path: night.Page}).String(), Time: night.Started.UTC().Format("2006-01-02 15:04"), Outcome: outcomeWords(night.Outcome),
		Seconds: fmt.Sprintf("%.0f", night.Seconds), Tool: night.Tool, Class: "failed",
	}
	if night.Outcome == reports.Conformant || night.Outcome == reports.Partial {
		r.Class = "passed"
	} else if night.Outcome != reports.NonConformant {
		r.Class = "errored"
	}
	r.Passed, r.Failed, r.Errored, r.Tolerated = tally(night.Report)
	if i > 0 {
		before := map[[2]string]bool{}
		for _, result := range n.Runs[i-1].Results {
			before[[2]string{string(result.ID), result.Subject}] = n.Runs[i-1].Failing(result)
		}
		for _, result := range night.Results {
			failed, known := before[[2]string{string(result.ID), result.Subject}]
			switch {
			case night.Failing(result) && !failed:
				r.New++
			case known && failed && result.Verdict == requirement.Passed:
				r.Mended++
			}
		}
	}
	return r
}

// tally counts the results of a run, those that fail for being strict among the failed.
func tally(r *reports.Report) (passed, failed, errored, tolerated int) {
	passed, failed, tolerated = r.Counts[requirement.Passed], r.Counts[requirement.Failed], r.Counts[requirement.Tolerated]
	if r.Strict {
		failed, tolerated = failed+tolerated, 0
	}
	return passed, failed, r.Counts[requirement.Errored] + r.Counts[requirement.Unknown], tolerated
}

// The size of charts.
const (
	trendWidth  = 1000.0
	trendHeight = 120.0
)

// verdicts draws what did not pass, a bar for each night.
func (n *Nights) verdicts() template.HTML {
	most := 1
	for _, night := range n.Runs {
		_, failed, errored, tolerated := tally(night.Report)
		most = max(most, failed+errored+tolerated)
	}
	width := trendWidth / float64(len(n.Runs))
	var b strings.Builder
	for i, night := range n.Runs {
		_, failed, errored, tolerated := tally(night.Report)
		y := trendHeight
		for _, part := range []struct {
			class string
			n     int
		}{{"failed", failed}, {"errored", errored}, {"tolerated", tolerated}} {
			if part.n == 0 {
				continue
			}
			height := trendHeight * float64(part.n) / float64(most)
			y -= height
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, part.class, float64(i)*width, y, max(width-0.5, 0.5), height)
		}
	}
	return n.trendSVG("what did not pass, by "+n.unit(), "at most "+strconv.Itoa(most), b.String())
}

// chart draws a trend with its noise.
func (n *Nights) chart(t trend) trendChart {
	most, slow := 0.0, []string{}
	for i := range t.Times {
		most = max(most, t.Times[i], t.High[i])
		if t.Out[i] {
			slow = append(slow, day(n.Runs[i]))
		}
	}
	x := func(i int) float64 { return trendWidth * (float64(i) + 0.5) / float64(len(t.Times)) }
	y := func(v float64) float64 { return trendHeight - trendHeight*v/max(most, 1e-9) }
	var upper, lower []string
	var line, points strings.Builder
	pen := "M"
	for i, v := range t.Times {
		if t.High[i] > 0 {
			upper = append(upper, fmt.Sprintf("%.1f,%.1f", x(i), y(t.High[i])))
			lower = append(lower, fmt.Sprintf("%.1f,%.1f", x(i), y(t.Low[i])))
		}
		if v == 0 {
			pen = "M"
			continue
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", pen, x(i), y(v))
		pen = "L"
		if t.Out[i] {
			fmt.Fprintf(&points, `<circle class="out" cx="%.1f" cy="%.1f" r="3"><title>%s: %.3g ms</title></circle>`, x(i), y(v), day(n.Runs[i]), v)
		}
	}
	slices.Reverse(lower)
	body := fmt.Sprintf(`<polygon class="band" points="%s"/><path class="line" d="%s"/>%s`, strings.Join(append(upper, lower...), " "), line.String(), points.String())
	note := visible.Count(t.measured(), n.unit(), "") + "; grey is the noise of those before"
	if len(slow) > 0 {
		note += fmt.Sprintf(", and %s slower than that: %s", visible.Count(len(slow), n.unit()+" is", n.unit()+"s are"), strings.Join(slow[max(0, len(slow)-5):], ", "))
	}
	return trendChart{t.Name, note, n.trendSVG(t.Name+" by "+n.unit(), fmt.Sprintf("at most %.3g ms", most), body)}
}

// trendSVG is a chart between the greatest value and the dates: what is drawn comes from numbers and dates alone. The texts are beside the
// drawing, which shrinks on a phone.
func (n *Nights) trendSVG(title, top, body string) template.HTML {
	return template.HTML(fmt.Sprintf(`<p class="axis">%s</p><svg class="trend" viewBox="0 0 %g %g" preserveAspectRatio="none" role="img" aria-label="%s"><line x1="0" x2="%[2]g" y1="%[3]g" y2="%[3]g" stroke="currentColor" stroke-opacity=".3"/>%[5]s</svg><p class="axis"><span>%[6]s</span><span>%[7]s</span></p>`, //nolint:gosec // see above; texts are escaped
		template.HTMLEscapeString(top), trendWidth, trendHeight, template.HTMLEscapeString(title), body, day(n.Runs[0]), day(n.Runs[len(n.Runs)-1])))
}
