package reporter

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
)

// group is all runs of one workload, one for each repeat of the stage.
type group struct {
	Name string
	Runs []loadgen.Stage
	at   []int // where in the load test the runs are
}

// groupsOf returns the stages by workload, in the order in which they first ran.
func groupsOf(l *loadgen.Load) []group {
	var groups []group
	at := map[string]int{}
	for n, s := range l.Stages {
		workload := fmt.Sprintf("%q %v %d %g %d %d %v", s.Name, s.Phases, s.Clients, s.Duration, s.Batch, s.Bytes, s.Pairs)
		i, known := at[workload]
		if !known {
			i = len(groups)
			at[workload] = i
			groups = append(groups, group{Name: stageTitle(l, loadgen.Stage{Name: s.Name})})
		}
		groups[i].Runs, groups[i].at = append(groups[i].Runs, s), append(groups[i].at, n)
	}
	return groups
}

// sound returns the runs that say something about the webhook, or all if none does.
func (g group) sound() []loadgen.Stage {
	sound := slices.DeleteFunc(slices.Clone(g.Runs), func(s loadgen.Stage) bool { return s.VoidReason != "" })
	if len(sound) == 0 {
		return g.Runs
	}
	return sound
}

// Typical returns the run with the median 99th percentile.
func (g group) Typical() loadgen.Stage {
	runs := slices.Clone(g.sound())
	slices.SortStableFunc(runs, func(a, b loadgen.Stage) int { return cmp.Compare(a.Response.P99, b.Response.P99) })
	return runs[(len(runs)-1)/2]
}

// Failed is how many requests failed, in all runs.
func (g group) Failed() uint64 { return FailedRequests((&loadgen.Load{Stages: g.Runs})) }

// Counted says what the figures are the median of.
func (g group) Counted() string {
	if n := len(g.sound()); n < len(g.Runs) {
		return fmt.Sprintf("median of %d of %d runs", n, len(g.Runs))
	}
	return "median of " + visible.Count(len(g.Runs), "run", "")
}

// Repeated reports whether the workload ran several times.
func (g group) Repeated() bool { return len(g.Runs) > 1 }

// worstOf is the worst outcome of the runs of a workload.
func worstOf(l *loadgen.Load, g group) (outcome, label string) {
	var outcomes []string
	for _, s := range g.Runs {
		outcomes = append(outcomes, stageOutcome(l, s))
	}
	return worst(outcomes)
}

// columns returns the headings for Figures. Times are response times in milliseconds.
func columns() []string {
	return []string{"requests/s", "objects/s", "p50", "p99", "p99.9", "max"}
}

// Figures returns the results of the runs of a workload. Void runs count only if all are void.
func (g group) Figures() []spread {
	var figures []spread
	for _, of := range []func(loadgen.Stage) float64{
		func(s loadgen.Stage) float64 { return s.RequestsPerSecond },
		func(s loadgen.Stage) float64 { return s.ObjectsPerSecond },
		func(s loadgen.Stage) float64 { return s.Response.P50 },
		func(s loadgen.Stage) float64 { return s.Response.P99 },
		func(s loadgen.Stage) float64 { return s.Response.P999 },
		func(s loadgen.Stage) float64 { return s.Response.Max },
	} {
		var values []float64
		for _, s := range g.sound() {
			values = append(values, of(s))
		}
		figures = append(figures, spreadOf(values))
	}
	return figures
}
