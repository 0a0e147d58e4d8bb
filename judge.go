package crdconform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/subject/deployed"
	"github.com/crdconform/crdconform/suites"
	"github.com/crdconform/crdconform/suites/resource"
)

// Progress is told how a check goes on. The calls come one after another.
type Progress interface {
	suites.Progress

	// Note is told what goes on between the specs, such as "starting an API server".
	Note(text string)

	// Step is told what is measured through an API server, such as "get at v1, 10 at a time", which takes seconds.
	Step(text string)

	Loading

	// Judging is told that the specs for a kind begin, which have the URL of its webhook and the name of its definition. The
	// name is empty where there is none.
	Judging(url, definition string)
}

// stopTimeout is how long what was started has to stop. The report is complete whatever comes of it.
const stopTimeout = time.Minute

// Run brings the webhook up, judges it, and takes everything down that was started. What could not be judged, and why, is in
// the report. When the context ends the report is partial. The progress may be nil, and so may the writer that the log of the
// API server goes to.
func (p *Plan) Run(ctx context.Context, progress Progress, apiServerLog io.Writer) *reports.Report {
	if progress == nil {
		progress = quiet{}
	}
	report := p.newReport()
	if p.check.Webhook.Command != nil && p.check.Hold == nil {
		report.Notes = append(report.Notes, "The program was stopped, so the curl lines reach nothing; with --hold it goes on, and they work.")
	}
	held := false
	err := p.withWebhook(ctx, progress, apiServerLog, p.wantsCluster(), report, func(api cluster.Cluster, hook *served) error {
		for _, kind := range p.kinds {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // whoever stopped it knows
			}
			if err := p.judge(ctx, progress, api, hook, kind, report); err != nil {
				p.explain(ctx, api, hook.deployed, "", report)
				return err
			}
		}
		p.reviseAll(report)
		if len(report.With(requirement.Failed, requirement.Errored)) > 0 {
			p.explain(context.WithoutCancel(ctx), api, hook.deployed, "", report)
		}
		if p.check.Hold != nil && ctx.Err() == nil {
			held = true
			conclude(report)
			p.check.Hold(ctx, report)
		}
		return nil
	})
	fail(ctx, report, err)
	if !held {
		report.Interrupted = report.Interrupted || ctx.Err() != nil
		conclude(report)
	}
	return report
}

func (p *Plan) newReport() *reports.Report {
	return &reports.Report{Started: time.Now().UTC(), Seed: p.Seed(), Strict: p.check.Strict, Notes: slices.Clone(p.notes)}
}

// fail notes why a report is not complete, unless that is only that somebody stopped the run.
func fail(ctx context.Context, report *reports.Report, err error) {
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		report.Error = err.Error()
	}
}

func conclude(report *reports.Report) {
	report.Seconds = time.Since(report.Started).Seconds()
	report.Conclude()
}

// withWebhook brings an API server up, if one is wanted, and the webhook, has them used, and takes them down.
func (p *Plan) withWebhook(ctx context.Context, progress Progress, log io.Writer, wantsCluster bool, report *reports.Report, use func(cluster.Cluster, *served) error) (err error) {
	var api cluster.Cluster
	if wantsCluster {
		if api, err = p.start(ctx, progress, log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopped(ctx, progress, api)) }()
	}
	hook, err := p.serve(ctx, progress, api, report)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hook.stop(context.WithoutCancel(ctx))) }()
	return use(api, hook)
}

// explainTimeout is how long a cluster may take to tell what went on in it.
const explainTimeout = time.Minute

// explain keeps what a cluster tells, unless the run was stopped: when specs failed, or there could be none. See Explains.
func (p *Plan) explain(ctx context.Context, api cluster.Cluster, hook *deployed.Webhook, said string, report *reports.Report) {
	if p.check.Explain == nil || api == nil || p.check.Cluster == config.Embedded || ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	if err := p.check.Explain(report, func(dir string) error { return Explains(within, api, hook, said, dir) }); err != nil {
		report.Notes = append(report.Notes, "not all that the cluster knows is in the report: "+err.Error())
	}
}

// reviseAll fails what is known to fail and passes for each of several definitions.
func (p *Plan) reviseAll(report *reports.Report) {
	for id := range p.known {
		passed := slices.DeleteFunc(slices.Clone(report.Results), func(r reports.Result) bool { return r.ID != id || r.Verdict == requirement.NotApplicable })
		if len(p.kinds) < 2 || len(passed) == 0 || slices.ContainsFunc(passed, func(r reports.Result) bool { return r.Verdict != requirement.Passed }) {
			continue
		}
		i := slices.IndexFunc(report.Results, func(r reports.Result) bool { return r.ID == id && r.Verdict == requirement.Passed })
		report.Results[i].Verdict = requirement.Failed
		report.Results[i].Reason = "it passes for every definition, but is said to be known to fail; take it off the list"
	}
}

// wantsCluster tells whether an API server is needed: by specs that are selected, or by the program.
func (p *Plan) wantsCluster() bool {
	if p.usesKubeconfig() || p.check.Webhook.InCluster != nil && p.check.Handler == nil {
		return true
	}
	for _, spec := range suites.Preview(p.areas) {
		if spec.Requirement.Area() == resource.Area.Name && p.selects(spec.Requirement) {
			return true
		}
	}
	return false
}

// start brings the API server up that specs use.
func (p *Plan) start(ctx context.Context, progress Progress, log io.Writer) (cluster.Cluster, error) {
	if p.check.Start == nil && p.check.Cluster != config.Embedded && p.check.Cluster != config.None {
		return nil, fmt.Errorf("cluster: %s is for \"crdconform check\", and for programs that say by Check.Start how to start it", p.check.Cluster)
	}
	if p.check.Start == nil {
		return start(ctx, progress, log, embedded.Options{})
	}
	if log == nil {
		log = io.Discard
	}
	return p.check.Start(ctx, p.run, log)
}

func start(ctx context.Context, progress Progress, log io.Writer, options embedded.Options) (cluster.Cluster, error) {
	progress.Note("starting an API server")
	if log == nil {
		log = io.Discard
	}
	if err := embedded.LogTo(log); err != nil {
		return nil, err
	}
	// This cannot be broken off: upstream's API server ends the process when it is stopped before it is up.
	return embedded.Start(context.WithoutCancel(ctx), options)
}

func stopped(ctx context.Context, progress Progress, api cluster.Cluster) error {
	progress.Note("stopping the API server")
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return errors.Join(api.Stop(within), embedded.LogTo(io.Discard))
}

// judge checks the conversion of one kind and adds what came of it to the report.
func (p *Plan) judge(ctx context.Context, progress Progress, api cluster.Cluster, hook *served, kind corpus.Corpus, report *reports.Report) (err error) {
	name := nameOf(kind)
	endpoint, err := hook.endpoint(kind)
	if err != nil {
		return err
	}
	client, err := wire.Connect(endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	if err = reach(ctx, client); err != nil {
		return err
	}
	subject := p.subjectOf(client, kind, hook)
	report.Webhook = described(report.Webhook, subject, p.check.Lossy)
	subject.Fewer = func(objects int, why string) {
		kinds := report.Webhook.Kinds
		kinds[len(kinds)-1].Generated = objects
		report.Notes = append(report.Notes, cmp.Or(name, kinds[len(kinds)-1].Kind)+": "+why)
	}
	if api != nil && p.check.Cluster == config.KindCluster && hook.deployed == nil && hook.client == nil {
		if err = nodesReach(ctx, api, p.run, endpoint); err != nil {
			return err
		}
	}
	progress.Judging(endpoint.URL, name)
	options := suites.Options{Cluster: api, Subject: subject, Seed: p.Seed(), Select: p.selects}
	if p.check.Start != nil && p.check.Cluster != config.Embedded {
		options.Run = p.run
	}
	env, err := suites.NewEnv(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close(context.WithoutCancel(ctx))) }()
	if api != nil {
		report.Cluster = &reports.Cluster{Name: api.Name(), Version: env.Version(), WatchCache: api.WatchCache()}
	}
	own := loadgen.ProcessorTime()
	outcome, err := suites.Run(ctx, env, p.areas, progress)
	report.HarnessSeconds += (loadgen.ProcessorTime() - own).Seconds()
	report.Results = append(report.Results, Results(outcome.Results, p.translation(name, client))...)
	report.Interrupted = report.Interrupted || outcome.Interrupted
	if err == nil && ctx.Err() == nil && report.Load == nil && p.load != nil {
		err = p.loadWith(ctx, progress, client, report)
	}
	return err
}

// reach tells why the webhook cannot be talked to at all. That its certificate does not verify by the authority that it is
// said to be signed by is for the specs to judge.
func reach(ctx context.Context, client *wire.Client) error {
	if _, err := client.Handshake(ctx, wire.HandshakeOptions{}); err != nil {
		var failed *wire.HandshakeError
		if errors.As(err, &failed) && failed.Connected && failed.Refused {
			return nil
		}
		return err
	}
	if len(client.Endpoint().CA) == 0 {
		return client.Reach(ctx)
	}
	return nil
}

// subjectOf is a webhook with a kind of objects, as specs want it.
func (p *Plan) subjectOf(client *wire.Client, kind corpus.Corpus, hook *served) *suites.Subject {
	objects := p.check.Generate.Objects
	if objects == 0 {
		objects = -1
	}
	return &suites.Subject{
		Client: client, Corpus: kind, Objects: objects, Alive: hook.alive, Installed: p.usesKubeconfig() || hook.installed, Reference: hook.client,
		Lossy: func(from, through, path string) (string, bool) {
			for _, l := range p.check.Lossy {
				if l.Matches(kind.Group, kind.Kind, from, through, path) {
					return l.Reason, true
				}
			}
			return "", false
		},
	}
}

// described adds a kind to what a report says of the webhook.
func described(w *reports.Webhook, s *suites.Subject, lossy []config.Lossy) *reports.Webhook {
	if w == nil {
		w = &reports.Webhook{URL: s.Client.Endpoint().URL}
	}
	c := s.Corpus
	k := reports.Kind{Definition: nameOf(c), Group: c.Group, Kind: c.Kind, Versions: c.Versions}
	for _, version := range c.Versions {
		k.Samples += len(c.Objects(version))
	}
	if c.Definition != nil && s.Objects > 0 {
		k.Generated = s.Objects
		for _, version := range c.Versions {
			for _, gap := range c.Definition.Generator(version, 1, c.Objects(version)).Gaps() {
				k.Gaps = append(k.Gaps, fmt.Sprintf("%s at %s: %s", gap.Path, version, gap.Reason))
			}
		}
	}
	for _, l := range lossy {
		if (l.Group == "" || l.Group == c.Group) && (l.Kind == "" || l.Kind == c.Kind) {
			k.Lossy = append(k.Lossy, fmt.Sprintf("%s: %s", l.Path, l.Reason))
		}
	}
	w.Kinds = append(w.Kinds, k)
	return w
}

// translation is how the results for a definition get into a report.
func (p *Plan) translation(definition string, client *wire.Client) Translation {
	shown := definition
	if len(p.kinds) < 2 {
		shown = ""
	}
	return Translation{
		Subject: definition,
		Dir:     path.Join("exchanges", definition),
		Revise:  p.Revise,
		Again: func(id requirement.ID) string {
			if p.check.Again == nil {
				return ""
			}
			return p.check.Again(shown, id)
		},
		Client: client,
	}
}

// Revise changes the verdict of what is known to fail. What is on the list and passes has to be taken off it; with several
// definitions, that is when it passes for all of them, which shows in the end only.
func (p *Plan) Revise(r *suites.Result) {
	if len(p.kinds) > 1 && r.Verdict == requirement.Passed {
		return
	}
	list := "the list of known failures"
	for i, k := range p.check.KnownFailing {
		if origin := p.check.Origin(fmt.Sprintf("knownFailing[%d]", i)); k.ID == string(r.Requirement) && origin != "default" {
			list = origin
		}
	}
	Revise(r, p.known, list)
}

// Revise changes the verdict of a result by what is known to fail, and why; list is where that is said.
func Revise(r *suites.Result, known map[requirement.ID]string, list string) {
	reason, listed := known[r.Requirement]
	switch {
	case !listed:
	case r.Verdict == requirement.Failed || r.Verdict == requirement.Tolerated:
		r.Verdict, r.Reason = requirement.KnownFailing, strings.TrimSpace(reason+"\n"+r.Reason)
	case r.Verdict == requirement.Passed:
		r.Verdict, r.Reason = requirement.Failed, fmt.Sprintf("it passes, but %s says that it fails; take it off the list", list)
	}
}
