package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"
)

// span is a record, cut at its marks.
type span struct {
	bounds                   Bounds
	quiet, began, ended, end time.Duration
	ready                    *time.Duration
	wanted                   float64     // operations a second
	operations               []Operation // since quiet, in the order of their calls
}

// read cuts a record, and says what it lacks to be judged at all.
func read(h *History, b Bounds) (*span, []string) {
	s := &span{bounds: b, wanted: h.Header.Rate}
	var reasons []string
	last := time.Duration(0)
	for _, mark := range []struct {
		name string
		at   *time.Duration
	}{{Quiet, &s.quiet}, {FaultBegan, &s.began}, {FaultEnded, &s.ended}, {End, &s.end}} {
		at, there := h.Mark(mark.name)
		switch {
		case !there:
			reasons = append(reasons, fmt.Sprintf("the record has no mark %q: the run was interrupted before that", mark.name))
			continue
		case at < last:
			reasons = append(reasons, fmt.Sprintf("the mark %q is earlier than the one before it", mark.name))
		}
		*mark.at, last = at, at
	}
	if at, there := h.Mark(Ready); there {
		s.ready = &at
	}
	for _, o := range h.Operations {
		if o.Call >= s.quiet && o.Error != Canceled {
			s.operations = append(s.operations, o)
		}
	}
	slices.SortStableFunc(s.operations, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	return s, reasons
}

// disturbed says why figures would be wrong: clients were idle, something failed before the fault, or the machine was busy with other
// things.
func (s *span) disturbed(h *History, f Facts) []string {
	var reasons []string
	add := func(format string, values ...any) { reasons = append(reasons, fmt.Sprintf(format, values...)) }
	if f.Quiet < s.bounds.Quiet {
		add("the clients worked for %s before the fault, which is too short to compare with: want %s", round(f.Quiet), s.bounds.Quiet)
	}
	done, failed, converted := 0, 0, 0
	var first Operation
	for _, o := range s.operations {
		if o.Return >= s.began {
			continue
		}
		done++
		if !o.Storage {
			converted++
		}
		if o.Failed() {
			if failed == 0 {
				first = o
			}
			failed++
		}
	}
	if rate := perSecond(done, f.Quiet); rate < s.bounds.Share*s.wanted {
		add("the clients were idle before the fault: %.0f operations a second, want at least %.0f (%.0f %% of %.0f)",
			rate, s.bounds.Share*s.wanted, 100*s.bounds.Share, s.wanted)
	}
	if converted == 0 {
		add("no operation before the fault needed a conversion")
	}
	if failed > 0 {
		add("%s failed before the fault, the first a %s at %s: %s", english.Plural(failed, "operation", ""), first.Verb, first.Version, reason(first))
	}
	if len(h.Lags) == 0 {
		add("how late the harness's own timers were is not recorded")
	}
	if f.Lag > s.bounds.Lag {
		add("the machine was busy: the harness's own timers were up to %s late, want at most %s", round(f.Lag), s.bounds.Lag)
	}
	if h.Dropped > 0 {
		add("%s were too many to be kept", english.Plural(h.Dropped, "operation", ""))
	}
	return reasons
}

// lag returns the most that a timer of the harness was late while the clients worked.
func (s *span) lag(h *History) time.Duration {
	var most time.Duration
	for _, l := range h.Lags {
		if l.At+l.Lag >= s.quiet && l.At <= s.end {
			most = max(most, l.Lag)
		}
	}
	return most
}

func perSecond(n int, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return float64(n) / in.Seconds()
}

// reason says why an operation failed.
func reason(o Operation) string {
	text := string(o.Error)
	if o.Code != 0 {
		text += fmt.Sprintf(" (HTTP %d)", o.Code)
	}
	if o.Text != "" {
		text += ": " + o.Text
	}
	return text
}

// round rounds a time for people.
func round(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
