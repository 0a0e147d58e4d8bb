package load

import (
	"math"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// schedule says when requests are due. It is a pacer of vegeta's: Pace returns how long it is until the next one, when so many were sent.
type schedule interface {
	vegeta.Pacer

	// due is when the n-th request is due, from the beginning.
	due(n uint64) time.Duration
}

// schedule returns vegeta's pacer for a constant rate, and one of ours for everything else. Vegeta's linear pacer has the same curve, but
// takes the rate at the beginning of a wait for that of all of it, so that it is late where the rate rises, and cannot begin at 0.
func (w Workload) schedule() schedule {
	if len(w.Phases) == 1 && w.Phases[0].Rate == w.Phases[0].To {
		return constant{vegeta.Rate{Freq: 1, Per: time.Duration(math.Round(float64(time.Second) / w.Phases[0].Rate))}}
	}
	return timetable{w}
}

// constant is a rate that stays the same. The first request is due at once, and not after an interval, as vegeta's pacer has it.
type constant struct{ vegeta.ConstantPacer }

// Pace asks vegeta's pacer about the request before. Before the beginning, there is nothing that it could be asked.
func (c constant) Pace(elapsed time.Duration, sent uint64) (time.Duration, bool) {
	if sent == 0 || elapsed < 0 {
		return c.due(sent) - elapsed, false
	}
	return c.ConstantPacer.Pace(elapsed, sent-1)
}

func (c constant) due(n uint64) time.Duration { return time.Duration(n) * c.Per }

// timetable has the phases of a workload, or the times of a recording.
type timetable struct{ w Workload }

// Pace returns how long it is until the next request is due.
func (t timetable) Pace(elapsed time.Duration, sent uint64) (time.Duration, bool) {
	return t.due(sent) - elapsed, false
}

// Rate is the mean rate, in requests a second.
func (t timetable) Rate(time.Duration) float64 { return t.w.Rate() }

func (t timetable) due(n uint64) time.Duration { return t.w.due(n) }
