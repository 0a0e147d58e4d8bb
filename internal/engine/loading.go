package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/apiserver"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// loadWith runs the load tests.
func (s *session) loadWith(ctx context.Context, client *wire.Client) (err error) {
	if err = s.leaveOutRefused(ctx, client); err != nil {
		return err
	}
	for i, test := range s.loads {
		if err = s.send(ctx, client, *test); err == nil && ctx.Err() == nil {
			continue
		}
		var left []string
		for _, other := range s.loads[i+1:] {
			left = append(left, other.Profile.Name)
		}
		if len(left) > 0 {
			s.note("Of the load profiles, these were not sent: " + strings.Join(left, ", ") + ".")
		}
		if err != nil && len(s.loads) > 1 {
			err = fmt.Errorf("load profile %s: %w", test.Profile.Name, err)
		}
		return err
	}
	return nil
}

// send runs one of the load tests, and adds what it measured to the report.
func (s *session) send(ctx context.Context, client *wire.Client, test LoadTest) (err error) {
	report := s.report
	if report.Load != nil {
		test.Before = len(report.Load.Stages)
	}
	test.Workers, test.Launcher = s.want.Workers, s.want.Launcher
	test.Note = func(text string) {
		if !slices.Contains(report.Notes, text) { // another stage has it too
			s.note(text)
			s.say(text)
		}
	}
	if s.hook != nil {
		test.Usage = s.hook.Usage
	}
	elsewhere := test.Launcher != nil && test.Launcher.Remote() // a control here says nothing about those machines
	if test.Repeat > 1 && len(test.Profile.Stages) > 0 && !elsewhere {
		server, failed := webhook.Start(ctx, "127.0.0.1:0", working(webhook.Handler()))
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		if test.Control, err = controlAt(server); err != nil { //nolint:contextcheck // definitions are validated without waiting for anything
			return err
		}
		defer test.Control.Client.Close()
	}
	if s.want.Load.JudgeContent {
		s.progress.Note("learning the webhook's answers before the load, to compare with")
	}
	measured, err := test.Run(ctx, client, s.progress.Loading)
	if err == nil && measured == nil && ctx.Err() == nil {
		err = errors.New("the load test ended before its first request was answered")
	}
	all, failed := reporter.MergedLoad(report.Load, measured)
	if failed == nil {
		report.Load = all
	}
	if err != nil || failed != nil || measured == nil {
		return errors.Join(err, failed)
	}
	if test.Profile.Name == profiles.Soak && slices.ContainsFunc(measured.Stages, func(s loadgen.Stage) bool { return s.Memory == nil }) {
		s.note("Whether the webhook leaks memory was not judged: that takes a program that the run starts, on Linux, for four seconds or more.")
	}
	notes, err := unlimited(test.Objectives, measured)
	report.Notes = append(report.Notes, notes...)
	if ctx.Err() != nil { // the stages that it limits may have been to come
		return nil
	}
	return err
}

// The default and the maximum duration of each load through an API server. There are about 15 of them.
const (
	throughDuration = 2 * time.Second
	throughMost     = 10 * time.Second
)

// loadThrough starts an API server that calls the webhook, and measures its clients.
func (s *session) loadThrough(ctx context.Context, endpoint wire.Endpoint) (err error) {
	kind, err := s.loadable(s.kinds[0])
	if err != nil {
		return err
	}
	from := s.want.LoadSource
	if from == nil {
		from = embeddedWith(embedded.Options{WatchCache: true})
	}
	api, stop, err := s.start(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
	var objects []*unstructured.Unstructured
	for _, version := range kind.Mutual() {
		objects = append(objects, kind.Objects(version)...)
	}
	result, err := apiserver.Run(ctx, apiserver.Options{
		Cluster: api, Definition: kind.Definition, Webhook: endpoint, Objects: objects,
		Seeded: s.want.Load.Objects, Duration: min(cmp.Or(s.want.Load.Duration.Duration, throughDuration), throughMost),
	}, s.progress.Step)
	if s.report.Load != nil && result.Version != "" {
		s.report.Load.Server = &result
		s.report.Cluster = &reports.Cluster{Name: result.Cluster, Version: result.Version, WatchCache: result.WatchCache}
	}
	return err
}

// ControlRounds is how often a control hashes for a request: 1 to 4 ms on most processors. Without that it would answer in the time
// that it takes to wake it up, which differs from repeat to repeat more than what takes a webhook longer.
const ControlRounds = 25_000

// working has a webhook do the work of a control for each request.
func working(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var block [sha256.Size]byte
		for range ControlRounds {
			block = sha256.Sum256(block[:])
		}
		handler.ServeHTTP(w, r)
	})
}

// controlAt returns the reference webhook as a control.
func controlAt(server *webhook.Server) (*Control, error) {
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		return nil, err
	}
	crontabs := corpus.CronTabs("v1beta1", "v1")
	return &Control{client, func(w load.Workload) ([]contract.Request, error) {
		w.Pairs = crontabs.Pairs()[:1]
		return load.Bodies(crontabs, w)
	}}, nil
}

// Load starts the webhook, sends it the configured load, and stops everything that it started. The configuration must have a
// profile, stages or a duration. It runs no specs. See Run for the rest.
func (p *Plan) Load(ctx context.Context, progress Progress, apiServerLog io.Writer) *reports.Report {
	s := p.begin(progress, apiServerLog)
	ctx = s.limited(ctx)
	defer s.limit.lift()
	if n := len(s.kinds); n > 1 {
		s.note(fmt.Sprintf("The load consists of objects of %s only, the first of %d definitions.", nameOf(s.kinds[0]), n))
	}
	s.say(s.notes...)
	err := s.up(ctx, p.usesKubeconfig(), func() error {
		kind := s.kinds[0]
		client, err := s.connect(kind)
		if err != nil {
			return err
		}
		defer client.Close()
		if p.want.Launcher == nil { // what workers reach need not be in reach from here
			if err = client.Reach(ctx); err != nil {
				return err
			}
		}
		s.describe(s.subject(client, kind))
		s.progress.Judging(client.Endpoint().URL, nameOf(kind))
		if err = s.loadWith(ctx, client); err != nil || ctx.Err() != nil || !p.want.Load.ThroughAPIServer {
			return err
		}
		return s.loadThrough(ctx, client.Endpoint())
	})
	s.fail(ctx, err)
	s.end(ctx)
	return s.report
}
