package engine

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/redact"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/suites/webhook"
)

// judge checks one kind of objects and adds the results to the report.
func (s *session) judge(ctx context.Context, kind corpus.Corpus) error {
	return s.with(ctx, kind, func(client *wire.Client) error { return s.judgeBy(ctx, client, kind) })
}

// with connects to the webhook for a kind.
func (s *session) with(ctx context.Context, kind corpus.Corpus, use func(*wire.Client) error) error {
	client, err := s.connect(kind)
	if err != nil {
		return err
	}
	defer client.Close()
	if err = s.runs(ctx); err != nil {
		return err
	}
	if err = s.reach(ctx, client); err != nil {
		return err
	}
	return use(client)
}

func (s *session) judgeBy(ctx context.Context, client *wire.Client, kind corpus.Corpus) (err error) {
	if s.isUnknown(ctx, client, kind) {
		return nil
	}
	subject := s.subject(client, kind)
	s.describe(subject)
	if !s.want.JudgesServer {
		s.progress.Judging(client.Endpoint().URL, nameOf(kind))
	}
	env, err := suites.NewEnv(ctx, s.options(subject))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.quit(ctx, env)) }()
	if s.want.JudgesServer {
		s.progress.Checking(s.api.Name(), env.Version())
	}
	own := load.ProcessorTime()
	began := time.Now()
	outcome, err := suites.Run(ctx, env, s.chapters(s.pods), s.progress)
	s.spend(began, outcome, subject)
	s.adopt()
	if s.api != nil && env.Version() != "" {
		s.report.Cluster = &reports.Cluster{Name: s.api.Name(), Version: env.Version(), WatchCache: s.api.WatchCache()}
	}
	if !s.want.JudgesServer { // whose work is in the same process, mostly
		s.report.HarnessSeconds += (load.ProcessorTime() - own).Seconds()
	}
	s.report.Results = append(s.report.Results, s.results(nameOf(kind), outcome.Results)...)
	s.report.Interrupted = s.report.Interrupted || outcome.Interrupted
	s.enough = outcome.Enough
	if err == nil && ctx.Err() == nil && !s.enough && s.report.Load == nil && len(s.loads) > 0 && !s.loadsAlone() {
		err = s.loadWith(ctx, client)
	}
	return err
}

// quit frees what specs used. Nothing is removed from a cluster that goes next, with all that is in it.
func (s *session) quit(ctx context.Context, env *suites.Env) error {
	if (s.last || s.enough || ctx.Err() != nil) && env.Cluster != nil && !outlives(env.Cluster) {
		return env.Leave()
	}
	return env.Close(context.WithoutCancel(ctx))
}

// outlives reports whether a cluster is still there when the run is over.
func outlives(api cluster.Cluster) bool {
	if _, shared := api.(cluster.Shared); shared {
		return true
	}
	lasting, is := api.(cluster.Lasting)
	return is && lasting.Lasts() != ""
}

// options returns what the specs may use.
func (s *session) options(subject *suites.Subject) suites.Options {
	o := suites.Options{Cluster: s.api, Subject: subject, Seed: s.Seed(), Select: s.selects, Readings: s.want.Readings, Priority: s.priority(subject.Corpus), Enough: s.isEnough, Starting: s.awaits(subject.Client)}
	if s.api == nil && o.Starting == nil {
		return o
	}
	if s.want.Source.Labels {
		o.Run = s.run
	}
	if shared, is := s.api.(cluster.Shared); is && s.want.JudgesServer { // a definition of the user's is in its own group
		o.Domain = shared.Domain()
	}
	return o
}

// reach returns why the webhook cannot be reached from here or from the nodes.
func (s *session) reach(ctx context.Context, client *wire.Client) error {
	w := s.want.Webhook
	if err := reach(ctx, client, w.URL != "" && w.CAFile != "" && len(s.want.CA) == 0); err != nil {
		return err
	}
	return s.reachFrom(ctx, s.api, client) // unless it still starts
}

// reachFrom returns why the webhook cannot be reached from the nodes of a cluster, if these are elsewhere.
func (s *session) reachFrom(ctx context.Context, api cluster.Cluster, client *wire.Client) error {
	apart, is := api.(cluster.Apart)
	if !is || !apart.Apart() || s.hook.client != nil {
		return nil
	}
	return nodesReach(ctx, api, s.run, client.Endpoint())
}

// reach returns why the webhook cannot be reached at all. A certificate that its authority does not verify is left to the specs, unless
// the user named a file with that authority beside the URL: then it may as well be the wrong one, as if none had been given.
func reach(ctx context.Context, client *wire.Client, named bool) error {
	handshake, err := client.Handshake(ctx, wire.HandshakeOptions{})
	if err != nil {
		var failed *wire.HandshakeError
		if errors.As(err, &failed) && failed.Connected && failed.Refused {
			return nil
		}
		return err
	}
	var unknown x509.UnknownAuthorityError
	if len(client.Endpoint().CA) == 0 || named && errors.As(handshake.VerifyError, &unknown) {
		return client.Reach(ctx)
	}
	return nil
}

// subject returns the webhook and a kind of objects, for the specs.
func (s *session) subject(client *wire.Client, kind corpus.Corpus) *suites.Subject {
	objects := s.want.Generate.Objects
	if objects == 0 {
		objects = -1
	}
	return &suites.Subject{
		Client: client, Corpus: kind, Objects: objects, Budget: s.want.Generate.TimeBudget.Duration, Alive: s.hook.Alive, Revive: s.revive(), Installed: s.usesKubeconfig() || s.hook.installed, Reference: s.hook.client,
		Lossy: func(from, through, path string) (string, bool) {
			for _, l := range s.want.Lossy {
				if l.Matches(kind.Group, kind.Kind, from, through, path) {
					return l.Reason, true
				}
			}
			return "", false
		},
		Meant: func(_, _, path, into string) (string, bool) { return s.meant(kind, path, into) },
	}
}

// meant returns why a field may have another value at another version, if the configuration says so.
func (s *session) meant(kind corpus.Corpus, path, into string) (string, bool) {
	of := func(c config.Changed) bool {
		return (c.Group == "" || c.Group == kind.Group) && (c.Kind == "" || c.Kind == kind.Kind)
	}
	for _, m := range s.want.Moved {
		if into != "" && of(m) && (m.Path.Matches(path) && m.Into.Matches(into) || m.Path.Matches(into) && m.Into.Matches(path)) {
			return m.Reason, true
		}
	}
	for _, r := range s.want.RenamedValues {
		if into == "" && of(r) && r.Path.Matches(path) {
			return r.Reason, true
		}
	}
	return "", false
}

// program returns the command line of the program under test; empty if there is none.
func (s *session) program() string {
	if s.want.Webhook.Command == nil {
		return ""
	}
	return redact.Text(strings.Join(shell.QuoteAll(s.want.Webhook.Command.Args), " "))
}

// describe adds a kind to the webhook in the report, if the report has one.
func (s *session) describe(subject *suites.Subject) {
	if s.want.JudgesServer && len(s.loads) == 0 && !s.selectsChapter(webhook.Area.Name) {
		return
	}
	if s.report.Webhook == nil {
		s.report.Webhook = &reports.Webhook{URL: subject.Client.Endpoint().URL, Program: s.program(), MinCoverage: float64(s.want.Generate.Coverage)}
	}
	w, k := s.report.Webhook, s.described(subject)
	w.Kinds = append(w.Kinds, k)
	last := len(w.Kinds) - 1
	subject.Tried = func(coverage []reports.Coverage, gaps []string) {
		w.Kinds[last].Coverage, w.Kinds[last].Gaps = coverage, gaps
	}
	subject.Written = func(written []reports.Coverage) { w.Kinds[last].Written = written }
	subject.Stale = func(objects int, missed []string) { s.noteStale(k, objects, missed) }
	subject.Spent = func() {
		w.Kinds[last].Cut = true
		s.note(fmt.Sprintf("%s: the time budget of %s was used up before everything was judged", cmp.Or(k.Definition, k.Kind), subject.Budget))
	}
}

// described returns a kind as reports have it. How its objects are generated only matters if the webhook is judged.
func (s *session) described(subject *suites.Subject) reports.Kind {
	c := subject.Corpus
	k := reports.Kind{Definition: nameOf(c), Group: c.Group, Kind: c.Kind, Versions: c.Versions}
	for _, version := range c.Versions {
		k.Samples += len(c.Objects(version))
	}
	if s.want.JudgesServer {
		return k
	}
	if c.Definition != nil && subject.Objects > 0 {
		k.Generated = subject.Objects
		for _, version := range c.Versions {
			for _, gap := range c.Definition.Generator(version, 1, c.Objects(version)).Gaps() {
				k.Gaps = append(k.Gaps, strings.TrimSpace(gap.Path+" at "+version)+": "+gap.Reason)
			}
		}
	}
	for _, l := range s.want.Lossy {
		if (l.Group == "" || l.Group == c.Group) && (l.Kind == "" || l.Kind == c.Kind) {
			k.Lossy = append(k.Lossy, fmt.Sprintf("%s: %s", l.Path, l.Reason))
		}
	}
	return k
}
