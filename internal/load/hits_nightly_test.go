//go:build nightly

package load

import (
	"testing"
	"time"
)

// TestMillionHits sends a million requests, of which none is missing and none is sent twice.
func TestMillionHits(t *testing.T) {
	w := workload()
	w.Phases, w.Clients, w.Duration, w.Requests = nil, 16, time.Hour, 1_000_000
	compareHits(t, w)
}
