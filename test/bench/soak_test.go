//go:build linux

package bench

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// soakVariable says how long the memory is watched, as a duration. The whole claim wants 10m.
const soakVariable = "CRDCONFORM_BENCH_SOAK"

// measureMemory says how much memory loadgen needs in a long run.
func measureMemory(b *testing.B) []claim {
	b.Helper()
	const whole = 10 * time.Minute
	soak := time.Minute
	if text := os.Getenv(soakVariable); text != "" { //nolint:forbidigo // it is for whoever runs the benchmark
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
	o := a.by(b, loadgenAttack)
	const mib = 1 << 20
	how := fmt.Sprintf("%d requests in %s", o.Requests, o.Elapsed.Round(time.Second))
	if n := len(o.Resident); n > 10 {
		how += fmt.Sprintf("; %d MiB after 10 s, %d MiB at the end", o.Resident[10]/mib, o.Resident[n-1]/mib)
	}
	claims := []claim{{what: "most memory of the generator", asked: 200, measured: float64(o.Peak) / mib, unit: "MiB", how: how}}
	if soak < whole {
		claims[0].how += fmt.Sprintf("; %s=10m is the whole claim", soakVariable)
		return claims
	}
	return append(claims, claim{what: "requests meanwhile", asked: 10, atLeast: true, measured: float64(o.Requests) / 1e6, unit: "million", how: how})
}
