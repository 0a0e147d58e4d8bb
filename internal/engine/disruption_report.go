package engine

import (
	"time"

	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// mostDisruptionPoints is as many points as a chart of a course has room for.
const mostDisruptionPoints = 180

// disruptionOf is a disruption as reports have it.
func disruptionOf(h *record.History, judged record.Report, subject string) reports.Disruption {
	f := judged.Facts
	quiet, _ := h.Mark(record.Quiet)
	since := func(at time.Duration) float64 { return (at - quiet).Seconds() }
	began, _ := h.Mark(record.FaultBegan)
	ended, _ := h.Mark(record.FaultEnded)
	end, _ := h.Mark(record.End)
	d := reports.Disruption{
		Requirement: requirement.ID(h.Header.Scenario), Subject: subject, Title: h.Header.Title, Objective: h.Header.Objective.String(), Void: judged.Void,
		Began: since(began), Ended: since(ended), Seconds: since(end),
		Operations: f.Operations, Failed: f.Failed, Lost: f.Lost, Wrong: f.Wrong, Outage: f.Outage().Seconds(), Lag: f.Lag.Seconds(),
		FirstFailure: seconds(f.FirstFailure), FirstSuccess: seconds(f.FirstSuccess), Recovery: seconds(f.Recovery), SinceReady: seconds(f.SinceReady),
	}
	if ready, known := h.Mark(record.Ready); known {
		d.Ready = new(since(ready))
	}
	for _, w := range f.Watches {
		d.WatchEnds, d.WatchGone = d.WatchEnds+w.Ended, d.WatchGone+w.Gone
		d.Silence = max(d.Silence, w.Resumed.Seconds())
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
		if m.At >= quiet {
			d.Marks = append(d.Marks, reports.DisruptionMark{Name: m.Name, Seconds: since(m.At), Text: m.Text})
		}
	}
	if text := f.Memory.Unjudged(); text != "" {
		d.Marks = append(d.Marks, reports.DisruptionMark{Name: disruption.Memory, Seconds: since(end), Text: text})
	}
	for _, p := range record.Timeline(h, mostDisruptionPoints) {
		d.Points = append(d.Points, reports.DisruptionPoint{
			Seconds: p.End.Seconds(), Succeeded: p.Succeeded, Failed: p.Failed, Memory: float64(p.Resident),
			P50: float64(p.P50) / float64(time.Millisecond), P99: float64(p.P99) / float64(time.Millisecond),
		})
	}
	return d
}

// seconds is a time that may not have come.
func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(d.Seconds())
}
