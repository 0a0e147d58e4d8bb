package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// TestVerdicts wants a regression, its absence and an undecided comparison to be distinguished.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	row := func(verdict compare.Verdict) loadgen.Row {
		return loadgen.Row{Statistic: "p50", Limit: "10%", Verdict: verdict, Ratio: &loadgen.Estimate{Value: 1.25}}
	}
	of := func(outcome reports.Outcome, rows ...loadgen.Row) *reports.Report {
		return &reports.Report{Outcome: outcome, Load: &loadgen.Load{Comparison: &loadgen.Comparison{Rows: rows}}}
	}
	for name, test := range map[string]struct {
		report *reports.Report
		want   verdict
	}{
		"none":         {of(reports.Conformant, row(compare.NoDifference), row(compare.Slower)), same},
		"one":          {of(reports.NonConformant, row(compare.NoDifference), row(compare.Regressed)), regressed},
		"by chance":    {of(reports.Unjudged, row(compare.Incomparable)), undecided},
		"failing":      {of(reports.NonConformant, row(compare.NoDifference)), undecided},
		"not compared": {&reports.Report{Outcome: reports.Unjudged, Load: &loadgen.Load{}}, undecided},
		"no load":      {&reports.Report{Outcome: reports.Unjudged}, undecided},
	} {
		if got, text := verdictOf(test.report); got != test.want || strings.Contains(text, "p50 1.25x") != (test.report.Load != nil && test.report.Load.Comparison != nil) {
			t.Errorf("%s: %s, %q, want %s", name, got, text, test.want)
		}
	}
}

// TestJudge wants false alarms, slower builds that were not found, and what shows nothing to fail.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		alike, unlike int
		alarms, finds map[verdict]int
		good          bool
	}{
		"good":              {20, 10, map[verdict]int{same: 19, undecided: 1}, map[verdict]int{regressed: 9, undecided: 1}, true},
		"a false alarm":     {20, 10, map[verdict]int{same: 19, regressed: 1}, map[verdict]int{regressed: 10}, false},
		"two missed":        {20, 10, map[verdict]int{same: 20}, map[verdict]int{regressed: 8, same: 2}, false},
		"nothing decided":   {2, 0, map[verdict]int{undecided: 2}, nil, false},
		"nothing compared":  {0, 0, nil, nil, false},
		"slower build only": {0, 1, nil, map[verdict]int{regressed: 1}, true},
	} {
		if err := judge(test.alike, test.unlike, test.alarms, test.finds); (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServe wants a webhook to say where it is, and to end with its input.
func TestServe(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := selfComparison(t.Context(), []string{serving, "1"}, strings.NewReader(""), &out); err != nil {
		t.Fatal(err)
	}
	var s served
	if err := json.Unmarshal(out.Bytes(), &s); err != nil || !strings.HasPrefix(s.URL, "https://127.0.0.1:") || len(s.CA) == 0 {
		t.Errorf("%v: %s", err, out.String())
	}
	for _, args := range [][]string{nil, {"a", "5", "x", "1"}, {"a", "5", "1", "-1"}, {serving, "many"}} {
		if err := selfComparison(t.Context(), args, nil, nil); err == nil {
			t.Errorf("%q are accepted", args)
		}
	}
}
