package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

const (
	// stopTimeout is how long what was started has to stop. The report is complete whatever comes of it.
	stopTimeout = time.Minute

	// collectTimeout is how long a cluster may take to write what explains failures.
	collectTimeout = time.Minute
)

// session is a plan that is carried out.
type session struct {
	*Plan

	progress Progress
	log      io.Writer // of API servers
	report   *reports.Report
	api      cluster.Cluster // nil while there is none
	hook     *served         // the webhook under test
	pods     Pods
}

func (p *Plan) begin(progress Progress, log io.Writer) *session {
	if progress == nil {
		progress = quiet{}
	}
	if log == nil {
		log = io.Discard
	}
	return &session{Plan: p, progress: progress, log: log, report: &reports.Report{
		Started: time.Now().UTC(), Seed: p.Seed(), Strict: p.want.Strict, Notes: slices.Clone(p.notes),
	}}
}

func (s *session) note(text string) { s.report.Notes = append(s.report.Notes, text) }

// Run brings the API server and the webhook up, judges one of them, and takes everything down that was started. What could not be
// judged, and why, is in the report. When the context ends the report is partial. The progress may be nil, and so may the writer
// that the log of the API server goes to.
func (p *Plan) Run(ctx context.Context, progress Progress, apiServerLog io.Writer) *reports.Report {
	s := p.begin(progress, apiServerLog)
	if p.want.Webhook.Command != nil && p.want.AfterJudged == nil {
		s.note("The program was stopped, so the curl commands cannot connect" + p.want.HoldAdvice + ".")
	}
	held := false
	err := s.up(ctx, p.wantsCluster(), func() error {
		err := s.specs(ctx)
		if err == nil && p.want.AfterJudged != nil && ctx.Err() == nil {
			held = true
			conclude(s.report)
			p.want.AfterJudged(ctx, s.report)
		}
		return err
	})
	s.fail(ctx, err)
	if !held {
		s.report.Interrupted = s.report.Interrupted || ctx.Err() != nil
		conclude(s.report)
	}
	return s.report
}

// fail notes why a report is not complete, unless that is only that somebody stopped the run.
func (s *session) fail(ctx context.Context, err error) {
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		s.report.Error = err.Error()
	}
}

func conclude(report *reports.Report) {
	report.Seconds = time.Since(report.Started).Seconds()
	reporter.Conclude(report)
}

// up brings the webhook and an API server up, if one is wanted, has them used, and takes them down. The webhook comes second, and
// goes first, where it needs the API server. Load that needs none is sent when the API server is gone.
func (s *session) up(ctx context.Context, wantsCluster bool, use func() error) error {
	if s.servedByCluster() {
		return s.withCluster(ctx, wantsCluster, func() error { return s.withWebhook(ctx, use) })
	}
	return s.withWebhook(ctx, func() error {
		err := s.withCluster(ctx, wantsCluster, use)
		if err != nil || ctx.Err() != nil || s.load == nil || !s.loadsAlone() {
			return err
		}
		return s.loadAlone(ctx)
	})
}

// servedByCluster reports whether the webhook can be there only when the API server is.
func (p *Plan) servedByCluster() bool { return p.deploys() || p.usesKubeconfig() }

// deploys reports whether the webhook under test runs as pods.
func (p *Plan) deploys() bool { return p.want.Webhook.InCluster != nil && p.want.Handler == nil }

// loadsAlone reports whether load is sent when the API server is gone, so that it has the machine for itself: it is the reference
// webhook that is loaded.
func (p *Plan) loadsAlone() bool { return p.want.APIServer && !p.servedByCluster() }

func (s *session) withWebhook(ctx context.Context, use func() error) (err error) {
	if s.hook, err = s.serve(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.hook.stop(context.WithoutCancel(ctx))) }()
	return use()
}

func (s *session) withCluster(ctx context.Context, wanted bool, use func() error) (err error) {
	if !wanted {
		return use()
	}
	var stop func(context.Context) error
	if s.api, stop, err = s.start(ctx, s.want.Source); err != nil {
		return err
	}
	defer func() {
		s.api = nil
		err = errors.Join(err, stop(context.WithoutCancel(ctx)))
	}()
	if ctx.Err() != nil {
		return nil // whoever stopped it knows
	}
	return use()
}

// sources returns where API servers come from if a Description does not say so, by kind of cluster; nil for none. The other kinds are in
// package kinds, with the libraries that they need.
func sources() map[config.Cluster]*source.Source {
	return map[config.Cluster]*source.Source{config.None: nil, config.Embedded: embeddedWith(embedded.Options{})}
}

// unknownSource fails when it is needed: a Handler can be checked without a cluster, whatever the file says.
func unknownSource(c config.Cluster) *source.Source {
	return &source.Source{What: "an API server", Pods: true, Images: true, Start: func(context.Context, source.Run) (cluster.Cluster, error) {
		return nil, fmt.Errorf("cluster: %s is for \"crdconform check\", and for programs that say by Check.Start how to start it", c)
	}}
}

func embeddedWith(o embedded.Options) *source.Source {
	return &source.Source{What: "an API server", Start: func(ctx context.Context, _ source.Run) (cluster.Cluster, error) {
		// This cannot be broken off: upstream's API server ends the process when it is stopped before it is up.
		return source.Starts(embedded.Start(context.WithoutCancel(ctx), o))
	}}
}

// start brings an API server up, and returns what takes it down. What API servers in this process log goes to the log until then.
func (s *session) start(ctx context.Context, from *source.Source) (cluster.Cluster, func(context.Context) error, error) {
	restore, err := embedded.CaptureLog(s.log)
	if err != nil {
		return nil, nil, err
	}
	s.progress.Note(from.Beginning())
	api, err := from.Start(ctx, source.Run{ID: s.run, Log: s.log, Definitions: s.CRDs()})
	if err != nil {
		restore()
		return nil, nil, err
	}
	if lasting, is := api.(cluster.Lasting); is && lasting.Lasts() != "" {
		s.progress.Say(lasting.Lasts())
	}
	return api, func(ctx context.Context) error {
		defer restore()
		s.progress.Note("stopping " + from.What)
		within, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		return api.Stop(within)
	}, nil
}

// specs runs the specs for all kinds of objects, and keeps what explains that some failed, or could not be run.
func (s *session) specs(ctx context.Context) (err error) {
	stop := s.deployReference(ctx)
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	for _, kind := range s.kinds {
		if ctx.Err() != nil {
			return nil // whoever stopped it knows
		}
		if err := s.judge(ctx, kind); err != nil {
			s.collect(ctx, "")
			return err
		}
	}
	s.reviseAll(s.report)
	if len(s.report.With(requirement.Failed, requirement.Errored)) > 0 {
		s.collect(context.WithoutCancel(ctx), "")
	}
	return nil
}

// loadAlone sends the load to the webhook, with nothing else going on.
func (s *session) loadAlone(ctx context.Context) error {
	client, err := s.connect(s.kinds[0])
	if err != nil {
		return err
	}
	defer client.Close()
	return s.loadWith(ctx, client)
}

// connect returns a client of the webhook for one kind of objects.
func (s *session) connect(kind corpus.Corpus) (*wire.Client, error) {
	endpoint, err := s.hook.endpoint(kind)
	if err != nil {
		return nil, err
	}
	return wire.Connect(endpoint)
}

// wantsCluster reports whether an API server is needed: by specs that are selected, or by the program.
func (p *Plan) wantsCluster() bool {
	return p.want.APIServer || p.servedByCluster() || p.selectsChapter(resource.Area.Name)
}

// selectsChapter reports whether any requirement of a chapter is to be checked.
func (p *Plan) selectsChapter(name string) bool {
	return slices.ContainsFunc(p.selected, func(id requirement.ID) bool { return id.Area() == name })
}
