package record

import (
	"math"
	"slices"
	"time"
)

// Level is how well some operations went before, during and after the fault.
type Level struct {
	Storage  bool           `json:"storage"` // they need no conversion
	Before   Speed          `json:"before"`
	During   Speed          `json:"during"`
	After    Speed          `json:"after"`    // since recovery; as a whole if there was none
	Recovery *time.Duration `json:"recovery"` // from the end of the fault
}

// Speed is how many operations succeeded in a second, and how long 99 of 100 took at most.
type Speed struct {
	Rate float64       `json:"rate"`
	P99  time.Duration `json:"p99"`
}

// measure measures the times, and the levels by which recovery is judged.
func (s *span) measure(f *Facts) {
	f.Outages = s.outages()
	var converted, rest []Operation
	for _, o := range s.operations {
		if o.Return > s.end { // was under way when recovery was judged
			continue
		}
		if o.Storage {
			rest = append(rest, o)
		} else {
			converted = append(converted, o)
		}
	}
	f.FirstSuccess = s.firstSuccess(converted)
	zero := time.Duration(0)
	f.Recovery = &zero
	for _, class := range [][]Operation{converted, rest} {
		if len(class) == 0 {
			continue
		}
		l := s.level(class)
		f.Levels = append(f.Levels, l)
		switch {
		case l.Recovery == nil:
			f.Recovery = nil
		case f.Recovery != nil:
			f.Recovery = new(max(*f.Recovery, *l.Recovery))
		}
	}
	if f.Recovery != nil && s.ready != nil {
		f.SinceReady = new(max(0, s.ended+*f.Recovery-*s.ready))
	}
}

// firstSuccess returns the time from the end of the fault until something succeeded.
func (s *span) firstSuccess(class []Operation) *time.Duration {
	var first *time.Duration
	for _, o := range class {
		if at := o.Return - s.ended; !o.Failed() && at >= 0 && (first == nil || at < *first) {
			first = &at
		}
	}
	return first
}

// level measures some operations, in the order of their calls.
func (s *span) level(class []Operation) Level {
	l := Level{Storage: class[0].Storage, Recovery: s.recovery(class)}
	since := s.ended
	if l.Recovery != nil {
		since += *l.Recovery
	}
	l.Before, l.During, l.After = speed(class, s.quiet, s.began), speed(class, s.began, s.ended), speed(class, since, s.end)
	return l
}

// speed measures what was called in a time. Operations that failed took as long as the client waited.
func speed(class []Operation, from, to time.Duration) Speed {
	var took []time.Duration
	succeeded := 0
	for _, o := range class {
		if o.Call >= from && o.Call < to {
			took = append(took, o.Return-o.Call)
		}
		if !o.Failed() && o.Return >= from && o.Return < to {
			succeeded++
		}
	}
	return Speed{Rate: perSecond(succeeded, to-from), P99: p99(took)}
}

// p99 returns what 99 of 100 are at most; 0 for none.
func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[int(math.Ceil(0.99*float64(len(took))))-1]
}

// quota is how many of a number of operations may take longer than their 99th percentile.
func quota(n int) int { return n - int(math.Ceil(0.99*float64(n))) }

// normal is what windows of the time before the fault have in common.
type normal struct {
	rate float64       // operations a second that succeed at least
	slow time.Duration // what 99 of 100 take at most
}

// normal takes the worst window before the fault, and leaves room for what has no cause: of few operations, chance alone makes a window
// have fewer.
func (s *span) normal(class []Operation) normal {
	before := slices.IndexFunc(class, func(o Operation) bool { return o.Call >= s.began })
	if before >= 0 {
		class = class[:before]
	}
	n := normal{rate: math.Inf(1)}
	window := min(s.bounds.Window, s.began-s.quiet)
	for from := s.quiet; from+window <= s.began; from += max(window/4, 1) {
		now := speed(class, from, from+window)
		n.rate, n.slow = min(n.rate, now.Rate), max(n.slow, now.P99)
	}
	mean := speed(class, s.quiet, s.began).Rate * window.Seconds()
	chance := (mean - 4*math.Sqrt(mean)) / max(window.Seconds(), 1e-9)
	return normal{rate: min(0.8*n.rate, chance), slow: 2*n.slow + 20*time.Millisecond}
}

// recovery returns the time from the end of the fault to the first call from which on nothing fails, and from which on rate and 99th
// percentile are those of before for a while; nil if there is none. It is not before something succeeds again.
func (s *span) recovery(class []Operation) *time.Duration {
	n := s.normal(class)
	good := s.goodWindows(class, n)
	first := 0 // that may be the one
	lastFailure := -1
	for i, o := range class {
		if o.Call < s.ended {
			first = i + 1
		}
		if o.Failed() {
			lastFailure = i
		}
	}
	found := s.settles(class, good, max(first, lastFailure+1))
	if found < 0 {
		return nil
	}
	at := class[found].Call
	if found == first {
		at = s.ended
	}
	return new(max(at, s.resumed(class), s.released(class, at, n.slow)) - s.ended)
}

// settles returns the first operation, not before the given one, from which on the windows are good for as long as they must be; -1 if
// there is none.
func (s *span) settles(class []Operation, good []bool, from int) int {
	for i := from; i < len(good); i++ {
		bad := i
		for bad < len(good) && good[bad] && class[bad].Call <= class[i].Call+s.bounds.Hold {
			bad++
		}
		if bad == len(good) && bad > i || bad < len(good) && good[bad] {
			return i
		}
		i = bad
	}
	return -1
}

// goodWindows returns for each operation that a whole window follows whether that window is as before: in rate, and in how long the
// operations take.
func (s *span) goodWindows(class []Operation, n normal) []bool {
	var succeeded []time.Duration
	for _, o := range class {
		if !o.Failed() {
			succeeded = append(succeeded, o.Return)
		}
	}
	slices.Sort(succeeded)
	within := func(from, to time.Duration) int {
		i, _ := slices.BinarySearch(succeeded, from)
		j, _ := slices.BinarySearch(succeeded, to)
		return j - i
	}
	var good []bool
	slow, end := 0, 0 // of the window that begins with an operation
	for i, o := range class {
		to := o.Call + s.bounds.Window
		if to > s.end {
			break
		}
		for ; end < len(class) && class[end].Call < to; end++ {
			if class[end].Return-class[end].Call > n.slow {
				slow++
			}
		}
		good = append(good, slow <= quota(end-i) && perSecond(within(o.Call, to), s.bounds.Window) >= n.rate)
		if o.Return-o.Call > n.slow {
			slow--
		}
	}
	return good
}

// resumed returns when there was a success again if there was an outage at the end of the fault, and the end of the fault otherwise.
func (s *span) resumed(class []Operation) time.Duration {
	var at []time.Duration
	for _, o := range class {
		if !o.Failed() {
			at = append(at, o.Return)
		}
	}
	slices.Sort(at)
	i, _ := slices.BinarySearch(at, s.ended)
	if i == 0 || i == len(at) || at[i]-at[i-1] <= usualGap(at, s.began) {
		return s.ended
	}
	return at[i]
}

// released returns when operations were answered that were held up until about a time. They were called before it, and how long they
// took only shows then.
func (*span) released(class []Operation, about, slow time.Duration) time.Duration {
	last := about
	for _, o := range class {
		if o.Call <= about && o.Return > last && o.Return <= about+slow && o.Return-o.Call > slow {
			last = o.Return
		}
	}
	return last
}
