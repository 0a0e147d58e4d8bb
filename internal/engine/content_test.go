package engine

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/workers"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/reports"
)

// remote are workers that may reach what this process does not.
type remote struct{ workers.Launcher }

func (remote) Remote() bool { return true }

// TestContentThatCannotBeLearnt refuses what leaves the content unjudged.
func TestContentThatCannotBeLearnt(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Description){
		"load.judgeContent: each request of a recording is sent once": func(d *Description) {
			d.Load = config.Load{Recording: "recording.jsonl", Profile: "replay", JudgeContent: true}
		},
		"load.judgeContent: the answers are learnt from here": func(d *Description) { d.Workers, d.Launcher = 2, remote{} },
	} {
		d := Description{Handler: webhook.Handler()}
		d.Load = config.Load{Rates: []float64{20}, Batches: []int{1}, Duration: config.Duration{Duration: time.Second}, JudgeContent: true}
		change(&d)
		if _, err := d.Prepare(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}

// slowly takes a while for each request, so that a search need not send many.
func slowly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pause.For(r.Context(), 10*time.Millisecond) == nil {
			handler.ServeHTTP(w, r)
		}
	})
}

// TestContentOfLossyWebhook has a webhook that always loses a field fail, unless the loss is known.
func TestContentOfLossyWebhook(t *testing.T) {
	t.Parallel()
	fault, _ := webhook.FaultNamed("loses-port")
	for name, test := range map[string]struct {
		handler http.Handler
		change  func(*Description)
		want    reports.Outcome
	}{
		"correct": {webhook.Handler(), func(*Description) {}, reports.Conformant},
		"lossy":   {webhook.Handler(fault), func(*Description) {}, reports.NonConformant},
		"known": {webhook.Handler(fault), func(d *Description) {
			d.KnownFailing = []config.KnownFailing{{ID: "webhook.conversion.round-trip", Reason: "later"}}
		}, reports.Conformant},
		"searched": {slowly(webhook.Handler(fault)), func(d *Description) {
			d.Load.Profile, d.Load.Rates, d.Load.Duration.Duration = "search", nil, time.Second
		}, reports.NonConformant},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Description{Handler: test.handler}
			d.Load = config.Load{
				Rates: []float64{50}, Batches: []int{1}, Duration: config.Duration{Duration: 200 * time.Millisecond}, JudgeContent: true,
				Pairs: []config.Pair{{From: "v1beta1", To: "v1"}},
			}
			test.change(&d)
			plan, err := d.Prepare()
			if err != nil {
				t.Fatal(err)
			}
			report := plan.Load(t.Context(), nil, nil)
			if report.Load == nil || test.want == reports.NonConformant && report.Outcome != test.want {
				t.Fatalf("%s, %q: %+v", report.Outcome, report.Error, report.Load)
			}
			for _, s := range report.Load.Stages { // on a busy machine they may be void
				if (s.Failed > 0) != (test.want == reports.NonConformant) || s.Errors[load.Differs] != s.Failed {
					t.Errorf("%d of %d requests failed: %v, %v", s.Failed, s.Requests, s.Errors, s.Findings)
				}
			}
		})
	}
}
