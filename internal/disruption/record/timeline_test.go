package record

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/memory"
)

func TestTimeline(t *testing.T) {
	s := sim{answer: func(s *sim, o *Operation) {
		o.Return = o.Call + 4*millisecond
		if s.during(o) {
			fail(o, Refused, 2*millisecond)
		}
	}, change: func(s *sim, h *History) {
		h.Samples = []memory.Sample{{At: 0, Resident: 9}, {At: s.warm, Resident: 1}, {At: s.warm + 1, Resident: 3}, {At: s.end, Resident: 2}}
	}}
	h := s.history()
	points := Timeline(h, 18)
	if len(points) != 18 {
		t.Fatalf("got %d points", len(points))
	}
	for i, p := range points {
		fault := p.End > s.quiet && p.End <= s.quiet+s.fault
		want := Point{End: time.Duration(i+1) * second / 2, Succeeded: 300, P50: 4 * millisecond, P99: 4 * millisecond}
		if fault {
			want.Succeeded, want.Failed, want.P50, want.P99 = 0, 300, 2*millisecond, 2*millisecond
		}
		switch {
		case p.End != want.End || math.Abs(p.Succeeded-want.Succeeded) > 5 || math.Abs(p.Failed-want.Failed) > 5:
			t.Errorf("got %+v, want %+v", p, want)
		case math.Abs(float64(p.P99-want.P99)) > float64(2*millisecond):
			t.Errorf("got %+v, want %+v", p, want)
		}
	}
	if points[0].Resident != 3 || points[1].Resident != 0 || points[17].Resident != 2 {
		t.Errorf("memory: %d, %d, %d", points[0].Resident, points[1].Resident, points[17].Resident)
	}
	if n := len(Timeline(h, 1000)); n != 90 { // a tenth of a second each
		t.Errorf("got %d points", n)
	}
	h.Operations = slices.DeleteFunc(h.Operations, func(o Operation) bool { return o.Return > s.warm+second })
	if idle := Timeline(h, 9)[3]; idle != (Point{End: 4 * second}) {
		t.Errorf("got %+v of no operation", idle)
	}
	if points := Timeline(&History{}, 10); points != nil {
		t.Errorf("got %+v of nothing", points)
	}
}
