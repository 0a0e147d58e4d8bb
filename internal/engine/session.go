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
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

const (
	// stopTimeout limits how long each started part may take to stop. The report is complete in any case.
	stopTimeout = time.Minute

	// collectTimeout limits how long a cluster may take to write artifacts that explain failures.
	collectTimeout = time.Minute
)

// session is a plan being executed.
type session struct {
	*Plan

	progress Progress
	log      io.Writer // of API servers
	report   *reports.Report
	api      cluster.Cluster // nil while there is none
	hook     *served         // the webhook under test
	pods     Pods
	unknown  []string // the definitions of whose objects the webhook converts none
	limit    limit
	crashes  crashes   // of the webhook under test
	arrival  *arrival  // of an API server that starts meanwhile; nil if none does
	enough   bool      // a failure has ended the run, see Description.FailFast
	last     bool      // no kind is judged after this one
	judged   time.Time // when the last specs had run
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

// say shows notes while the run goes on.
func (s *session) say(notes ...string) {
	for _, note := range notes {
		s.progress.Say("note: " + note)
	}
}

// Run starts the API server and the webhook, judges one of them, and stops everything that it started. The report says what could
// not be judged, and why. If the context ends, the report is partial. The progress may be nil, and so may the writer for the log of
// the API server.
func (p *Plan) Run(ctx context.Context, progress Progress, apiServerLog io.Writer) *reports.Report {
	s := p.begin(progress, apiServerLog)
	ctx = s.limited(ctx)
	defer s.limit.lift()
	held := false
	err := s.up(ctx, p.wantsCluster(), func() error {
		err := s.specs(ctx)
		if len(s.loads) == 0 || !s.loadsAlone() {
			s.limit.lift()
		}
		if err == nil && p.want.AfterJudged != nil && ctx.Err() == nil {
			held = true
			conclude(s.report)
			p.want.AfterJudged(ctx, s.report)
		}
		return err
	})
	s.fail(ctx, err)
	if p.want.Webhook.Command != nil && p.want.AfterJudged == nil && hasScripts(s.report) {
		s.note("The program was stopped, so the scripts cannot connect" + p.want.HoldAdvice + ".")
	}
	if !held {
		s.end(ctx)
	}
	return s.report
}

// hasScripts reports whether there is evidence with scripts that ask the webhook again.
func hasScripts(r *reports.Report) bool {
	return slices.ContainsFunc(r.Results, func(r reports.Result) bool { return len(r.Files) > 0 }) ||
		r.Load != nil && slices.ContainsFunc(r.Load.Stages, func(s loadgen.Stage) bool { return len(s.Findings) > 0 })
}

// fail records why a report is incomplete, unless the run was just stopped.
func (s *session) fail(ctx context.Context, err error) {
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		s.report.Error = err.Error()
	}
}

// end concludes the report of a run that the context may have ended.
func (s *session) end(ctx context.Context) {
	s.report.Interrupted = s.report.Interrupted || ctx.Err() != nil
	if s.limit.ended(ctx) {
		s.cut(s.report)
	}
	s.spendStopping()
	conclude(s.report)
}

func conclude(report *reports.Report) {
	report.Seconds = time.Since(report.Started).Seconds()
	reporter.Conclude(report)
}

// up starts the webhook, and an API server if one is needed, calls use, and stops them. A webhook that needs the API server is
// started after it and stopped before it. Load that needs no API server is sent once that is stopped.
func (s *session) up(ctx context.Context, wantsCluster bool, use func() error) error {
	if s.servedByCluster() {
		return s.withCluster(ctx, wantsCluster, func() error { return s.withWebhook(ctx, use) })
	}
	return s.withWebhook(ctx, func() error {
		err := s.withCluster(ctx, wantsCluster, use)
		if err != nil || ctx.Err() != nil || s.enough || len(s.loads) == 0 || !s.loadsAlone() {
			return err
		}
		defer s.limit.lift()
		return s.loadAlone(ctx)
	})
}

// servedByCluster reports whether the webhook needs the API server to run.
func (p *Plan) servedByCluster() bool { return p.deploys() || p.usesKubeconfig() }

// deploys reports whether the webhook under test runs as pods.
func (p *Plan) deploys() bool { return p.want.Webhook.InCluster != nil && p.want.Handler == nil }

// loadsAlone reports whether load is sent after the API server has stopped, so that it has the machine to itself. That is so if it
// goes to the reference webhook.
func (p *Plan) loadsAlone() bool { return p.want.JudgesServer && !p.servedByCluster() }

func (s *session) withWebhook(ctx context.Context, use func() error) (err error) {
	if s.hook, err = s.serve(ctx); err != nil {
		return err
	}
	defer func() {
		if caller, is := s.api.(interface{ HangUp() }); is {
			caller.HangUp()
		}
		err = errors.Join(err, s.hook.Stop(context.WithoutCancel(ctx)))
	}()
	return use()
}

func (s *session) withCluster(ctx context.Context, wanted bool, use func() error) (err error) {
	switch {
	case !wanted:
		return use()
	case s.startsMeanwhile():
		return s.meanwhile(ctx, use)
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
		return nil // the caller stopped it
	}
	return use()
}

// sources returns the default sources of API servers by kind of cluster, nil for none. The other kinds are in package kinds, with the
// libraries that they need.
func sources() map[config.APIServer]*source.Source {
	return map[config.APIServer]*source.Source{config.None: nil, config.Embedded: embeddedWith(embedded.Options{})}
}

// unknownSource fails only when it is used, because a Handler can be checked without a cluster, whatever the file says.
func unknownSource(c config.APIServer) *source.Source {
	return &source.Source{What: "an API server", Pods: true, Images: true, Start: func(context.Context, source.Run) (cluster.Cluster, error) {
		return nil, fmt.Errorf("apiServer: %s is for \"crdconform check\", and for programs that say by Check.Start how to start it", c)
	}}
}

func embeddedWith(o embedded.Options) *source.Source {
	return &source.Source{What: "an API server", Start: func(ctx context.Context, _ source.Run) (cluster.Cluster, error) {
		// This cannot be interrupted: upstream's API server ends the process if it is stopped before it is ready.
		return source.Starts(embedded.Start(context.WithoutCancel(ctx), o))
	}}
}

// start starts an API server, and returns a function that stops it. Until then, API servers in this process write to the log.
func (s *session) start(ctx context.Context, from *source.Source) (cluster.Cluster, func(context.Context) error, error) {
	s.progress.Note(from.Beginning())
	api, stop, err := s.launch(ctx, from)
	if err == nil {
		s.sayLasting(api)
	}
	return api, stop, err
}

// sayLasting says where a cluster is that may be kept.
func (s *session) sayLasting(api cluster.Cluster) {
	if lasting, is := api.(cluster.Lasting); is && lasting.Lasts() != "" {
		s.progress.Say(lasting.Lasts())
	}
}

// launch starts an API server and reports no progress, so that something else may meanwhile.
func (s *session) launch(ctx context.Context, from *source.Source) (cluster.Cluster, func(context.Context) error, error) {
	restore, err := embedded.CaptureLog(s.log)
	if err != nil {
		return nil, nil, err
	}
	api, err := from.Start(ctx, source.Run{ID: s.run, Log: s.log, Definitions: s.CRDs()})
	if err != nil {
		restore()
		return nil, nil, err
	}
	return api, func(ctx context.Context) error {
		defer restore()
		s.progress.Note("stopping " + from.What)
		within, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		return api.Stop(within)
	}, nil
}

// specs runs the specs for all kinds of objects. If some fail or cannot run, it collects artifacts that explain why.
func (s *session) specs(ctx context.Context) (err error) {
	stop := s.deployReference(ctx)
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	s.say(s.notes...)
	defer s.arrange()
	kinds := s.inTurn()
	for i, kind := range kinds {
		if ctx.Err() != nil {
			return nil // the caller stopped it
		}
		s.last = i == len(kinds)-1
		if err := s.judge(ctx, kind); err != nil {
			s.collect(ctx, "")
			return err
		}
		if s.enough {
			s.noteEnough(kinds[i+1:])
			break
		}
	}
	if len(s.unknown) == len(s.kinds) {
		return errUnknownKinds
	}
	s.noteCrashes()
	if !s.enough {
		s.reviseAll(s.report)
	}
	if len(s.report.With(requirement.Failed, requirement.Errored)) > 0 {
		s.collect(context.WithoutCancel(ctx), "")
	}
	if len(s.unknown) > 0 {
		return notJudged(s.unknown)
	}
	return nil
}

// loadAlone sends the load to the webhook while nothing else runs.
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

// wantsCluster reports whether selected specs or the program need an API server.
func (p *Plan) wantsCluster() bool {
	return p.want.JudgesServer || p.servedByCluster() || p.selectsChapter(resource.Area.Name)
}

// selectsChapter reports whether any requirement of a chapter is selected.
func (p *Plan) selectsChapter(name string) bool {
	return slices.ContainsFunc(p.selected, func(id requirement.ID) bool { return id.Area() == name })
}
