//go:build linux

package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/test/figures"
)

// measureLag sends at half the rate of saturation, and says how much later than they were due requests were sent.
func measureLag(b *testing.B, saturation float64) figures.Claim {
	b.Helper()
	const rounds = 3
	c := content{1, 1 << 10}
	requests := c.requests(b)[:1]
	server := start(b, cannedServer, requests[0])
	defer server.stop(b)
	a := attack{Requests: requests, Connections: connections, Rate: saturation / 2, Duration: 10 * time.Second}
	server.read(b, &a.Endpoint)
	var lags []float64
	void := ""
	for range rounds {
		o := a.by(b, loadgenAttack)
		if o.Void != "" {
			void = "the machine was busy: " + o.Void
		}
		lags = append(lags, float64(o.Lag)/float64(time.Millisecond))
	}
	return figures.Claim{
		What: "lag of the generator at half of saturation, p99", Asked: 1, Measured: median(lags), Unit: "ms", Goal: true,
		How:     fmt.Sprintf("%s at %.0f/s, %d requests at once at most, median of %d times %s", c, a.Rate, a.Connections, rounds, a.Duration),
		Missing: void,
	}
}
