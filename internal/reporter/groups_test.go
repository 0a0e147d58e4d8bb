package reporter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/loadgen"
)

// TestRepeatsAreFolded has the repeats of a workload be one line, in which what is void counts for nothing.
func TestRepeatsAreFolded(t *testing.T) {
	l := grid(t).Load
	groups := groupsOf(l)
	if len(groups) != 5 {
		t.Fatalf("got %d workloads of %d stages, want 5", len(groups), len(l.Stages))
	}
	for i, g := range groups {
		for repeat, s := range g.Runs {
			if want := l.Stages[5*repeat+i]; s.Name != want.Name || s.Repeat != repeat+1 || g.at[repeat] != 5*repeat+i {
				t.Errorf("run %d of %s is %s, repeat %d, at %d", repeat+1, want.Name, s.Name, s.Repeat, g.at[repeat])
			}
		}
	}
	p99 := func(stage int) float64 { return l.Stages[stage].Response.P99 }
	whole, void := groups[3], groups[4] // the second run of the last one is void
	if got, want := whole.Figures()[3], (spread{Median: p99(8), Least: p99(3), Most: p99(13)}); got != want {
		t.Errorf("the p99 of three runs is %+v, want %+v", got, want)
	}
	if got, want := void.Figures()[3], (spread{Median: (p99(4) + p99(14)) / 2, Least: p99(4), Most: p99(14)}); got != want {
		t.Errorf("the p99 of three runs of which one is void is %+v, want %+v", got, want)
	}
	if whole.Typical().Repeat != 2 || void.Typical().Repeat != 1 || whole.Failed() != 2 || void.Failed() != 0 {
		t.Errorf("typical are the repeats %d and %d; %d and %d failed", whole.Typical().Repeat, void.Typical().Repeat, whole.Failed(), void.Failed())
	}
	if whole.Counted() != "median of 3 runs" || void.Counted() != "median of 2 of 3 runs" {
		t.Errorf("got %q and %q", whole.Counted(), void.Counted())
	}
	for i := range l.Stages {
		l.Stages[i].VoidReason = "too busy"
	}
	if all := groupsOf(l)[4]; all.Figures()[3].Median != p99(9) || all.Counted() != "median of 3 runs" {
		t.Errorf("when all are void, the p99 is %v, %s", all.Figures()[3], all.Counted())
	}
}

// TestOtherWorkloadsAreNotFolded has stages of the same name be repeats only when they sent the same.
func TestOtherWorkloadsAreNotFolded(t *testing.T) {
	s := gridStage(t, 1, 1)
	s.Name = ""
	for name, change := range map[string]func(*loadgen.Stage){
		"name": func(s *loadgen.Stage) { s.Name = "x" }, "batch": func(s *loadgen.Stage) { s.Batch = 2 }, "bytes": func(s *loadgen.Stage) { s.Bytes = 2 },
		"rate":    func(s *loadgen.Stage) { s.Phases = []loadgen.Phase{{Seconds: 3, Rate: 20, To: 30}} },
		"clients": func(s *loadgen.Stage) { s.Clients = 2 }, "duration": func(s *loadgen.Stage) { s.Duration = 2 }, "pairs": func(s *loadgen.Stage) { s.Pairs = nil },
	} {
		other := s
		change(&other)
		if got := len(groupsOf((&loadgen.Load{Stages: []loadgen.Stage{s, s, other}}))); got != 2 {
			t.Errorf("another %s: %d workloads, want 2", name, got)
		}
	}
}

func TestTargets(t *testing.T) {
	l := grid(t).Load
	got := map[string]string{}
	for _, target := range targetsOf(l) {
		got[targetText(l, target)] = joined(target.Label, "; ", target.Range)
	}
	want := map[string]string{
		"batch 1: p99 2.397 ms (limit 20 ms, missed by 0 of 3 runs)":                     "met; 2.349 ms to 2.435 ms",
		"batch 1: p99 2.397 ms (limit 50 ms, KEP \"CRDs to GA\", missed by 0 of 3 runs)": "met; 2.349 ms to 2.435 ms",
		"batch 10: p99 3.153 ms (limit 20 ms, missed by 0 of 3 runs)":                    "met; 3.095 ms to 3.211 ms",
		"batch 100: p99 10.791 ms (limit 20 ms, missed by 0 of 3 runs)":                  "met; 10.591 ms to 10.999 ms",
		"batch 500: p99 44.703 ms (limit 20 ms, missed by 3 of 3 runs)":                  "missed; 43.839 ms to 45.567 ms",
		"batch 1500: p99 129.471 ms (limit 20 ms, missed by 2 of 3 runs)":                "missed, 2 of 3; 126.975 ms to 131.967 ms",
		"batch 1500: objects/s 29955/s (at least 25000/s)":                               "met",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := len(missedTargets(l)); got != 2 {
		t.Errorf("%d are missed, want 2", got)
	}
}
