package engine

import (
	"slices"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/loadgen"
)

// percentiles returns the objectives that limit a percentile.
func percentiles(o config.Objectives) map[float64]time.Duration {
	all := map[float64]time.Duration{50: o.P50.Duration, 90: o.P90.Duration, 95: o.P95.Duration, 99: o.P99.Duration, 99.9: o.P999.Duration, 99.99: o.P9999.Duration}
	for percentile, limit := range all {
		if limit == 0 {
			delete(all, percentile)
		}
	}
	return all
}

// goalOf returns the goal of a search: the one percentile that has a limit, and the share of requests that may fail. Both are zero
// if not set.
func goalOf(o config.Objectives) load.Goal {
	var goal load.Goal
	for percentile, limit := range percentiles(o) {
		goal.Percentile, goal.Limit = percentile, limit
	}
	if o.Errors != nil {
		goal.Errors = *o.Errors
	}
	return goal
}

// statistic is what is measured of a stage, and its objective.
type statistic struct {
	name, unit      string
	atLeast         bool    // more of it is better
	measured, limit float64 // no limit if 0
}

// statistics returns all statistics of a stage.
func statistics(s loadgen.Stage, o config.Objectives) []statistic {
	time := func(name string, measured float64, limit config.Duration) statistic {
		return statistic{name, "ms", false, measured, float64(limit.Duration) / 1e6}
	}
	r := s.Response
	return []statistic{
		time("min", r.Min, config.Duration{}), time("mean", r.Mean, o.Mean), time("p50", r.P50, o.P50), time("p90", r.P90, o.P90), time("p95", r.P95, o.P95),
		time("p99", r.P99, o.P99), time("p99.9", r.P999, o.P999), time("p99.99", r.P9999, o.P9999), time("max", r.Max, o.Max),
		{"requests/s", "1/s", true, s.RequestsPerSecond, o.RequestsPerSecond},
		{"objects/s", "1/s", true, s.ObjectsPerSecond, o.ObjectsPerSecond},
	}
}

// judged compares the measurements of a stage with the objectives.
func judged(o config.Objectives, s loadgen.Stage) []loadgen.Objective {
	all := statistics(s, o)
	if o.Errors != nil && s.Requests > 0 {
		at := slices.IndexFunc(all, func(one statistic) bool { return one.atLeast })
		all = slices.Insert(all, at, statistic{"errors", "share", false, float64(s.Failed) / float64(s.Requests), *o.Errors})
	}
	var objectives []loadgen.Objective
	for _, one := range all {
		if one.limit > 0 || one.name == "errors" {
			objectives = append(objectives, loadgen.Objective{
				Stage: s.Name, Repeat: s.Repeat, Name: one.name, Unit: one.unit, AtLeast: one.atLeast, Limit: one.limit, Measured: one.measured,
				Met: one.measured == one.limit || (one.measured > one.limit) == one.atLeast,
			})
		}
	}
	return append(objectives, presets(o.Presets, s)...)
}

// presets returns the objectives of presets for a stage.
func presets(names []string, s loadgen.Stage) []loadgen.Objective {
	var all []loadgen.Objective
	for _, name := range names {
		limit, source := 0.0, ""
		switch name {
		case options.KEPPreset:
			limit, source = kepLimit(s.Batch, sizeOf(s)), `KEP "CRDs to GA"`
		case options.TracePreset:
			// API servers log a trace of a conversion that takes longer.
			limit, source = 50+8*float64(s.Batch), "trace limit of API servers"
		}
		if limit > 0 {
			all = append(all, loadgen.Objective{
				Stage: s.Name, Repeat: s.Repeat, Name: "p99", Source: source, Unit: "ms", Limit: limit, Measured: s.Response.P99, Met: s.Response.P99 <= limit,
			})
		}
	}
	return all
}

// sizeOf returns the size of a stage's requests in bytes per object.
func sizeOf(s loadgen.Stage) float64 { return float64(s.BytesSent) / float64(max(s.Objects, 1)) }

// kepLimit returns the limit of the enhancement proposal "CRDs to GA" (KEP-95) on the 99th percentile in milliseconds, for requests
// with a number of objects of a size in bytes, or 0 if it sets none.
func kepLimit(batch int, size float64) float64 {
	if batch == 1 {
		return 50
	}
	for _, limit := range []struct {
		milliseconds float64
		objects      [3]int // of up to 10, 25 and 50 kB
	}{{1000, [3]int{1500, 600, 300}}, {6000, [3]int{10_000, 4000, 2000}}} {
		for i, most := range []float64{10e3, 25e3, 50e3} {
			if size <= most && batch <= limit.objects[i] {
				return limit.milliseconds
			}
		}
	}
	return 0
}
