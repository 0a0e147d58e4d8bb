//go:build nightly

package record

import (
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/history"
)

// TestTenSecondsOften measures more outages of ten seconds.
func TestTenSecondsOften(t *testing.T) { lastTenSeconds(t, 20) }

// TestMany logs how long 100,000 operations take, a fifth of them with an unknown outcome.
func TestMany(t *testing.T) {
	s := sim{rate: 1000, quiet: 40 * second, fault: 20 * second, after: 40 * second, answer: func(s *sim, o *Operation) {
		if written := o.Written; s.during(o) {
			fail(o, Timeout, 50*millisecond)
			o.Outcome, o.Written = history.Unknown, written
		}
	}}
	h := s.history()
	began := time.Now()
	r := judged(t, h)
	t.Logf("%d operations in %s", len(h.Operations), time.Since(began))
	if len(r.Void) > 0 || r.Facts.Lost > 0 || !about(r.Facts.Recovery, 0) || len(h.Operations) < 90_000 {
		t.Errorf("got %+v", r)
	}
}
