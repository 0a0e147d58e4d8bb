package crdconform

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/fixtures/webhook"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/loadgen/apiserver"
	"github.com/crdconform/crdconform/loadgen/workers/job"
	"github.com/crdconform/crdconform/reports"
)

// loadWith runs the load test.
func (p *Plan) loadWith(ctx context.Context, progress Progress, client *wire.Client, report *reports.Report) (err error) {
	if err = p.leaveOutRefused(ctx, progress, client, report); err != nil {
		return err
	}
	test := *p.load
	test.Workers, test.Fleet = p.check.Workers, p.check.Fleet
	_, elsewhere := test.Fleet.(*job.Fleet) // whose machines a control here says nothing about
	if test.Repeat > 1 && len(test.Profile.Stages) > 0 && !elsewhere {
		server, failed := webhook.Start(ctx, "127.0.0.1:0", webhook.Handler())
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		if test.Control, err = controlAt(server); err != nil { //nolint:contextcheck // definitions are validated without waiting for anything
			return err
		}
		defer test.Control.Client.Close()
	}
	report.Load, err = test.Run(ctx, client, progress)
	if err == nil && report.Load == nil && ctx.Err() == nil {
		err = errors.New("the load test ended before its first request was answered")
	}
	if err != nil || report.Load == nil {
		return err
	}
	notes, err := unlimited(test.Objectives, report.Load)
	report.Notes = append(report.Notes, notes...)
	if ctx.Err() != nil { // the stages that it limits may have been to come
		return nil
	}
	return err
}

// How long each of the loads through an API server lasts: where nothing else is said, and at most. There are about 15 of them.
const (
	throughDuration = 2 * time.Second
	throughMost     = 10 * time.Second
)

// loadThrough measures clients of an API server of its own that converts by the webhook.
func (p *Plan) loadThrough(ctx context.Context, progress Progress, log io.Writer, endpoint wire.Endpoint, report *reports.Report) (err error) {
	kind, err := p.loadable(p.kinds[0])
	if err != nil {
		return err
	}
	begin := p.check.Through
	if begin == nil {
		begin = func(ctx context.Context, log io.Writer) (cluster.Cluster, error) {
			return start(ctx, progress, log, embedded.Options{WatchCache: true})
		}
	}
	api, err := begin(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopped(ctx, progress, api)) }()
	var objects []*unstructured.Unstructured
	for _, version := range kind.Versions {
		objects = append(objects, kind.Objects(version)...)
	}
	result, err := apiserver.Run(ctx, apiserver.Options{
		Cluster: api, Definition: kind.Definition, Webhook: endpoint, Objects: objects,
		Seeded: p.check.Load.Objects, Duration: min(cmp.Or(p.check.Load.Duration.Duration, throughDuration), throughMost),
	}, progress.Step)
	if report.Load != nil && result.Version != "" {
		report.Load.Server = &result
		report.Cluster = &reports.Cluster{Name: result.Cluster, Version: result.Version, WatchCache: result.WatchCache}
	}
	return err
}

// controlAt is the reference webhook as a control.
func controlAt(server *webhook.Server) (*Control, error) {
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		return nil, err
	}
	crontabs := corpus.CronTabs("v1beta1", "v1")
	return &Control{client, func(w loadgen.Workload) ([]contract.Request, error) {
		w.Pairs = crontabs.Pairs()[:1]
		return loadgen.Bodies(crontabs, w)
	}}, nil
}

// Load brings the webhook up, sends it the load that the configuration asks for, which has to name a profile, stages or a
// duration, and takes everything down that was started. It
// judges nothing else. See Run for the rest.
func (p *Plan) Load(ctx context.Context, progress Progress, apiServerLog io.Writer) *reports.Report {
	if progress == nil {
		progress = quiet{}
	}
	report := p.newReport()
	err := p.withWebhook(ctx, progress, apiServerLog, p.usesKubeconfig(), report, func(_ cluster.Cluster, hook *served) error {
		kind := p.kinds[0]
		endpoint, err := hook.endpoint(kind)
		if err != nil {
			return err
		}
		client, err := wire.Connect(endpoint)
		if err != nil {
			return err
		}
		defer client.Close()
		if p.check.Fleet == nil { // what workers reach need not be in reach from here
			if err = client.Reach(ctx); err != nil {
				return err
			}
		}
		report.Webhook = described(nil, p.subjectOf(client, kind, hook), p.check.Lossy)
		progress.Judging(endpoint.URL, nameOf(kind))
		if err = p.loadWith(ctx, progress, client, report); err != nil || ctx.Err() != nil || !p.check.Load.ThroughAPIServer {
			return err
		}
		return p.loadThrough(ctx, progress, apiServerLog, endpoint, report)
	})
	fail(ctx, report, err)
	report.Interrupted = ctx.Err() != nil
	conclude(report)
	return report
}
