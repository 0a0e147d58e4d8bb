package reporter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// TestServer wants what clients of an API server meet in every form. An exceeded budget is reported, and counts against nobody.
func TestServer(t *testing.T) {
	bound := 3.0
	share := loadgen.Share{
		Requests: 100, RequestSeconds: 1.25, Conversions: 200, ConversionSeconds: 0.5, CallSeconds: 0.3, OfServer: 0.4, OfClient: 0.35,
		Missing: []string{"apiserver_conversion_webhook_duration_seconds"},
	}
	for _, test := range []struct {
		calls float64
		error string
		want  reports.Outcome
	}{{3, "", reports.Conformant}, {4, "", reports.Conformant}, {4, "it was refused", reports.Unjudged}} {
		calls, want := test.calls, test.want
		r := &reports.Report{Load: load(t)}
		r.Load.Objectives = nil
		s := &r.Load.Stages[0]
		s.VoidReason, s.Failed, s.Errors, s.Findings = "", 0, nil, nil
		r.Load.Server = &loadgen.Server{
			Version: "v1.37.2", StorageVersion: "v1", OtherVersion: "v1beta1", Objects: 300, ObjectBytes: 412,
			Budget: []loadgen.VerbCalls{
				{Verb: "create", Version: "v1beta1", Per: "request", Calls: calls, Bound: &bound, BoundFrom: "1.37", Met: calls <= bound},
				{Verb: "get", Version: "v1", Per: "request", Error: test.error},
				{Verb: "list", Version: "v1", Per: "request", Calls: 1},
			},
			Load:   []loadgen.ServerLoad{{Verb: "list", Version: "v1beta1", Converted: true, Concurrency: 10, Requests: 100, RequestsPerSecond: 123, Share: share}},
			Watch:  []loadgen.Watch{{Version: "v1beta1", Writes: 50, Events: 50}},
			Cold:   []loadgen.ColdList{{After: "restart", Version: "v1beta1", Complete: true, Seconds: 0.389}, {After: "flip", Skipped: "no time"}},
			Relist: &loadgen.Relist{Predictions: []loadgen.Prediction{{Objects: 20_000, Seconds: 99, OverLimit: true}}, Confirmation: &loadgen.Confirmation{Objects: 300, Predicted: 0.4, Measured: 0.389, Apart: "3 % more than measured"}},
			Notes:  []string{"status was left out"},
		}
		Conclude(r)
		if r.Outcome != want {
			t.Errorf("with %g calls: %s: %s", calls, r.Outcome, Headline(r))
		}
		var junit, html, markdown strings.Builder
		if err := JUnit(r, &junit); err != nil {
			t.Fatal(err)
		}
		if err := HTML(r, &html); err != nil {
			t.Fatal(err)
		}
		if err := Markdown(r, &markdown); err != nil {
			t.Fatal(err)
		}
		if text := junit.String(); !strings.Contains(text, `name="calls for create at v1beta1"`) || strings.Contains(text, "<failure ") || strings.Contains(text, "<error ") != (test.error != "") ||
			strings.Contains(text, "it was refused") != (test.error != "") || !strings.Contains(text, "no bound is known for Kubernetes v1.37.2: list at v1: 1 calls") ||
			strings.Contains(text, "which is not the webhook") != (calls > bound) {
			t.Errorf("with %g calls: %s", calls, text)
		}
		if strings.Contains(html.String(), "more than Kubernetes 1.37 is known to make") != (calls > bound) {
			t.Errorf("with %g calls the page says\n%s", calls, html.String())
		}
		if want := fmt.Sprintf(`<td class="number">%.4g<br><small>1.37</small></td>`, bound); !strings.Contains(html.String(), want) || strings.Contains(html.String(), "%!") {
			t.Errorf("the page has no %s", want)
		}
		for form, text := range map[string]string{"markdown": markdown.String(), "terminal": strings.Join(LoadLines(r.Load, Columns), "\n")} {
			const over = "more often than Kubernetes 1.37 is known to"
			if strings.Contains(strings.Join(strings.Fields(text), " "), over) != (calls > bound) {
				t.Errorf("with %g calls %s says\n%s", calls, form, text)
			}
		}
		counts := fmt.Sprintf("calls (at most)  at v1 at v1beta1  for each create           %.4g (3)    request get              0     request list             1     request", calls)
		if test.error != "" {
			counts = strings.Replace(counts, "get              0 ", "get              not measured", 1)
		}
		for form, text := range map[string]string{"markdown": markdown.String(), "terminal": strings.Join(LoadLines(r.Load, Columns), "\n")} {
			if words := strings.Join(strings.Fields(text), " "); !strings.Contains(words, strings.Join(strings.Fields(counts), " ")) {
				t.Errorf("with %g calls %s lacks %q:\n%s", calls, form, counts, text)
			}
		}
		for form, text := range map[string]string{"html": html.String(), "markdown": markdown.String(), "terminal": strings.Join(LoadLines(r.Load, Columns), "\n")} {
			for _, want := range []string{"v1.37.2", "list at v1beta1", "0.389 s", "not measured: no time", "99 s, more than the 60 s", "measured 0.389 s: 3 % more than measured", "status was left out", "35 %", "12.5", "40 %", "metrics: apiserver_conversion_webhook_duration_seconds"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q:\n%s", form, want, text)
				}
			}
		}
	}
}

// TestServersOwnMetrics expects a dash for what an API server's metrics do not show.
func TestServersOwnMetrics(t *testing.T) {
	for name, test := range map[string]struct {
		share       loadgen.Share
		time, whole string
	}{
		"in total":            {loadgen.Share{Requests: 4, RequestSeconds: 2, Conversions: 4, ConversionSeconds: 1, OfServer: 0.5}, "500", "50 %"},
		"nothing converted":   {loadgen.Share{Requests: 4, RequestSeconds: 2}, "500", "0 %"},
		"beside the requests": {loadgen.Share{Requests: 4, RequestSeconds: 2, Conversions: 4, ConversionSeconds: 1, Beside: 2}, "500", "-"},
		"no metrics":          {loadgen.Share{Missing: []string{"forbidden"}}, "-", "-"},
	} {
		if serverTime(test.share) != test.time || serverShare(test.share) != test.whole {
			t.Errorf("%s: got %s and %s, want %s and %s", name, serverTime(test.share), serverShare(test.share), test.time, test.whole)
		}
	}
	if text := metricsText(&loadgen.Server{Load: []loadgen.ServerLoad{{Verb: "get"}}}); text != "" {
		t.Errorf("without metrics it says %q", text)
	}
	widest := loadgen.ServerLoad{Verb: "apply", Version: "v1alpha1", Concurrency: 10, Share: loadgen.Share{Requests: 1, RequestSeconds: 1.234, Conversions: 1, ConversionSeconds: 1.1, CallSeconds: 1.1, OfServer: 0.9}}
	for line := range strings.Lines(metricsText(&loadgen.Server{Load: []loadgen.ServerLoad{widest}})) {
		if n := len(strings.TrimSpace(line)) + 4; n > Columns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestServerThatFails has what was not measured through an API server, or failed there, not pass for measured.
func TestServerThatFails(t *testing.T) {
	failures := []loadgen.Failure{{Status: 500, Count: 1, First: "no leader"}}
	good := loadgen.Server{
		Version: "v1.37.2",
		Budget:  []loadgen.VerbCalls{{Verb: "get", Version: "v1", Per: "request", Calls: 1}},
		Load:    []loadgen.ServerLoad{{Verb: "list", Version: "v1", Converted: true, Requests: 9, Unanswered: 1}},
		Watch:   []loadgen.Watch{{Version: "v1", Writes: 9, Events: 9, Reopened: 1, Failures: failures}},
		Cold:    []loadgen.ColdList{{After: "restart", Version: "v1", Skipped: "no time"}, {After: "flip", Version: "v1", Complete: true, Refused: 3, Failures: failures}},
	}
	for want, change := range map[string]func(*loadgen.Server){
		"":                             func(*loadgen.Server) {},
		"get at v1: no response":       func(r *loadgen.Server) { r.Budget[0].Error = "no response" },
		"the webhook converts nothing": func(r *loadgen.Server) { r.Ended = "the webhook converts nothing" },
		"2 of 9 requests of list at v1 failed: no leader": func(r *loadgen.Server) { r.Load[0].Failed, r.Load[0].Failures = 2, failures },
		"2 of 9 requests of list at v1beta1 failed: no leader": func(r *loadgen.Server) {
			r.Load[0] = loadgen.ServerLoad{Verb: "list", Version: "v1beta1", Requests: 9, Failed: 2, Failures: failures}
		},
		"none of the requests of list at v1 was answered: 1 took longer than the load": func(r *loadgen.Server) { r.Load[0].Requests = 0 },
		"4 of 9 events of the watch at v1 did not arrive: no leader":                   func(r *loadgen.Server) { r.Watch[0].Events, r.Watch[0].Lost = 5, 4 },
		"3 of 12 writes for the watch at v1 failed: no leader":                         func(r *loadgen.Server) { r.Watch[0].WritesFailed = 3 },
		"the LIST at v1 after flip was not complete within 120 s: no leader":           func(r *loadgen.Server) { r.Cold[1].Complete, r.Cold[1].Seconds = false, 120 },
		"get at v1: no response (and 1 more)": func(r *loadgen.Server) {
			r.Budget[0].Error, r.Cold[1].Complete = "no response", false
		},
	} {
		server := good
		server.Budget, server.Load, server.Watch, server.Cold = slices.Clone(good.Budget), slices.Clone(good.Load), slices.Clone(good.Watch), slices.Clone(good.Cold)
		change(&server)
		r := &reports.Report{Load: load(t)}
		r.Load.Objectives = nil
		s := &r.Load.Stages[0]
		s.Failed, s.Errors, s.Findings = 0, nil, nil
		r.Load.Server = &server
		Conclude(r)
		var junit strings.Builder
		if err := JUnit(r, &junit); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if r.Outcome != reports.Conformant || strings.Contains(junit.String(), "<error ") {
				t.Errorf("nothing is wrong, and it says %s: %s", r.Outcome, Headline(r))
			}
			continue
		}
		if r.Outcome != reports.Unjudged || !strings.HasSuffix(Headline(r), ": "+want) || !strings.Contains(junit.String(), "<error ") {
			t.Errorf("%s: %s, want %q", r.Outcome, Headline(r), want)
		}
		server.Partial = true // what is missing then is missing for that
		if Conclude(r); r.Outcome != reports.Conformant {
			t.Errorf("stopped before its end: %s: %s", r.Outcome, Headline(r))
		}
	}
}
