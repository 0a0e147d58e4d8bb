package disruption

import (
	"time"

	"github.com/crdconform/crdconform/internal/disruption/judge"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// coursePoints is in how many parts the course of a disruption is shown.
const coursePoints = 200

// Describe is what reports have of a scenario.
func Describe(h *record.History, v Verdict) reports.Disruption {
	f := v.Facts
	quiet, _ := h.Mark(record.Quiet)
	at := func(name string) float64 {
		mark, _ := h.Mark(name)
		return (mark - quiet).Seconds()
	}
	d := reports.Disruption{
		Requirement: requirement.ID(h.Header.Scenario), Title: h.Header.Title, Objective: h.Header.Objective.String(), Void: v.Void,
		Began: at(record.FaultBegan), Ended: at(record.FaultEnded), Seconds: at(record.End),
		Operations: f.Operations, Failed: f.Failed, Lost: f.Lost, Wrong: f.Wrong, Outage: f.Outage().Seconds(), Lag: f.Lag.Seconds(),
		FirstFailure: seconds(f.FirstFailure), FirstSuccess: seconds(f.FirstSuccess), Recovery: seconds(f.Recovery), SinceReady: seconds(f.SinceReady),
	}
	if _, there := h.Mark(record.Ready); there {
		d.Ready = new(at(record.Ready))
	}
	for _, w := range f.Watches {
		d.WatchEnds, d.WatchGone = d.WatchEnds+w.Ended, d.WatchGone+w.Gone
	}
	for _, s := range h.Samples {
		d.MaxMemory = max(d.MaxMemory, float64(s.Resident))
	}
	for _, failure := range f.Failures {
		d.Failures = append(d.Failures, reports.DisruptionFailure{
			Verb: string(failure.Verb), Version: failure.Version, Error: string(failure.Error), Count: failure.Count(), Stored: failure.Storage, Example: failure.Example,
		})
	}
	for _, m := range h.Marks {
		d.Marks = append(d.Marks, reports.DisruptionMark{Name: m.Name, Seconds: (m.At - quiet).Seconds(), Text: m.Text})
	}
	for _, p := range judge.Timeline(h, coursePoints) {
		d.Points = append(d.Points, reports.DisruptionPoint{
			Seconds: p.End.Seconds(), Succeeded: p.Succeeded, Failed: p.Failed, P50: milliseconds(p.P50), P99: milliseconds(p.P99), Memory: float64(p.Resident),
		})
	}
	return d
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(d.Seconds())
}
