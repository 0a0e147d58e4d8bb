//go:build linux

package bench

import "testing"

// BenchmarkLoad measures what the project claims about load, prints one table, and fails when a claim does not hold. Run it on
// an idle machine, by make bench.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		others := tools(b)
		saturation, rate := measureSaturation(b, others)
		claims := append(saturation, measureJudge(b)...)
		claims = append(claims, measureStalls(b, others)...)
		claims = append(claims, measureMemory(b)...)
		claims = append(claims, measureReference(b)...)
		report(b, append(claims, measureLag(b, rate)...))
	}
}

// The benchmarks of single figures are for whoever works on one of them.

func BenchmarkSaturation(b *testing.B) {
	for b.Loop() {
		claims, rate := measureSaturation(b, tools(b))
		report(b, append(claims, measureLag(b, rate)...))
	}
}

func BenchmarkJudge(b *testing.B) {
	for b.Loop() {
		report(b, measureJudge(b))
	}
}

func BenchmarkStalls(b *testing.B) {
	for b.Loop() {
		report(b, measureStalls(b, tools(b)))
	}
}

func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		report(b, measureMemory(b))
	}
}

func BenchmarkReference(b *testing.B) {
	for b.Loop() {
		report(b, measureReference(b))
	}
}
