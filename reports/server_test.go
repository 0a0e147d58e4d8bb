package reports

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/loadgen/apiserver"
)

// TestServer wants what clients of an API server meet in every form, and a budget that is exceeded to fail.
func TestServer(t *testing.T) {
	bound := 3.0
	for _, test := range []struct {
		calls float64
		error string
		want  Outcome
	}{{3, "", Conformant}, {4, "it was refused", NonConformant}, {3, "it was refused", Unjudged}} {
		calls, want := test.calls, test.want
		r := &Report{Load: load(t)}
		r.Load.Objectives = nil
		s := &r.Load.Stages[0]
		s.VoidReason, s.Failed, s.Errors, s.Findings = "", 0, nil, nil
		r.Load.Server = &apiserver.Result{
			Version: "v1.37.2", StorageVersion: "v1", OtherVersion: "v1beta1", Objects: 300, ObjectBytes: 412,
			Budget: []apiserver.Call{
				{Verb: apiserver.Create, Version: "v1beta1", Per: "request", Calls: calls, Bound: &bound, BoundFrom: "1.37", Met: calls <= bound},
				{Verb: apiserver.Get, Version: "v1", Per: "request", Error: test.error},
				{Verb: apiserver.List, Version: "v1", Per: "request", Calls: 1},
			},
			Load:   []apiserver.Load{{Verb: apiserver.List, Version: "v1beta1", Converted: true, Concurrency: 10, RequestsPerSecond: 123, Failures: []apiserver.Failure{{Status: 429, Count: 2, First: "too many"}}}},
			Watch:  []apiserver.Watch{{Version: "v1beta1", Writes: 50, Events: 49, Lost: 1}},
			Cold:   []apiserver.ColdList{{After: apiserver.AfterRestart, Version: "v1beta1", Complete: true, Seconds: 0.389}, {After: apiserver.AfterFlip, Skipped: "no time"}},
			Relist: &apiserver.Relist{Predictions: []apiserver.Prediction{{Objects: 20_000, Seconds: 99, OverLimit: true}}, Confirmation: &apiserver.Confirmation{Objects: 300, Predicted: 0.4, Measured: 0.389}},
			Notes:  []string{"status was left out"},
		}
		r.Conclude()
		if r.Outcome != want {
			t.Errorf("with %g calls: %s: %s", calls, r.Outcome, r.Headline())
		}
		var junit, html, markdown strings.Builder
		if err := r.JUnit(&junit); err != nil {
			t.Fatal(err)
		}
		if err := r.HTML(&html); err != nil {
			t.Fatal(err)
		}
		if err := r.Markdown(&markdown); err != nil {
			t.Fatal(err)
		}
		if text := junit.String(); !strings.Contains(text, `name="calls for create at v1beta1"`) || strings.Contains(text, "<failure ") != (want == NonConformant) ||
			strings.Contains(text, "it was refused") != (test.error != "") || !strings.Contains(text, "no bound is known") {
			t.Errorf("with %g calls: %s", calls, text)
		}
		for form, text := range map[string]string{"html": html.String(), "markdown": markdown.String(), "terminal": strings.Join(r.Load.Lines(), "\n")} {
			for _, want := range []string{"v1.37.2", "list at v1beta1", "0.389 s", "not measured: no time", "99 s, more than the 60 s"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q", form, want)
				}
			}
		}
	}
}
