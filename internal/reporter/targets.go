package reporter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/loadgen"
)

// target is an objective for all runs of a workload.
type target struct {
	loadgen.Objective        // with the median of what was measured
	Range             string // of what was measured; empty for one run
	Outcome, Label    string // what became of it, as a class and in words
	runs, missed      int
}

// targetsOf returns the objectives by what they are about, in the order in which they first come.
func targetsOf(l *loadgen.Load) []target {
	var order []loadgen.Objective
	runs := map[loadgen.Objective][]loadgen.Objective{}
	for _, o := range l.Objectives {
		key := o
		key.Repeat, key.Measured, key.Met = 0, 0, false
		if runs[key] == nil {
			order = append(order, key)
		}
		runs[key] = append(runs[key], o)
	}
	var targets []target
	for _, key := range order {
		targets = append(targets, targetOf(l, runs[key]))
	}
	return targets
}

// targetOf sums up what is the same objective in several runs. Runs that are void count only where all are.
func targetOf(l *loadgen.Load, runs []loadgen.Objective) target {
	t := target{Objective: runs[0], runs: len(runs)}
	var outcomes []string
	var sound, all []float64
	for _, o := range runs {
		outcome := objectiveOutcome(l, o)
		outcomes, all = append(outcomes, outcome), append(all, o.Measured)
		if outcome == "missed" {
			t.missed++
		}
		if outcome != "void" {
			sound = append(sound, o.Measured)
		}
	}
	if len(sound) == 0 {
		sound = all
	}
	s := spreadOf(sound)
	t.Measured, t.Repeat = s.Median, 0
	if s.Least != s.Most {
		t.Range = quantity(t.Objective, s.Least) + " to " + quantity(t.Objective, s.Most)
	}
	t.Outcome, t.Label = worst(outcomes)
	return t
}

// missedTargets returns the objectives that were not met in at least one run that says something about the webhook.
func missedTargets(l *loadgen.Load) []target {
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(targetsOf(l), func(t target) bool { return t.Outcome != "missed" })
}

// targetText says what was measured and what the limit is, and how many of several runs missed it.
func targetText(l *loadgen.Load, t target) string {
	text := measuredText(l, t.Objective)
	if t.runs == 1 {
		return text
	}
	return fmt.Sprintf("%s, missed by %d of %d runs)", strings.TrimSuffix(text, ")"), t.missed, t.runs)
}

// measuredText says what was measured and what the limit is, and for which stage if there are several.
func measuredText(l *loadgen.Load, o loadgen.Objective) string {
	if severalStages(l) {
		o.Name = objectiveSubject(l, o)
	}
	o.Stage = ""
	return objectiveText(o)
}
