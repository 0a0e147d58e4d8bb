package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// ReadBaseline reads the load test of an earlier run from its report.json, its latency.json or its folder.
func ReadBaseline(file string) (*loadgen.Load, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "report.json")
	}
	data, err := files.Read(file, files.Reports)
	if err != nil {
		return nil, err
	}
	load, err := loadIn(data)
	switch why := reporter.Unfit(load); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case load == nil || len(load.Stages) == 0:
		return nil, fmt.Errorf("%s: %s; give the report.json of a run of \"crdconform load\"", file, why)
	case why != "":
		return nil, &UnfitError{File: file, Why: why}
	}
	return load, nil
}

// UnfitError reports that the measurements of a load test prove nothing, so it cannot be compared with another.
type UnfitError struct {
	File string // that has the load test
	Why  string // such as that the generator was too busy
}

func (e *UnfitError) Error() string { return fmt.Sprintf("%s: %s; measure it again", e.File, e.Why) }

// loadIn returns the load test in a report.json, nil if it has none, or in a latency.json.
func loadIn(data []byte) (*loadgen.Load, error) {
	var of struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(data, &of); err == nil && of.APIVersion == "" && of.Kind == "" {
		load := new(loadgen.Load)
		if err := json.Unmarshal(data, load); err != nil {
			return nil, fmt.Errorf("%w; give the report.json of an earlier run", err)
		}
		return load, nil
	}
	report, err := reports.Read(data)
	if err != nil {
		return nil, err
	}
	return report.Load, nil
}

// fits fails early if a load that is about to be sent cannot be compared with the baseline. Differences that only show while it is
// sent, such as the protocol, are checked later.
func (b *Baseline) fits(c config.Config, stages []load.Workload, repeat int) error {
	if least := compare.RepeatsFor(1); len(b.Limits) > 0 && repeat < least {
		return c.At("load.baseline", "%s: fewer than %d measurements cannot prove that anything is slower; ask for %d or more with %s", b.File, least, least, options.Key("load.repeat"))
	}
	now := &loadgen.Load{ControlWork: ControlRounds}
	if err := sameControl(b.Load, now); err != nil && repeat > 1 { // otherwise there is no control
		return c.At("load.baseline", "%s: %w", b.File, err)
	}
	for _, w := range stages {
		stage := w.Stage()
		for _, s := range b.Load.Stages {
			if s.Name == stage.Name {
				stage.HTTP, stage.Workers = s.HTTP, s.Workers
			}
		}
		now.Stages = append(now.Stages, stage)
	}
	if len(stages) == 0 { // what is sent is not known yet
		return nil
	}
	if err := sameLoad(b.Load, now); err != nil {
		return c.At("load.baseline", "%s: %w", b.File, err)
	}
	return nil
}

// Compared compares a load test with an earlier one. The limits say how much worse it may be. It fails if they sent different load,
// or if nothing was measured that a limit applies to.
func Compared(baseline, now *loadgen.Load, limits []compare.Limit) (loadgen.Comparison, error) {
	if err := sameLoad(baseline, now); err != nil {
		return loadgen.Comparison{}, err
	}
	if len(now.Control) > 0 {
		if err := sameControl(baseline, now); err != nil {
			return loadgen.Comparison{}, err
		}
	}
	return compare.Runs(seriesOf(baseline), seriesOf(now), limits)
}

// sameLoad fails if stages of the same name sent different load, or if the two have no stage in common.
func sameLoad(a, b *loadgen.Load) error {
	if len(a.Stages) == 0 || len(b.Stages) == 0 {
		return errors.New("nothing to compare")
	}
	common := false
	for _, x := range a.Stages {
		for _, y := range b.Stages {
			if x.Name != y.Name {
				continue
			}
			common = true
			if what := reporter.OtherLoad(x, y); what != "" {
				return otherLoad(x, y, what)
			}
		}
	}
	if !common {
		x, y := a.Stages[0], b.Stages[0]
		return otherLoad(x, y, cmp.Or(reporter.OtherLoad(x, y), fmt.Sprintf("stages: %q and %q", x.Name, y.Name)))
	}
	return nil
}

// sameControl fails if the control of a baseline did other work than that of a run.
func sameControl(baseline, now *loadgen.Load) error {
	if len(baseline.Control) > 0 && baseline.ControlWork != now.ControlWork {
		return errors.New("its control did different work, since another version of crdconform measured it; measure the baseline again")
	}
	return nil
}

func otherLoad(x, y loadgen.Stage, what string) error {
	return fmt.Errorf("the baseline sent %s, %s, and this run %s, %s: they cannot be compared (%s); measure the baseline again",
		reporter.StageWhen(x), reporter.StageWhat(x), reporter.StageWhen(y), reporter.StageWhat(y), what)
}

// seriesOf returns the measurements of all repeats of each stage and of the control.
func seriesOf(l *loadgen.Load) []compare.Series {
	all := seriesOfStages(l.Stages)
	stages := slices.Clone(l.Control)
	for i := range stages {
		stages[i].Name = "" // it is the same for all
	}
	for _, s := range seriesOfStages(stages) {
		s.Control = true
		all = append(all, s)
	}
	return all
}

func seriesOfStages(stages []loadgen.Stage) []compare.Series {
	var all []compare.Series
	places := map[[2]string]int{} // by stage and statistic
	for _, s := range stages {
		if s.VoidReason != "" {
			continue // it says nothing about anybody
		}
		for _, each := range statistics(s, config.Objectives{}) {
			key := [2]string{s.Name, each.name}
			at, found := places[key]
			if !found {
				at = len(all)
				places[key] = at
				all = append(all, compare.Series{Stage: s.Name, Statistic: each.name, Unit: each.unit, HigherIsBetter: each.atLeast})
			}
			all[at].Values = append(all[at].Values, each.measured)
		}
	}
	return all
}
