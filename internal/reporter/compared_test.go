package reporter

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/reports"
)

// runs is a load test of which each repeat had one of these p99.
func runs(t *testing.T, base, now []float64, limit string) *reports.Report {
	t.Helper()
	l, err := compare.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	series := func(values []float64) []compare.Series {
		return []compare.Series{{Statistic: "p99", Unit: "ms", Values: values}, {Statistic: "p99", Unit: "ms", Control: true, Values: slices.Repeat([]float64{1}, len(values))}}
	}
	c, err := compare.Runs(series(base), series(now), []compare.Limit{l})
	if err != nil {
		t.Fatal(err)
	}
	r := &reports.Report{Load: load(t)}
	r.Load.Objectives = nil
	for i := range r.Load.Stages {
		s := &r.Load.Stages[i]
		s.VoidReason, s.Failed, s.Errors, s.Findings = "", 0, nil, nil
	}
	c.Baseline = "last-night/report.json"
	r.Load.Comparison = &c
	Conclude(r)
	return r
}

// TestComparison wants a proved regression to speak against the webhook, and one that is not proved to speak for nothing.
func TestComparison(t *testing.T) {
	for name, test := range map[string]struct {
		base, now         []float64
		want              reports.Outcome
		headline, element string
	}{
		"the same":  {[]float64{10, 11, 12, 10, 11, 12}, []float64{10, 11, 12, 10, 11, 12}, reports.Conformant, "no regression is proved", ""},
		"slower":    {[]float64{10, 11, 12, 10, 11, 12}, []float64{30, 31, 32, 30, 31, 32}, reports.NonConformant, "p99", "<failure "},
		"too short": {[]float64{10}, []float64{30}, reports.Unjudged, "Could not compare with the baseline: ", "<error "},
	} {
		r := runs(t, test.base, test.now, "p99=10%")
		if r.Outcome != test.want || !strings.Contains(Headline(r), test.headline) {
			t.Errorf("%s: %s: %s", name, r.Outcome, Headline(r))
		}
		var junit, html, markdown strings.Builder
		if err := JUnit(r, &junit); err != nil {
			t.Fatal(err)
		}
		at := strings.Index(junit.String(), `name="compared: p99"`)
		if at < 0 || test.element != "" && !strings.Contains(junit.String()[at:], test.element) || test.element == "" && strings.Contains(junit.String()[at:], "<failure ") {
			t.Errorf("%s: %s", name, junit.String())
		}
		if err := HTML(r, &html); err != nil {
			t.Fatal(err)
		}
		if err := Markdown(r, &markdown); err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"html": html.String(), "markdown": markdown.String(), "text": strings.Join(LoadLines(r.Load, Columns), "\n")} {
			if !strings.Contains(text, "last-night/report.json") || !strings.Contains(text, "p99") {
				t.Errorf("%s has no comparison as %s", name, form)
			}
		}
	}
}
