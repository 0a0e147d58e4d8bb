//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/test/figures"
)

// soakVariable says how long the memory is watched, as a duration. The whole claim wants 10m.
const soakVariable = "CRDCONFORM_BENCH_SOAK"

// measureMemory says how much memory loadgen needs in a long run.
func measureMemory(b *testing.B) []figures.Claim {
	b.Helper()
	const whole = 10 * time.Minute
	soak := time.Minute
	if text := os.Getenv(soakVariable); text != "" { //nolint:forbidigo // users set it to run the benchmark for longer
		var err error
		if soak, err = time.ParseDuration(text); err != nil || soak < time.Second {
			b.Fatalf("%s=%s: want a duration of a second or more, such as 10m", soakVariable, text)
		}
	}
	c := content{1, 1 << 10}
	requests := c.requests(b)[:1]
	server := start(b, cannedServer, requests[0])
	defer server.stop(b)
	a := attack{Requests: requests, Connections: connections, Duration: soak}
	server.read(b, &a.Endpoint)
	var o outcome
	pace, err := figures.Paced(func() { o = a.by(b, loadgenAttack) })
	if err != nil {
		b.Fatal(err)
	}
	const mib = 1 << 20
	how := fmt.Sprintf("%d requests in %s", o.Requests, o.Elapsed.Round(time.Second))
	if n := len(o.Resident); n > 10 {
		how += fmt.Sprintf("; %d MiB after 10 s, %d MiB at the end", o.Resident[10]/mib, o.Resident[n-1]/mib)
	}
	measured := []figures.Claim{{What: "most memory of the generator", Asked: 130, Measured: float64(o.Peak) / mib, Unit: "MiB", How: how}}
	many := figures.Claim{What: "requests in 10 minutes", Asked: 10, AtLeast: true, Measured: float64(o.Requests) * pace.Wall / 1e6, Unit: "million quiet", How: fmt.Sprintf("%s; %s", how, pace)}
	if soak < whole {
		many.Missing = soakVariable + "=10m measures it"
	}
	return append(measured, many)
}
