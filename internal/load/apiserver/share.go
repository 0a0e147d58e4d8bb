package apiserver

import (
	"slices"
	"time"

	"github.com/crdconform/crdconform/loadgen"
)

// span is from when to when something lasted.
type span struct{ from, to time.Time }

// waited is how long a client waited for a response, and about which object; about all of them if it has no name.
type waited struct {
	object string
	span
}

// call is how long the webhook was at work, and on which objects.
type call struct {
	objects []string
	span
}

// attribute finds out how much of the time that clients waited the webhook was at work on what they asked for. Calls for others
// that go on at the same time are not in it, nor those for the API server's cache that go on afterwards.
func attribute(s *loadgen.Share, waits []waited, calls []call) {
	s.ClientSeconds, s.WaitedSeconds, s.Beside, s.OfClient = 0, 0, 0, 0
	slices.SortFunc(calls, func(a, b call) int { return a.from.Compare(b.from) })
	about := map[string][]int{} // calls by object, all of them by ""
	longest := time.Duration(0)
	for i, c := range calls {
		longest = max(longest, c.to.Sub(c.from))
		about[""] = append(about[""], i)
		for _, object := range c.objects {
			about[object] = append(about[object], i)
		}
	}
	needed := make([]bool, len(calls))
	for _, w := range waits {
		s.ClientSeconds += w.to.Sub(w.from).Seconds()
		end := w.from // of what is counted already: calls may run beside each other
		candidates := about[w.object]
		first, _ := slices.BinarySearchFunc(candidates, w.from.Add(-longest), func(i int, t time.Time) int { return calls[i].from.Compare(t) })
		for _, i := range candidates[first:] {
			c := calls[i]
			if !c.from.Before(w.to) {
				break
			}
			if !c.to.After(w.from) {
				continue
			}
			needed[i] = true
			from, to := latest(c.from, end), earliest(c.to, w.to)
			if to.After(from) {
				s.WaitedSeconds += to.Sub(from).Seconds()
				end = to
			}
		}
	}
	for _, was := range needed {
		if !was {
			s.Beside++
		}
	}
	if s.ClientSeconds > 0 {
		s.OfClient = s.WaitedSeconds / s.ClientSeconds
	}
	if s.Beside > 0 {
		s.OfServer = 0 // conversions are in it that are in no request
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
