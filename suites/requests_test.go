package suites_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
	"github.com/crdconform/crdconform/suites/webhook"
)

// TestRequests counts how often a correct webhook is asked, by the chapter on it and by the API server. Time is what each of these takes, so a check
// becomes slow where something is asked twice. Who asks more for a reason raises the number.
func TestRequests(t *testing.T) {
	const fields = `{level: {type: integer, minimum: 1}, name: {type: string}, way: {type: object, maxProperties: 1, minProperties: 1, properties: {
		a: {type: object, properties: {size: {type: integer}}}, b: {type: object, properties: {name: {type: string}}}}}}`
	passesOn := rewriting(func(_, _ string, _ map[string]any) {})
	for _, test := range []struct {
		chapter suites.Area
		most    int64
	}{
		{webhook.Area, 315},
		{resource.Area, 1150},
	} {
		t.Run(test.chapter.Name, func(t *testing.T) {
			var asked atomic.Int64
			counting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				passesOn.ServeHTTP(w, r)
			})
			s := subject(t, counting, corpusOf(t, twin(fields, fields, "{status: {}}"), ""))
			env := suitetest.Env(t, suites.Options{Cluster: apiServer.Cluster(t), Subject: s, Seed: 1})
			outcome, err := suites.Run(t.Context(), env, []suites.Area{test.chapter}, suitetest.Quiet{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range outcome.Results {
				if r.Verdict == requirement.Failed || r.Verdict == requirement.Errored {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
			t.Logf("asked %d times", asked.Load())
			if n := asked.Load(); n > test.most {
				t.Errorf("asked %d times, want at most %d", n, test.most)
			}
		})
	}
}
