package webhook

import (
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// TestOutgrown has objects grow until they are too large for etcd: nobody waits for more.
func TestOutgrown(t *testing.T) {
	t.Parallel()
	var longest atomic.Int64
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", stranger{change: func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		history, _ := spec["history"].(string)
		spec["history"] = history + history + "some more"
		longest.Store(max(longest.Load(), int64(len(history)))) // requests come one after another
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	samples := widgetSamples(t)
	results := judgeSelected(t, &suites.Subject{Client: client, Corpus: samples}, Area, func(id requirement.ID) bool {
		return id == requirement.WebhookConversionGrowth
	})
	want := regexp.MustCompile(`spec\.history: expected the object to keep its size of \d+ bytes, got \d+ bytes, more than etcd takes`)
	for _, result := range results {
		if result.Verdict != requirement.Failed || !want.MatchString(result.Reason) {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
	if len(results) != 1 || longest.Load() > 4*mostStored {
		t.Errorf("%d results, and a history of %d bytes", len(results), longest.Load())
	}
}
