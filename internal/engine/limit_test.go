package engine

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// stalling is a correct webhook that leaves every request after the first few without an answer.
func stalling(answered int64) http.Handler {
	var asked atomic.Int64
	correct := webhook.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > answered {
			<-r.Context().Done()
			return
		}
		correct.ServeHTTP(w, r)
	})
}

// TestRunTimeout ends a run that would wait for very long. It is no interruption, and says what is left.
func TestRunTimeout(t *testing.T) {
	t.Parallel()
	report := checked(t, Description{Handler: stalling(30), Config: config.Config{
		RunTimeout: config.Duration{Duration: time.Second}, Webhook: config.Webhook{Timeout: config.Duration{Duration: time.Hour}},
	}})
	left := report.With(requirement.Unknown)
	if report.Outcome != reports.Unjudged || report.Interrupted || len(left) == 0 || report.Counts[requirement.Failed]+report.Counts[requirement.Errored] > 0 {
		t.Fatalf("%s with %v, interrupted: %t", report.Outcome, report.Counts, report.Interrupted)
	}
	if want := "the run timeout of 1s expired before everything was judged; "; !strings.HasPrefix(report.Error, want) {
		t.Errorf("the error is %q, want %q", report.Error, want)
	}
	for _, r := range left {
		if want := "the run timeout of 1s expired before it was judged"; r.Reason != want {
			t.Errorf("%s: %q, want %q", r.ID, r.Reason, want)
		}
	}
}

// TestRunTimeoutOfLoad ends a load test.
func TestRunTimeoutOfLoad(t *testing.T) {
	t.Parallel()
	c := Description{Handler: webhook.Handler(), Config: config.Config{RunTimeout: config.Duration{Duration: 2 * time.Second}}}
	c.Load = config.Load{Rates: []float64{20}, Batches: []int{1}, Duration: config.Duration{Duration: time.Hour}}
	plan, err := c.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	report := plan.Load(t.Context(), nil, nil)
	if report.Interrupted || report.Outcome != reports.Unjudged || report.Error != "the run timeout of 2s expired before everything was judged" {
		t.Errorf("%s, interrupted: %t, %q", report.Outcome, report.Interrupted, report.Error)
	}
}

// TestLiftedLimit wants nothing to end a context after its limit was lifted, and an interruption to stay one.
func TestLiftedLimit(t *testing.T) {
	t.Parallel()
	s := &session{Plan: &Plan{want: Description{Config: config.Config{RunTimeout: config.Duration{Duration: time.Hour}}}}}
	outer, interrupt := context.WithCancel(t.Context())
	ctx := s.limited(outer)
	s.limit.lift()
	if s.limit.timer.Stop() {
		t.Error("the limit still runs")
	}
	interrupt()
	if ctx.Err() == nil || s.limit.ended(ctx) {
		t.Errorf("%v after an interruption, by the limit: %t", ctx.Err(), s.limit.ended(ctx))
	}
}
