package load

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/crdconform/crdconform/loadgen"
)

// The metrics of Go's runtime that are read.
const (
	gcCycles     = "/gc/cycles/total:gc-cycles"
	gcPauses     = "/sched/pauses/total/gc:seconds"
	schedLatency = "/sched/latencies:seconds"
)

// self watches the generator.
type self struct {
	busy    time.Duration
	samples []metrics.Sample
}

// watchSelf begins to watch.
func watchSelf() self { return self{ProcessorTime(), read()} }

func read() []metrics.Sample {
	samples := []metrics.Sample{{Name: gcCycles}, {Name: gcPauses}, {Name: schedLatency}}
	metrics.Read(samples)
	return samples
}

// found returns what was measured since then. It includes everything else that this process did, such as serving its own webhook.
func (s self) found() loadgen.Generator {
	g := loadgen.Generator{ProcessorSeconds: (ProcessorTime() - s.busy).Seconds(), Cores: runtime.GOMAXPROCS(0)}
	now := read()
	if now[0].Value.Kind() == metrics.KindUint64 {
		g.Collections = now[0].Value.Uint64() - s.samples[0].Value.Uint64()
	}
	g.Paused = milliseconds(atQuantile(s.samples[1], now[1], 1))
	g.Waited = milliseconds(atQuantile(s.samples[2], now[2], 0.99))
	return g
}

// atQuantile returns the upper end of the bucket in which a quantile lies, of what was added to a histogram.
func atQuantile(before, after metrics.Sample, quantile float64) time.Duration {
	if after.Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	was, is := before.Value.Float64Histogram(), after.Value.Float64Histogram()
	var total uint64
	for i := range is.Counts {
		total += is.Counts[i] - was.Counts[i]
	}
	sum := uint64(0)
	for i := range is.Counts {
		sum += is.Counts[i] - was.Counts[i]
		if total > 0 && float64(sum) >= quantile*float64(total) {
			end := is.Buckets[i+1]
			if end > is.Buckets[len(is.Buckets)-2] { // infinity
				end = is.Buckets[i]
			}
			return time.Duration(end * float64(time.Second))
		}
	}
	return 0
}
