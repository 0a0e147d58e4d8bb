package crdconform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// load runs the load test that the configuration asks for, with the first kind, and judges it by the objectives.
func (p *Plan) load(ctx context.Context, progress Progress, client *wire.Client, kind corpus.Corpus, report *reports.Report) error {
	c := p.check
	pair := kind.Pairs()[0]
	for _, other := range kind.Pairs() {
		if len(kind.Objects(other.From)) > 0 {
			pair = other
			break
		}
	}
	if len(kind.Objects(pair.From)) == 0 {
		minimal := kind.Definition.Generator(pair.From, p.Seed(), nil).Minimal()
		if minimal == nil {
			return errors.New("load: there is no sample, and none can be generated; give samples")
		}
		if err := kind.Add(minimal); err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	w := loadgen.Workload{Rate: c.Load.Rate, Duration: c.Load.Duration.Duration, Batch: c.Load.Batch, ReviewVersion: "v1", Pair: pair}
	summary, err := loadgen.Run(ctx, client, kind, w, progress.Loading(w))
	if err != nil {
		return err
	}
	if summary.Requests+summary.Unanswered+summary.NotSent() == 0 {
		if summary.Partial {
			return nil
		}
		return errors.New("the load test ended before its first request was answered")
	}
	if report.Load, err = LoadOf(summary); err != nil {
		return err
	}
	report.Load.Objectives = judged(c.Objectives, report.Load, c.Objectives.Errors > 0 || c.Origin("objectives.errors") != "default")
	return nil
}

// judged compares what was measured with the objectives. That of errors is one if the user gave it.
func judged(o config.Objectives, l *reports.Load, errorsGiven bool) []reports.Objective {
	var all []reports.Objective
	add := func(name, unit string, limit, measured float64) {
		all = append(all, reports.Objective{Name: name, Unit: unit, Limit: limit, Measured: measured, Met: measured <= limit})
	}
	for _, each := range []struct {
		name     string
		limit    config.Duration
		measured float64
	}{
		{"p50", o.P50, l.Response.P50},
		{"p90", o.P90, l.Response.P90},
		{"p99", o.P99, l.Response.P99},
		{"p99.9", o.P999, l.Response.P999},
		{"max", o.Max, l.Response.Max},
	} {
		if each.limit.Duration > 0 {
			add(each.name, "ms", float64(each.limit.Microseconds())/1000, each.measured)
		}
	}
	if errorsGiven && l.Requests > 0 {
		add("errors", "share", o.Errors, float64(l.Failed)/float64(l.Requests))
	}
	return all
}

// LoadOf translates the summary of a load test for a report.
func LoadOf(s loadgen.Summary) (*reports.Load, error) {
	response, err1 := reports.NewTimes(s.Response)
	service, err2 := reports.NewTimes(s.Service)
	lag, err3 := reports.NewTimes(s.Lag)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	l := &reports.Load{
		Rate: s.Workload.Rate, Duration: s.Workload.Duration.Seconds(), Batch: s.Workload.Batch,
		ReviewVersion: s.Workload.ReviewVersion, From: s.Workload.Pair.From, To: s.Workload.Pair.To, HTTP: cmp.Or(strings.TrimSuffix(s.Protocol, ".0"), "HTTP"),
		Seconds: s.Elapsed.Seconds(), Requests: s.Requests, Objects: s.Objects, Failed: s.Failed(),
		RequestsPerSecond: s.RequestRate(), ObjectsPerSecond: s.ObjectRate(), BytesSent: s.BytesOut, BytesReceived: s.BytesIn,
		Response: response, Service: service, Lag: lag,
		Late: s.Late, LateAfter: float64(s.LateAfter().Milliseconds()), Unsent: s.Unsent, Unanswered: s.Unanswered, VoidReason: s.VoidReason(), Partial: s.Partial,
		Errors: map[string]uint64{}, Violations: s.Violations,
	}
	for kind, n := range s.Errors {
		l.Errors[string(kind)] = n
	}
	for _, f := range s.Findings {
		l.FirstFindings = append(l.FirstFindings, fmt.Sprintf("request %d: %s: %s", f.Request, f.Violation.Requirement, f.Violation))
	}
	return l, nil
}
