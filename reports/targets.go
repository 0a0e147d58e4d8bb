package reports

import (
	"fmt"
	"slices"
	"strings"
)

// target is an objective for all runs of a workload.
type target struct {
	Objective             // with the median of what was measured
	Range          string // of what was measured; empty for one run
	Outcome, Label string // what became of it, as a class and in words
	runs, missed   int
}

// targets returns the objectives by what they are about, in the order in which they first come.
func (l *Load) targets() []target {
	var order []Objective
	runs := map[Objective][]Objective{}
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
		targets = append(targets, l.target(runs[key]))
	}
	return targets
}

// target sums up what is the same objective in several runs. Runs that are void count only where all are.
func (l *Load) target(runs []Objective) target {
	t := target{Objective: runs[0], runs: len(runs)}
	var outcomes []string
	var sound, all []float64
	for _, o := range runs {
		outcome := l.Met(o)
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
		t.Range = t.Quantity(s.Least) + " to " + t.Quantity(s.Most)
	}
	t.Outcome, t.Label = worst(outcomes)
	return t
}

// missed returns the objectives that were not met in at least one run that says something about the webhook.
func (l *Load) missed() []target {
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(l.targets(), func(t target) bool { return t.Outcome != "missed" })
}

// told says what was measured and what the limit is, and how many of several runs missed it.
func (l *Load) told(t target) string {
	text := l.measured(t.Objective)
	if t.runs == 1 {
		return text
	}
	return fmt.Sprintf("%s, missed by %d of %d runs)", strings.TrimSuffix(text, ")"), t.missed, t.runs)
}

// measured says what was measured and what the limit is, and for which stage if there are several.
func (l *Load) measured(o Objective) string {
	if l.several() {
		o.Name = l.subject(o)
	}
	o.Stage = ""
	return o.String()
}
