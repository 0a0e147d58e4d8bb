package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/load/workers"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// LoadTest is a load test of one webhook: what is sent, how often, and what it has to keep.
type LoadTest struct {
	Profile    load.Profile
	Bodies     func(load.Workload) ([]contract.Request, error) // what a workload sends over and over
	Repeat     int                                             // how many times all stages run; 1 if 0
	WarmUp     time.Duration                                   // how long the first stage is sent before, unmeasured
	Objectives config.Objectives

	// Workers share each stage, and Launcher is where they run: this process sends all by itself if it is nil.
	Workers  int
	Launcher workers.Launcher

	// Control is a webhook that is the same in every run; it is sent the first workload for a while after each repeat. It may be
	// nil.
	Control *Control

	// Baseline is an earlier run to compare with, and Limits say how much worse this one may be. It may be nil.
	Baseline *Baseline
}

// Control is a webhook that tells the machine from the webhook under test.
type Control struct {
	Client *wire.Client
	Bodies func(load.Workload) ([]contract.Request, error)
}

// Baseline is an earlier run.
type Baseline struct {
	File   string // that it was read from
	Load   *loadgen.Load
	Limits []compare.Limit
}

// Loading is told how a load test goes on.
type Loading interface {
	// Loading is told that a stage begins, or a probe of a search, and returns what is told how it goes on.
	Loading(w load.Workload) load.Watch
}

// Run runs the load test and judges it by its objectives. When the context ends, it returns what there is so far, marked as
// partial; nil when that is nothing.
func (t LoadTest) Run(ctx context.Context, client *wire.Client, progress Loading) (*loadgen.Load, error) {
	l := &loadgen.Load{Profile: t.Profile.Name}
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
		var summaries []load.Summary
		for _, w := range t.Profile.Stages {
			if ctx.Err() != nil {
				return t.concluded(l)
			}
			summary, err := t.stage(ctx, client, progress, w)
			if err != nil && summary.Requests == 0 {
				return soFar(l), err
			}
			if err != nil { // the figures hold, and something is left behind
				add(&l.Stages, summary, repeat+1)
				return l, err
			}
			if summary.Requests+summary.Unanswered+summary.NotSent() == 0 {
				return t.concluded(l)
			}
			add(&l.Stages, summary, repeat+1)
			summaries = append(summaries, summary)
		}
		if err := t.control(ctx, l, repeat+1); err != nil {
			return soFar(l), err
		}
		if cost := load.CostOf(summaries); cost != nil {
			costs = append(costs, cost)
			l.Cost = load.TypicalCost(costs)
		}
	}
	return t.concluded(l)
}

// add adds what came of a stage.
func add(stages *[]loadgen.Stage, summary load.Summary, repeat int) {
	s := summary.Stage()
	s.Repeat = repeat
	for i := range s.Findings {
		for j := range s.Findings[i].Files {
			file := &s.Findings[i].Files[j]
			file.Path = fmt.Sprintf("load/%d-%s", len(*stages)+1, file.Path)
		}
	}
	*stages = append(*stages, s)
}

// soFar is what was measured before something went wrong; nil when that is nothing.
func soFar(l *loadgen.Load) *loadgen.Load {
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
	_, err = t.send(ctx, client, requests, w, load.Watch{})
	return err
}

// evenly is a workload by the clock at its mean rate, for another while. What came at certain times is sent once, at most: the mean
// of a short burst is no rate to go on at.
func evenly(w load.Workload, length time.Duration) load.Workload {
	rate := w.Rate()
	if n := len(w.Due); n > 0 {
		rate = min(rate, float64(n)/length.Seconds())
	}
	w.Phases, w.Due = load.Constant(max(rate, 1/length.Seconds()), length), nil
	return w
}

func (t LoadTest) stage(ctx context.Context, client *wire.Client, progress Loading, w load.Workload) (load.Summary, error) {
	requests, err := t.Bodies(w)
	if err != nil {
		return load.Summary{}, err
	}
	return t.send(ctx, client, requests, w, progress.Loading(w))
}

// send has this process send a workload, or the workers.
func (t LoadTest) send(ctx context.Context, client *wire.Client, requests []contract.Request, w load.Workload, watch load.Watch) (load.Summary, error) {
	if t.Launcher == nil {
		return load.Run(ctx, client, requests, w, watch)
	}
	return workers.Run(ctx, t.Launcher, workers.Load{Endpoint: client.Endpoint(), Requests: requests, Workload: w, Workers: t.Workers}, watch)
}

// search finds the highest rate that meets the goal.
func (t LoadTest) search(ctx context.Context, client *wire.Client, progress Loading, l *loadgen.Load) error {
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
	l.Search = &found.Search
	if found.At.Requests == 0 {
		return failed
	}
	add(&l.Stages, found.At, 1)
	return nil
}

// limited fails when an objective limits none of the stages, as far as that is known before they are sent.
func (t LoadTest) limited(c config.Config) error {
	stages := t.Profile.Stages
	if t.Profile.Search != nil {
		stages = append(slices.Clone(stages), t.Profile.Search.Workload)
	}
	if !slices.Contains(t.Objectives.Presets, options.KEPPreset) || len(stages) == 0 ||
		slices.ContainsFunc(stages, func(w load.Workload) bool { return kepLimit(w.Batch, float64(w.Bytes)) > 0 }) {
		return nil
	}
	what := fmt.Sprintf("%d objects", stages[0].Batch)
	if stages[0].Bytes > 0 {
		what += fmt.Sprintf(" of %d bytes", stages[0].Bytes)
	}
	return c.At("objectives.presets", "%s does not cover %s in a request; use smaller batches or objects, or limits of your own", options.KEPPreset, what)
}

// unlimited says of which stages that were sent a preset says nothing. It fails when that is all of them.
func unlimited(o config.Objectives, l *loadgen.Load) ([]string, error) {
	if !slices.Contains(o.Presets, options.KEPPreset) || len(l.Stages) == 0 {
		return nil, nil
	}
	var notes []string
	limited := false
	for _, s := range l.Stages {
		if kepLimit(s.Batch, sizeOf(s)) > 0 {
			limited = true
			continue
		}
		note := fmt.Sprintf("the objective %s does not cover %d objects of %.0f bytes in a request, so it does not judge the stage %q", options.KEPPreset, s.Batch, sizeOf(s), s.Name)
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if !limited {
		return notes, fmt.Errorf("the objective %s does not cover so many or so large objects in a request; use smaller batches or objects, or limits of your own", options.KEPPreset)
	}
	return notes, nil
}

// concluded judges the stages by the objectives. It returns nil where there is nothing to judge.
func (t LoadTest) concluded(l *loadgen.Load) (*loadgen.Load, error) {
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
	compared.Baseline = t.Baseline.File
	l.Comparison = &compared
	return l, nil
}

// controlled is how long the control is loaded after each repeat, at most.
const controlled = 2 * time.Second

// control measures the control.
func (t LoadTest) control(ctx context.Context, l *loadgen.Load, repeat int) error {
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
	summary, err := load.Run(ctx, t.Control.Client, requests, w, load.Watch{})
	if err != nil {
		return err
	}
	add(&l.Control, summary, repeat)
	return nil
}
