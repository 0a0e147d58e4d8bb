//go:build nightly

package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/apiserver"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/loadgen"
)

func TestLoadThreeVersions(t *testing.T) {
	t.Parallel()
	o := loadOptions(t, suitetest.Cluster(t, embedded.Options{WatchCache: true}), serve(t, webhook.Handler()), "v1beta1", "v1", "v1alpha1")
	o.Settings.Parts = []apiserver.Part{apiserver.PartBudget}
	result := loadMeasured(t, o)
	keepsBounds(t, result, o)
	if got := callsOf(t, result, apiserver.Create, "v1beta1"); got != 2 {
		t.Errorf("creating costs %v calls, want one for each version that is not stored", got)
	}
	if got := callsOf(t, result, apiserver.Update, "v1"); got != 8 {
		t.Errorf("an update at v1 costs %v calls", got)
	}
}

func TestLoadWithoutWatchCache(t *testing.T) {
	t.Parallel()
	o := loadOptions(t, suitetest.Cluster(t, embedded.Options{}), serve(t, webhook.Handler()), "v1beta1", "v1")
	o.Settings.Parts, o.Settings.Concurrency = []apiserver.Part{apiserver.PartBudget, apiserver.PartRelist, apiserver.PartCold}, []int{1}
	result := loadMeasured(t, o)
	keepsBounds(t, result, o)
	if got := callsOf(t, result, apiserver.List, "v1"); got != 1 {
		t.Errorf("a LIST costs %v calls for each object", got)
	}
	for _, c := range result.Cold {
		if c.Webhook.Calls != uint64(o.Seeded) || c.WarmCalls != uint64(o.Seeded) || c.Webhook.MostInFlight != 1 || c.Refused > 0 || !c.Complete {
			t.Errorf("got %+v", c)
		}
	}
	if r := result.Relist; r == nil || r.InFlight != 1 || r.Cost.Pause != 0 || r.Cost.Caches != 1 || r.Confirmation == nil {
		t.Errorf("got %+v", r)
	}
}

func TestLoadSlowWebhook(t *testing.T) {
	t.Parallel()
	const delay = 5 * time.Millisecond
	o := loadOptions(t, suitetest.Cluster(t, embedded.Options{WatchCache: true}), serve(t, slow(delay)), "v1beta1", "v1")
	o.Settings.Parts, o.Seeded = []apiserver.Part{apiserver.PartRelist, apiserver.PartCold}, 100
	result := loadMeasured(t, o)
	for _, c := range result.Cold {
		if !c.Rebuilt {
			continue
		}
		// Ten at a time, since nothing is faster than the webhook.
		if floor := float64(o.Seeded) / apiserver.InFlight * delay.Seconds(); c.Seconds < floor || c.Webhook.Seconds < float64(o.Seeded)*delay.Seconds() {
			t.Errorf("got %+v, which cannot take less than %v s", c, floor)
		}
		if c.Refused == 0 || len(c.Failures) != 1 || c.Failures[0].Status != http.StatusTooManyRequests || c.Failures[0].Count != c.Refused {
			t.Errorf("got %+v", c)
		}
	}
	r := result.Relist
	if r == nil || r.Cost.Service.One < 5 || r.Cost.Service.Ten < 5 {
		t.Fatalf("got %+v", r)
	}
	if r.Confirmation == nil || r.Confirmation.Predicted < 0.05 {
		t.Errorf("got %+v", r.Confirmation)
	}
}

// slow converts as the reference webhook does, after a delay.
func slow(delay time.Duration) http.Handler {
	handler := webhook.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
		handler.ServeHTTP(w, r)
	})
}

// callsOf are the calls of a verb.
func callsOf(t *testing.T, result loadgen.Server, verb apiserver.Verb, version string) float64 {
	t.Helper()
	for _, c := range result.Budget {
		if c.Verb == verb && c.Version == version {
			return c.Calls
		}
	}
	t.Fatalf("%s at %s was not measured", verb, version)
	return 0
}
