//go:build linux

package main

import (
	"testing"

	"github.com/crdconform/crdconform/internal/test/figures"
)

// BenchmarkLoad measures what the project claims about load. make bench runs it, and prints one table of all claims. To measure
// one part, run it with -bench Load/judge.
func BenchmarkLoad(b *testing.B) {
	figures.Measure(b, "saturation", measureRates)
	figures.Measure(b, "judge", measureJudge)
	figures.Measure(b, "stalls", measureStalls)
	figures.Measure(b, "memory", measureMemory)
	figures.Measure(b, "reference", measureReference)
}

// measureRates measures at saturation, and at half of that.
func measureRates(b *testing.B) []figures.Claim {
	b.Helper()
	measured, rate := measureSaturation(b, tools(b))
	return append(measured, measureLag(b, rate))
}
