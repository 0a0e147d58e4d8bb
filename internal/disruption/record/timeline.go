package record

import (
	"slices"
	"time"
)

// Point is a part of the time that clients worked. All parts but those at a rounding are of the same length.
type Point struct {
	End       time.Duration // from quiet
	Succeeded float64       // operations a second that ended in it
	Failed    float64
	P50, P99  time.Duration // of the operations that ended in it; 0 for none
	Resident  uint64        // most that the webhook's process used; 0 if that was not measured
}

// shortestPoint is the least that makes a percentile of a few hundred operations a second.
const shortestPoint = 100 * time.Millisecond

// Timeline returns the time that clients worked in at most so many parts; none if the record has no such time.
func Timeline(h *History, most int) []Point {
	from, there := h.Mark(Quiet)
	end, ended := h.Mark(End)
	if !there || !ended || end <= from || most < 1 {
		return nil
	}
	n := min(most, int((end-from)/shortestPoint))
	n = max(n, 1)
	length := (end - from) / time.Duration(n)
	of := func(at time.Duration) int { return min(int((at-from)/length), n-1) }
	points, took := make([]Point, n), make([][]time.Duration, n)
	within := func(at time.Duration) bool { return at >= from && at <= end }
	for _, o := range h.Operations {
		if !within(o.Return) || o.Error == Canceled {
			continue
		}
		i := of(o.Return)
		took[i] = append(took[i], o.Return-o.Call)
		if o.Failed() {
			points[i].Failed++
		} else {
			points[i].Succeeded++
		}
	}
	for _, s := range h.Samples {
		if within(s.At) {
			i := of(s.At)
			points[i].Resident = max(points[i].Resident, s.Resident)
		}
	}
	for i := range points {
		p := &points[i]
		p.End = time.Duration(i+1) * length
		p.Succeeded, p.Failed = p.Succeeded/length.Seconds(), p.Failed/length.Seconds()
		if len(took[i]) > 0 {
			p.P99 = p99(took[i]) // it sorts them
			p.P50 = took[i][(len(took[i])-1)/2]
		}
	}
	return slices.Clip(points)
}
