package crdconform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/loadgen/compare"
	"github.com/crdconform/crdconform/loadgen/workers"
	"github.com/crdconform/crdconform/reports"
)

// LoadTest is a load test of one webhook: what is sent, how often, and what it has to keep.
type LoadTest struct {
	Profile    loadgen.Profile
	Bodies     func(loadgen.Workload) ([]contract.Request, error) // what a workload sends over and over
	Repeat     int                                                // how many times all stages run; 1 if 0
	WarmUp     time.Duration                                      // how long the first stage is sent before, unmeasured
	Objectives config.Objectives

	// Workers share each stage, and Fleet is where they run: this process sends all by itself if it is nil.
	Workers int
	Fleet   workers.Fleet

	// Control is a webhook that is the same in every run; it is sent the first workload for a while after each repeat. It may be
	// nil.
	Control *Control

	// Baseline is an earlier run to compare with, and Limits say how much worse this one may be. It may be nil.
	Baseline *Baseline
}

// Control is a webhook that tells the machine from the webhook under test.
type Control struct {
	Client *wire.Client
	Bodies func(loadgen.Workload) ([]contract.Request, error)
}

// Baseline is an earlier run.
type Baseline struct {
	File   string // that it was read from
	Load   *reports.Load
	Limits []compare.Limit
}

// Loading is told how a load test goes on.
type Loading interface {
	// Loading is told that a stage begins, or a probe of a search, and returns what is told how it goes on.
	Loading(w loadgen.Workload) loadgen.Watch
}

// Run runs the load test and judges it by its objectives. When the context ends, it returns what there is so far, marked as
// partial; nil when that is nothing.
func (t LoadTest) Run(ctx context.Context, client *wire.Client, progress Loading) (*reports.Load, error) {
	l := &reports.Load{Profile: t.Profile.Name}
	if err := t.warmUp(ctx, client); err != nil {
		return nil, err
	}
	if t.Profile.Search != nil {
		if err := t.search(ctx, client, progress, l); err != nil {
			return soFar(l), err
		}
	}
	var costs []*loadgen.Cost
	for repeat := range max(t.Repeat, 1) {
		var summaries []loadgen.Summary
		for _, w := range t.Profile.Stages {
			if ctx.Err() != nil {
				return t.concluded(l)
			}
			summary, err := t.stage(ctx, client, progress, w)
			if err != nil && summary.Requests == 0 {
				return soFar(l), err
			}
			if err != nil { // the figures hold, and something is left behind
				return l, errors.Join(add(&l.Stages, summary, repeat+1), err)
			}
			if summary.Requests+summary.Unanswered+summary.NotSent() == 0 {
				return t.concluded(l)
			}
			if err := add(&l.Stages, summary, repeat+1); err != nil {
				return soFar(l), err
			}
			summaries = append(summaries, summary)
		}
		if err := t.control(ctx, l, repeat+1); err != nil {
			return soFar(l), err
		}
		if cost := loadgen.CostOf(summaries); cost != nil {
			costs = append(costs, cost)
			typical := loadgen.TypicalCost(costs)
			l.Cost = &reports.Cost{Request: milliseconds(typical.Request), Object: milliseconds(typical.Object), Fit: typical.Fit, Batches: typical.Batches}
		}
	}
	return t.concluded(l)
}

// soFar is what was measured before something went wrong; nil when that is nothing.
func soFar(l *reports.Load) *reports.Load {
	if len(l.Stages) == 0 && l.Search == nil {
		return nil
	}
	return l
}

// warmUp sends the first workload for a while, and forgets what came of it.
func (t LoadTest) warmUp(ctx context.Context, client *wire.Client) error {
	if t.WarmUp <= 0 || len(t.Profile.Stages) == 0 {
		return nil
	}
	w := t.Profile.Stages[0]
	if w.Clients > 0 {
		w.Duration, w.Requests = t.WarmUp, 0
	} else {
		w = evenly(w, t.WarmUp)
	}
	requests, err := t.Bodies(w)
	if err != nil {
		return err
	}
	_, err = t.send(ctx, client, requests, w, loadgen.Watch{})
	return err
}

// evenly is a workload by the clock at its mean rate, for another while. What came at certain times is sent once, at most: the mean
// of a short burst is no rate to go on at.
func evenly(w loadgen.Workload, length time.Duration) loadgen.Workload {
	rate := w.Rate()
	if n := len(w.Due); n > 0 {
		rate = min(rate, float64(n)/length.Seconds())
	}
	w.Phases, w.Due = loadgen.Constant(max(rate, 1/length.Seconds()), length), nil
	return w
}

func (t LoadTest) stage(ctx context.Context, client *wire.Client, progress Loading, w loadgen.Workload) (loadgen.Summary, error) {
	requests, err := t.Bodies(w)
	if err != nil {
		return loadgen.Summary{}, err
	}
	return t.send(ctx, client, requests, w, progress.Loading(w))
}

// send has this process send a workload, or the workers.
func (t LoadTest) send(ctx context.Context, client *wire.Client, requests []contract.Request, w loadgen.Workload, watch loadgen.Watch) (loadgen.Summary, error) {
	if t.Fleet == nil {
		return loadgen.Run(ctx, client, requests, w, watch)
	}
	return workers.Run(ctx, t.Fleet, workers.Load{Endpoint: client.Endpoint(), Requests: requests, Workload: w, Workers: t.Workers}, watch)
}

// search finds the highest rate that meets the goal.
func (t LoadTest) search(ctx context.Context, client *wire.Client, progress Loading, l *reports.Load) error {
	s := *t.Profile.Search
	requests, err := t.Bodies(s.Workload)
	if err != nil {
		return err
	}
	found, failed := s.Run(ctx, client, requests, progress.Loading)
	if failed != nil && len(found.Probes) == 0 {
		return failed
	}
	found.Partial = found.Partial || failed != nil
	l.Search = &reports.Search{Met: found.Met, Missed: found.Missed, Goal: s.Goal.String(), Partial: found.Partial}
	for _, p := range found.Probes {
		l.Search.Probes = append(l.Search.Probes, reports.Probe{Rate: p.Rate, Met: p.Met, Measured: p.String(), Void: p.Void != ""})
	}
	if found.At.Requests == 0 {
		return failed
	}
	return add(&l.Stages, found.At, 1)
}

// limited fails when an objective limits none of the stages, as far as that is known before they are sent.
func (t LoadTest) limited() error {
	stages := t.Profile.Stages
	if t.Profile.Search != nil {
		stages = append(slices.Clone(stages), t.Profile.Search.Workload)
	}
	if !slices.Contains(t.Objectives.Presets, config.KEPPreset) || len(stages) == 0 ||
		slices.ContainsFunc(stages, func(w loadgen.Workload) bool { return kepLimit(w.Batch, float64(w.Bytes)) > 0 }) {
		return nil
	}
	what := fmt.Sprintf("%d objects", stages[0].Batch)
	if stages[0].Bytes > 0 {
		what += fmt.Sprintf(" of %d bytes", stages[0].Bytes)
	}
	return fmt.Errorf("objectives.presets: %s says nothing of %s in a request; give smaller batches or objects, or limits of your own", config.KEPPreset, what)
}

// unlimited says of which stages that were sent a preset says nothing. It fails when that is all of them.
func unlimited(o config.Objectives, l *reports.Load) ([]string, error) {
	if !slices.Contains(o.Presets, config.KEPPreset) || len(l.Stages) == 0 {
		return nil, nil
	}
	var notes []string
	limited := false
	for _, s := range l.Stages {
		if kepLimit(s.Batch, sizeOf(s)) > 0 {
			limited = true
			continue
		}
		note := fmt.Sprintf("the objective %s says nothing of %d objects of %.0f bytes in a request, so it does not judge the stage %q", config.KEPPreset, s.Batch, sizeOf(s), s.Name)
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if !limited {
		return notes, fmt.Errorf("the objective %s says nothing of so many or so large objects in a request; send smaller batches or objects, or give limits of your own", config.KEPPreset)
	}
	return notes, nil
}

// concluded judges the stages by the objectives. It returns nil where there is nothing to judge.
func (t LoadTest) concluded(l *reports.Load) (*reports.Load, error) {
	if soFar(l) == nil {
		return nil, nil //nolint:nilnil // nothing was measured, and nothing is wrong
	}
	for _, s := range l.Stages {
		l.Objectives = append(l.Objectives, judged(t.Objectives, s)...)
	}
	if t.Baseline == nil {
		return l, nil
	}
	compared, err := Compared(t.Baseline.Load, l, t.Baseline.Limits)
	if err != nil {
		return l, err
	}
	l.Comparison = &reports.Comparison{Baseline: t.Baseline.File, Comparison: compared}
	return l, nil
}

// controlled is how long the control is loaded after each repeat, at most.
const controlled = 2 * time.Second

// control measures the control.
func (t LoadTest) control(ctx context.Context, l *reports.Load, repeat int) error {
	if t.Control == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // whoever stopped it knows
	}
	w := t.Profile.Stages[0]
	if w.Clients > 0 {
		w.Duration = min(w.Duration, controlled)
	} else {
		w = evenly(w, max(min(w.Length(), controlled), time.Millisecond))
	}
	requests, err := t.Control.Bodies(w)
	if err != nil {
		return err
	}
	summary, err := loadgen.Run(ctx, t.Control.Client, requests, w, loadgen.Watch{})
	if err != nil {
		return err
	}
	return add(&l.Control, summary, repeat)
}
