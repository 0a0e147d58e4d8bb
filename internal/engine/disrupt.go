package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/subject"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Disruption is what is done to a webhook on purpose. Source is where the API server comes from that pods run under; programs have the
// embedded one.
type Disruption struct {
	Description

	// Reference is the command that serves the reference webhook as a program, with {port} and {certs}.
	Reference []string

	// Pods allows pods in a cluster that others may use to be disrupted: those that the run deploys.
	Pods bool

	// PodsAdvice says how to allow that, in brackets; it may be empty.
	PodsAdvice string
}

// DisruptionPlan is a disruption whose files were read. Nothing was started yet.
type DisruptionPlan struct {
	*Plan

	given  Disruption
	lab    disruption.Plan
	limits objective.Set
	keep   func(report *reports.Report, name string, write func(io.Writer) error) error
}

// Scenarios returns how many scenarios there are.
func (p *DisruptionPlan) Scenarios() int { return len(p.lab.Scenarios) }

// Keep has the history of each scenario written by a function, which notes the file in the report.
func (p *DisruptionPlan) Keep(keep func(report *reports.Report, name string, write func(io.Writer) error) error) {
	p.keep = keep
}

// Prepare reads the files of a disruption. Its errors are about these, and say what to do.
func (d Disruption) Prepare() (*DisruptionPlan, error) {
	d.Config = completed(d.Config)
	if err := d.subject(); err != nil {
		return nil, err
	}
	if d.Webhook.Source() == "" {
		d.Webhook.Reference = &config.Reference{}
	}
	d.ServeReference = d.serveReference()
	p := &DisruptionPlan{given: d, Plan: d.plan()}
	if err := p.want.Validate(); err != nil {
		return nil, err
	}
	var err error
	if p.limits, err = objective.Parse(d.Disrupt.Objectives, scenarioIDs()); err != nil {
		return nil, err
	}
	if err = errors.Join(p.readKinds(), p.webhook()); err != nil {
		return nil, err
	}
	return p, p.choose()
}

// choose determines the scenarios and the objects.
func (p *DisruptionPlan) choose() error {
	d := p.want.Disrupt
	chosen := objective.Chosen(d.Scenarios, scenarioIDs())
	for _, s := range disruption.Scenarios() {
		if p.pods() {
			s = s.ForPods()
		}
		if slices.Contains(chosen, string(s.ID)) {
			p.lab.Scenarios = append(p.lab.Scenarios, s)
		}
	}
	switch all := p.lab.Scenarios; {
	case len(all) == 0:
		return errors.New("no scenario selected; \"crdconform list --filter disruption\" shows all")
	case !slices.ContainsFunc(all, disruption.Scenario.Applies):
		return p.want.At("disrupt.scenarios", "none of the selected scenarios applies to pods; docs/scenarios.md says which do")
	}
	p.lab.Settings = disruption.Settings{
		Rate: d.Rate, Reached: disruption.Reached, Objects: d.Objects, Quiet: d.Quiet.Duration, Limit: d.RecoveryLimit.Duration, PickUp: d.PickUpLimit.Duration, Seed: uint64(p.Seed()),
	}
	kind := p.kinds[0]
	if kind.Documented {
		kind = corpus.CronTabs("v1beta1", "v1")
	}
	if kind.Definition == nil {
		return p.want.At("crds", "samples alone can't be created; give the definition by %s", options.Key("crds"))
	}
	if served := kind.Definition.Versions(); len(served) < 2 {
		return p.want.At("crds", "%s serves one version only, so clients need no conversion", nameOf(kind))
	}
	if len(p.kinds) > 1 {
		p.notes = append(p.notes, fmt.Sprintf("the objects are of %s only, the first of %d definitions", nameOf(kind), len(p.kinds)))
	}
	p.lab.Definition, p.lab.Samples = kind.Definition.CRD, map[string][]*unstructured.Unstructured{}
	for _, version := range kind.Definition.Versions() {
		if p.lab.Samples[version] = kind.Objects(version); len(p.lab.Samples[version]) > 0 {
			continue
		}
		if minimal := kind.Definition.Generator(version, p.Seed(), nil).Minimal(); minimal != nil {
			p.lab.Samples[version] = []*unstructured.Unstructured{minimal}
		} else {
			p.notes = append(p.notes, fmt.Sprintf("there is no sample at %s, and none can be generated, so clients create and write no objects at it; give one as a sample", version))
		}
	}
	return nil
}

// scenarioIDs are the IDs of all scenarios.
func scenarioIDs() []string {
	var all []string
	for _, id := range disruption.IDs() {
		all = append(all, string(id))
	}
	return all
}

// programs are the program to disrupt, and the one of the old release.
func (p *DisruptionPlan) programs() error {
	c := p.want.Webhook.Command
	if c == nil {
		c = &config.Command{Args: slices.Clone(p.given.Reference), Path: webhook.Path}
		for _, fault := range p.want.Webhook.Reference.Faults {
			c.Args = append(c.Args, "--fault="+fault)
		}
	}
	var err error
	if p.lab.Program, err = p.command(*c, c.Args, "webhook.command"); err != nil {
		return err
	}
	p.lab.Path = p.lab.Program.Path
	if p.want.Disrupt.OldProgram == "" {
		return nil
	}
	args, err := shell.Split(p.want.Disrupt.OldProgram)
	if err != nil {
		return p.want.At("disrupt.oldProgram", "%w", err)
	}
	old, err := p.command(*c, args, "disrupt.oldProgram")
	p.lab.OldProgram = &old
	return err
}

// command is a program that can be started, with the name that the definition has for it.
func (p *DisruptionPlan) command(c config.Command, args []string, key string) (subject.Command, error) {
	command := subject.Command{
		Args: args, Env: c.Env, Dir: p.want.Path(c.Dir), Path: c.Path, ServerName: disruption.ServerName, ReadyTimeout: c.ReadyTimeout.Duration,
	}
	if err := command.Validate(); err != nil {
		return command, err
	}
	if err := command.Find(); err != nil {
		return command, p.want.At(key, "%w", err)
	}
	if err := movable(command); err != nil {
		return command, p.want.At(key, "%w", err)
	}
	return command, nil
}

// Run disrupts the webhook, and stops everything that it started. The report says what could not be judged, and why. If the context ends,
// what is broken is mended first, and the report is partial.
func (p *DisruptionPlan) Run(ctx context.Context, progress Progress, apiServerLog io.Writer) *reports.Report {
	s := p.begin(progress, apiServerLog)
	ctx = s.limited(ctx)
	defer s.limit.lift()
	s.say(s.notes...)
	results := map[requirement.ID]reports.Result{}
	err := p.disrupt(ctx, s, func(o disruption.Outcome) {
		result, figures := p.judge(s, o)
		results[result.ID] = result
		if figures != nil {
			s.report.Disruptions = append(s.report.Disruptions, *figures)
		}
		s.progress.Disrupted(result, figures)
	})
	s.fail(ctx, err)
	for _, one := range p.lab.Scenarios {
		result, judged := results[one.ID]
		if !judged {
			result = p.result(one)
			result.Verdict, result.Reason = requirement.Unknown, "the run ended before this scenario"
		}
		s.report.Results = append(s.report.Results, result)
	}
	s.end(ctx)
	return s.report
}

func (p *DisruptionPlan) disrupt(ctx context.Context, s *session, each func(disruption.Outcome)) (err error) {
	dir, err := files.TemporaryDir("", "disruption-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	from := embeddedWith(embedded.Options{WatchCache: true})
	if p.pods() {
		from = p.want.Source
	}
	api, stop, err := s.start(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	if ctx.Err() != nil {
		return nil // the caller stopped it
	}
	s.describeCluster(api)
	p.lab.Progress = s.progress.Note
	header := record.Header{Subject: p.name(), Cluster: s.report.Cluster.String()}
	disrupt := func() error { return disruption.Run(ctx, &p.lab, api, dir, header, p.limits.For, each) }
	if !p.pods() {
		return disrupt()
	}
	s.api = api
	if _, shared := api.(cluster.Shared); shared { // others go with all that is in them
		p.lab.Run = s.run
	}
	return s.withPods(ctx, func(w *deployed.Webhook) (err error) {
		if p.lab.Builds, err = s.builds(ctx, p.want.Config, w); err != nil {
			return err
		}
		p.lab.Pods, p.lab.Path = w, w.Service.Path
		return disrupt()
	})
}

// result is the result of a scenario before it is judged.
func (p *DisruptionPlan) result(s disruption.Scenario) reports.Result {
	result := disruptionResult(s.ID, p.lab.Definition.Name, s.Title)
	result.Rerun = p.rerun("", s.ID)
	return result
}

// judge judges what came of a scenario. The figures are nil if there are none.
func (p *DisruptionPlan) judge(s *session, o disruption.Outcome) (reports.Result, *reports.Disruption) {
	result := p.result(o.Scenario)
	result.Seconds = o.Seconds
	var figures *reports.Disruption
	switch {
	case o.Skipped != "":
		result.Verdict, result.Reason = requirement.NotApplicable, o.Skipped
	case o.Wrong != "":
		result.Verdict, result.Reason = requirement.Failed, o.Wrong
	case o.Err != nil && errors.Is(o.Err, context.Canceled):
		result.Verdict, result.Reason = requirement.Unknown, "the run ended before it was judged"
	case o.Err != nil:
		result.Verdict, result.Reason = requirement.Errored, o.Err.Error()
	default:
		v, err := disruption.Judge(o.History)
		if err != nil {
			result.Verdict, result.Reason = requirement.Errored, err.Error()
			break
		}
		result.Verdict, result.Reason = v.Verdict, v.Reason
		figures = new(disruptionOf(o.History, v.Report, result.Subject))
		if p.keep != nil {
			err := p.keep(s.report, string(o.Scenario.ID)+".jsonl", func(w io.Writer) error { return record.Encode(w, o.History) })
			if err != nil {
				s.note(fmt.Sprintf("The history of %s was not kept: %v.", o.Scenario.ID, err))
			}
		}
	}
	result.Verdict, result.Reason = p.Revise(result.ID, result.Verdict, result.Reason)
	return result, figures
}

// disruptionResult returns the result of a scenario, without a verdict yet.
func disruptionResult(id requirement.ID, definition, title string) reports.Result {
	result := explanation.Result(id, definition)
	result.Spec, result.Location = "disrupts the webhook: "+title, "internal/disruption"
	return result
}
