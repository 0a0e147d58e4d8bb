package reporter

import (
	"fmt"

	"github.com/crdconform/crdconform/loadgen"
)

// PhaseText says a phase as "30 requests a second for 10 s".
func PhaseText(p loadgen.Phase) string {
	requests := given(p.Rate)
	switch {
	case p.Rate != p.To:
		requests += " to " + given(p.To) + " requests"
	case p.Rate == 1:
		requests += " request"
	default:
		requests += " requests"
	}
	return fmt.Sprintf("%s a second for %s s", requests, given(p.Seconds))
}

// PairText says a pair as "v1beta1 to v1".
func PairText(p loadgen.Pair) string { return p.From + " to " + p.To }

// findingText says which request it was and what was wrong.
func findingText(f loadgen.Finding) string {
	return fmt.Sprintf("request %d: %s: %s", f.Request, f.Requirement, f.Text)
}

// probeOutcome is met, missed, or void when the generator was too busy to measure.
func probeOutcome(p loadgen.Probe) string {
	switch {
	case p.Void:
		return "void"
	case p.Met:
		return "met"
	}
	return "missed"
}

// Row is a line of a table of times.
type Row struct {
	Name string
	loadgen.Times
}

// percentiles are the headings of what Row.Figures returns.
func percentiles() []string { return []string{"p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"} }

// Figures returns the times of a row in milliseconds.
func (r Row) Figures() []string {
	var figures []string
	for _, t := range []float64{r.P50, r.P90, r.P95, r.P99, r.P999, r.P9999, r.Max} {
		figures = append(figures, figure(t))
	}
	return figures
}

// timeRows returns the times of a stage for a table.
func timeRows(s loadgen.Stage) []Row {
	return []Row{
		{"response, from when it was due", s.Response},
		{"service, from when it was sent", s.Service},
		{"lag of the generator", s.Lag},
	}
}
