package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/load/workers"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// LoadTest is a load test of one webhook: what is sent, how often, and the objectives to meet.
type LoadTest struct {
	Profile    load.Profile
	Bodies     func(load.Workload) ([]contract.Request, error) // what a workload sends over and over
	Repeat     int                                             // how many times all stages run; 1 if 0
	Rules      load.Rules                                      // by which the content of responses is judged, if a workload asks for it
	Note       func(string)                                    // receives what could not be judged; it may be nil
	WarmUp     time.Duration                                   // how long the first stage is sent before, unmeasured
	Usage      func() (process.Usage, bool)                    // what the webhook uses; nil if that can't be known
	Objectives config.Objectives

	// Before is how many stages load tests before this one have added to the report, for the names of the files of findings.
	Before int

	// Workers share each stage, and Launcher starts them. If it is nil, this process sends everything.
	Workers  int
	Launcher workers.Launcher

	// Control is a webhook that is the same in every run. It receives the first workload for a while after each repeat. It may be
	// nil.
	Control *Control

	// Baseline is an earlier run to compare with. It may be nil.
	Baseline *Baseline
}

// Targets returns what the load test would send, for vegeta's own attacker. It fails when the stages send different requests, since vegeta
// would mix them, and when the webhook has no URL yet.
func (p *Plan) Targets() ([]vegeta.Target, error) {
	if p.want.Webhook.URL == "" {
		return nil, errors.New("the webhook has no URL until it is started; give its URL")
	}
	client, err := wire.Connect(wire.Endpoint{URL: p.want.Webhook.URL, CA: p.ca, ServerName: p.want.Webhook.ServerName})
	if err != nil {
		return nil, err
	}
	test := p.loads[0]
	stages := test.Profile.Stages
	if test.Profile.Search != nil {
		stages = []load.Workload{test.Profile.Search.Workload}
	}
	for _, other := range stages[1:] {
		if other.Batch != stages[0].Batch || other.Bytes != stages[0].Bytes {
			return nil, errors.New("the stages send requests of different sizes, which vegeta would mix; choose one batch and one size")
		}
	}
	requests, err := test.Bodies(stages[0])
	if err != nil {
		return nil, err
	}
	return load.Targets(client.URL(), requests)
}

// Control is a webhook that shows how fast the machine is, as opposed to the webhook under test.
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

// watching returns what receives the progress of a stage, or of a probe of a search, that begins.
type watching = func(load.Workload) load.Watch

// Run runs the load test and judges it by its objectives. When the context ends, it returns the results so far, marked as partial,
// or nil if there are none.
func (t LoadTest) Run(ctx context.Context, client *wire.Client, watching watching) (*loadgen.Load, error) {
	l := &loadgen.Load{Profile: t.Profile.Name}
	if err := t.warmUp(ctx, client); err != nil {
		return nil, err
	}
	if t.Profile.Search != nil {
		if err := t.search(ctx, client, watching, l); err != nil {
			return soFar(l), err
		}
	}
	learnt := make([]*load.Content, len(t.Profile.Stages))
	var costs []*loadgen.Cost
	for repeat := range max(t.Repeat, 1) {
		var summaries []load.Summary
		for i, w := range t.Profile.Stages {
			if ctx.Err() != nil {
				return t.concluded(l)
			}
			summary, used, err := t.stage(ctx, client, watching, w, &learnt[i])
			if err != nil && summary.Requests == 0 {
				return soFar(l), err
			}
			if err != nil { // the figures hold, and something is left behind
				t.add(&l.Stages, summary, used, repeat+1)
				return l, err
			}
			if summary.Requests+summary.Unanswered+summary.NotSent() == 0 {
				return t.concluded(l)
			}
			t.add(&l.Stages, summary, used, repeat+1)
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

// add adds the result of a stage, with the memory that the webhook used; nil if that was not measured.
func (t LoadTest) add(stages *[]loadgen.Stage, summary load.Summary, used *memory.Trend, repeat int) {
	s := summary.Stage()
	s.Repeat, s.Memory = repeat, memoryOf(used)
	for i := range s.Findings {
		for j := range s.Findings[i].Files {
			file := &s.Findings[i].Files[j]
			file.Path = fmt.Sprintf("load/%d-%s", t.Before+len(*stages)+1, file.Path)
		}
	}
	*stages = append(*stages, s)
}

// nameStages names each stage that has no name as the profile, for reports of several profiles. That of a search is named by its rate.
func (t LoadTest) nameStages() {
	for i := range t.Profile.Stages {
		t.Profile.Stages[i].Name = cmp.Or(t.Profile.Stages[i].Name, t.Profile.Name)
	}
}

// soFar returns what was measured before something went wrong, or nil if nothing was.
func soFar(l *loadgen.Load) *loadgen.Load {
	if len(l.Stages) == 0 && l.Search == nil {
		return nil
	}
	return l
}

// warmUp sends the first workload for a while and discards the result.
func (t LoadTest) warmUp(ctx context.Context, client *wire.Client) error {
	if t.WarmUp <= 0 || len(t.Profile.Stages) == 0 {
		return nil
	}
	w := t.Profile.Stages[0]
	w.JudgeContent = false
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

// evenly returns a workload by the clock at a constant rate, its mean, for another duration. Recorded requests are sent at most
// once, because the mean of a short burst is not a rate that can be kept up.
func evenly(w load.Workload, length time.Duration) load.Workload {
	rate := w.Rate()
	if n := len(w.Due); n > 0 {
		rate = min(rate, float64(n)/length.Seconds())
	}
	w.Phases, w.Due = load.Constant(max(rate, 1/length.Seconds()), length), nil
	return w
}

// stage sends a stage, and measures the webhook meanwhile. What the webhook is to answer is learnt the first time.
func (t LoadTest) stage(ctx context.Context, client *wire.Client, watching watching, w load.Workload, learnt **load.Content) (load.Summary, *memory.Trend, error) {
	requests, err := t.Bodies(w)
	if err != nil {
		return load.Summary{}, nil, err
	}
	if w.JudgeContent && *learnt == nil {
		if *learnt, err = t.learn(ctx, client, requests); ctx.Err() != nil {
			return load.Summary{}, nil, nil //nolint:nilerr // the caller stopped it
		}
		if err != nil {
			return load.Summary{}, nil, err
		}
	}
	w.Content = *learnt
	m, watch := metered(ctx, t.Usage, w, watching(w))
	summary, err := t.send(ctx, client, requests, w, watch)
	return summary, m.trend(), err
}

// learn asks the webhook what it answers to the requests before the load.
func (t LoadTest) learn(ctx context.Context, client *wire.Client, requests []contract.Request) (*load.Content, error) {
	content, err := load.Learn(ctx, client, requests, t.Rules)
	if err == nil && t.Note != nil {
		for _, note := range content.Notes() {
			t.Note(note)
		}
	}
	return content, err
}

// send has this process send a workload, or the workers.
func (t LoadTest) send(ctx context.Context, client *wire.Client, requests []contract.Request, w load.Workload, watch load.Watch) (load.Summary, error) {
	if t.Launcher == nil {
		return load.Run(ctx, client, requests, w, watch)
	}
	return workers.Run(ctx, t.Launcher, workers.Load{Endpoint: client.Endpoint(), Requests: requests, Workload: w, Workers: t.Workers}, watch)
}

// search finds the highest rate that meets the goal.
func (t LoadTest) search(ctx context.Context, client *wire.Client, watching watching, l *loadgen.Load) error {
	s := *t.Profile.Search
	requests, err := t.Bodies(s.Workload)
	if err != nil {
		return err
	}
	if s.Workload.JudgeContent {
		if s.Workload.Content, err = t.learn(ctx, client, requests); ctx.Err() != nil {
			return nil //nolint:nilerr // the caller stopped it
		}
		if err != nil {
			return err
		}
	}
	found, failed := s.Run(ctx, client, requests, watching)
	if failed != nil && len(found.Probes) == 0 {
		return failed
	}
	found.Partial = found.Partial || failed != nil
	l.Search = &found.Search
	if found.At.Requests == 0 {
		return failed
	}
	t.add(&l.Stages, found.At, nil, 1)
	return nil
}

// limited fails if an objective applies to none of the stages, as far as that is known in advance.
func (t LoadTest) limited(c config.Config) error {
	stages := t.Profile.Stages
	if t.Profile.Search != nil {
		stages = append(slices.Clone(stages), t.Profile.Search.Workload)
	}
	if !slices.Contains(t.Objectives.Presets, options.KEPPreset) || len(stages) == 0 ||
		slices.ContainsFunc(stages, func(w load.Workload) bool { return kepLimit(w.Batch, float64(w.Bytes)) > 0 }) {
		return nil
	}
	what := visible.Count(stages[0].Batch, "object", "")
	if stages[0].Bytes > 0 {
		what += fmt.Sprintf(" of %d bytes", stages[0].Bytes)
	}
	return c.At("objectives.presets", "%s does not cover %s in a request; use smaller batches or objects, or limits of your own", options.KEPPreset, what)
}

// unlimited lists the stages that a preset does not cover. It fails if it covers none.
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
		note := fmt.Sprintf("the objective %s does not cover %s of %.0f bytes in a request, so it does not judge the stage %q", options.KEPPreset, visible.Count(s.Batch, "object", ""), sizeOf(s), s.Name)
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if !limited {
		return notes, fmt.Errorf("the objective %s does not cover requests with that many objects, or with objects that large; use smaller batches or objects, or limits of your own", options.KEPPreset)
	}
	return notes, nil
}

// concluded judges the stages by the objectives. It returns nil if there is nothing to judge.
func (t LoadTest) concluded(l *loadgen.Load) (*loadgen.Load, error) {
	if soFar(l) == nil {
		return nil, nil //nolint:nilnil // nothing was measured, and nothing is wrong
	}
	for _, s := range l.Stages {
		l.Objectives = append(l.Objectives, judged(t.Objectives, s)...)
		if t.Profile.Name == profiles.Soak && s.Memory != nil {
			l.Objectives = append(l.Objectives, leakless(s))
		}
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

// The most load that a control receives after each repeat: more would bring it near to what a machine with two processors can do, and it
// would show its own queue.
const (
	controlled        = 2 * time.Second
	controlledRate    = 100 // requests a second
	controlledClients = 1
)

// control measures the control.
func (t LoadTest) control(ctx context.Context, l *loadgen.Load, repeat int) error {
	if t.Control == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the caller stopped it
	}
	w := t.Profile.Stages[0]
	w.JudgeContent = false
	if w.Clients > 0 {
		w.Duration, w.Clients = min(w.Duration, controlled), min(w.Clients, controlledClients)
	} else {
		w = evenly(w, max(min(w.Length(), controlled), time.Millisecond))
		w.Phases = load.Constant(min(w.Rate(), controlledRate), w.Length())
	}
	requests, err := t.Control.Bodies(w)
	if err != nil {
		return err
	}
	summary, err := load.Run(ctx, t.Control.Client, requests, w, load.Watch{})
	if err != nil {
		return err
	}
	t.add(&l.Control, summary, nil, repeat)
	l.ControlWork = ControlRounds
	return nil
}
