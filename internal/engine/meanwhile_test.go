package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// awaited reports when a requirement is judged.
type awaited struct {
	judging
	id   requirement.ID
	done chan struct{}
}

func (a *awaited) SpecDone(r suites.Result) {
	a.judging.SpecDone(r)
	if r.Requirement == a.id {
		close(a.done)
	}
}

// TestAPIServerStartsMeanwhile has an API server come up only when all that needs none is judged, and not come up at all: then what was judged
// stays.
func TestAPIServerStartsMeanwhile(t *testing.T) {
	emptied(t)
	const early, late = requirement.WebhookResponseUID, requirement.ResourceReadEveryVersion
	for name, test := range map[string]struct {
		start    func(context.Context) (cluster.Cluster, error)
		fault    string
		failFast bool
		verdicts map[requirement.ID]requirement.Verdict
		outcome  reports.Outcome
		wrong    string
	}{
		"up": {start: func(ctx context.Context) (cluster.Cluster, error) {
			return source.Starts(embedded.Start(context.WithoutCancel(ctx), embedded.Options{}))
		}, verdicts: map[requirement.ID]requirement.Verdict{early: requirement.Passed, late: requirement.Passed}, outcome: reports.Conformant},
		"not up":  {start: func(context.Context) (cluster.Cluster, error) { return nil, errors.New("no room") }, verdicts: map[requirement.ID]requirement.Verdict{early: requirement.Passed, late: requirement.Unknown}, outcome: reports.Unjudged, wrong: "no room"},
		"failure": {start: func(context.Context) (cluster.Cluster, error) { return nil, errors.New("no room") }, fault: "wrong-uid", verdicts: map[requirement.ID]requirement.Verdict{early: requirement.Failed, late: requirement.Unknown}, outcome: reports.NonConformant, wrong: "no room"},
		"stopped before": {start: func(ctx context.Context) (cluster.Cluster, error) {
			<-ctx.Done() // nobody waits for it
			return nil, context.Cause(ctx)
		}, fault: "wrong-uid", failFast: true, verdicts: map[requirement.ID]requirement.Verdict{early: requirement.Failed, late: requirement.Unknown}, outcome: reports.NonConformant},
	} {
		a := &awaited{id: early, done: make(chan struct{})}
		handler := webhook.Handler()
		if test.fault != "" {
			handler = faulty(t, test.fault)
		}
		d := Description{
			Config:  config.Config{CRDs: []string{crontabs}, Filter: []string{string(early), string(late)}, Generate: config.Generate{Objects: 3, Seed: 5}},
			Handler: handler, FailFast: test.failFast,
			Source: &source.Source{What: "an API server", Start: func(ctx context.Context, _ source.Run) (cluster.Cluster, error) {
				if !test.failFast {
					<-a.done
				}
				return test.start(ctx)
			}},
		}
		plan, err := d.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		report := plan.Run(t.Context(), a, nil)
		if report.Outcome != test.outcome || report.Error != test.wrong || (report.Cluster != nil) != (name == "up") {
			t.Errorf("%s: %s, %q, %+v", name, report.Outcome, report.Error, report.Cluster)
		}
		for id, want := range test.verdicts {
			i := slices.IndexFunc(report.Results, func(r reports.Result) bool { return r.ID == id })
			if i < 0 || report.Results[i].Verdict != want || want == requirement.Unknown && !strings.HasPrefix(report.Results[i].Reason, "not judged: ") {
				t.Errorf("%s: %s is not %s: %+v", name, id, want, report.Results)
			}
		}
	}
}
