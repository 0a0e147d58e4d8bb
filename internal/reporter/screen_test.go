package reporter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// summary is what is shown of a report in the end. The scripts of the command show those of small reports.
func summary(s Screen, report *reports.Report) string {
	var out strings.Builder
	s.Out = &out
	s.Summarize(report)
	return out.String()
}

// TestSummaryFitsOnAScreen has thousands of failures, chapters and notes be summed up.
func TestSummaryFitsOnAScreen(t *testing.T) {
	report, before := &reports.Report{}, &reports.Report{}
	for i := range 3000 {
		result := reports.Result{
			Requirement: requirement.Requirement{ID: requirement.ID(fmt.Sprintf("area-%d.topic.rule", i%100)), Level: requirement.Must},
			Subject:     fmt.Sprintf("größe-%d.example.com", i), Reason: fmt.Sprintf("reason %d: %s", i, strings.Repeat("größer ", 30)),
			Verdict: []requirement.Verdict{requirement.Failed, requirement.NotApplicable, requirement.Passed}[i%3],
		}
		report.Results = append(report.Results, result)
		result.Verdict = []requirement.Verdict{requirement.Passed, requirement.Passed, requirement.Failed}[i%3] // each comes to something else
		before.Results = append(before.Results, result)
	}
	Conclude(report)
	Conclude(before)
	narrow := Screen{Terminal: true, Width: 80, More: "--format markdown"}
	out := summary(narrow, report)
	var err error
	if report.Changes, err = Since(report, "last-night", before); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary-thousands.txt", []byte(out+summary(narrow, report)))
	all := summary(Screen{}, report)
	if got, want := strings.Count(all, "\n    "), 3*15; got < want || strings.Contains(all, "more lines") {
		t.Errorf("to a file it writes %d lines of changes, want %d or more", got, want)
	}
	of := map[string]bool{}
	for _, r := range requirement.All() {
		of[r.ID.Area()] = of[r.ID.Area()] || explanation.Command(r) == "run"
	}
	if n := len(slices.DeleteFunc(slices.Collect(maps.Values(of)), func(runs bool) bool { return !runs })); n > mostChapters {
		t.Errorf("a run has %d chapters, and %d are shown", n, mostChapters)
	}
}

// TestSummaryOfTenDefinitions has ten definitions that all lose a field by design be summed up on half a screen.
func TestSummaryOfTenDefinitions(t *testing.T) {
	report := &reports.Report{Webhook: &reports.Webhook{}}
	for n := range 10 {
		report.Webhook.Kinds = append(report.Webhook.Kinds, reports.Kind{
			Definition: fmt.Sprintf("widget%ds.example.com", n), Group: "example.com", Kind: fmt.Sprintf("Widget%d", n),
			Coverage: []reports.Coverage{{From: "v1", To: "v2", Total: 5, Exercised: 5}},
		})
		for _, id := range []requirement.ID{"webhook.conversion.round-trip", "resource.write.no-op"} {
			report.Results = append(report.Results, reports.Result{
				Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Verdict: requirement.Failed, Reason: "lost",
				Subject: report.Webhook.Kinds[n].Definition,
				Findings: []reports.FieldFinding{{
					Field: "spec.legacy", Effect: "lost", From: "v1", To: "v2", Lacking: true,
					Message: "v1 -> v2 -> v1: spec.legacy: expected 1, got nothing",
				}},
			})
		}
	}
	Conclude(report)
	golden(t, "summary-ten-definitions.txt", []byte(summary(Screen{Terminal: true, Width: 80}, report)))
}

// TestSummaryOfLibrary has one line for what a library does in every webhook, as long as most of it was seen.
func TestSummaryOfLibrary(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		2: "Tolerated webhook.request.unknown-review-version and 1 more: it is so",
		3: "Tolerated webhook.request.unknown-review-version and 2 more: as in webhooks built with controller-runtime",
		4: "Tolerated webhook.request.unknown-review-version and 3 more: as in webhooks built with controller-runtime",
	} {
		report := &reports.Report{}
		for _, id := range []requirement.ID{"webhook.request.unknown-review-version", "webhook.response.content-type", "webhook.failure.status", "webhook.conversion.identity"}[:n] {
			report.Results = append(report.Results, reports.Result{Requirement: requirement.Requirement{ID: id}, Verdict: requirement.Tolerated, Reason: "it is so"})
		}
		report.Results = append(report.Results, reports.Result{Requirement: requirement.Requirement{ID: "webhook.response.lean"}, Verdict: requirement.Tolerated, Reason: "it says more"})
		Conclude(report)
		text := summary(Screen{}, report)
		if !strings.Contains(text, want) || !strings.Contains(text, "Tolerated webhook.response.lean: it says more") {
			t.Errorf("of %d: want %q in\n%s", n, want, text)
		}
	}
}

// TestSummaryOfLongNames has the counts be seen on a narrow terminal, whatever the definition is called, and what a first line leads to.
func TestSummaryOfLongNames(t *testing.T) {
	report := &reports.Report{}
	for i, v := range []requirement.Verdict{requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.Failed} {
		report.Results = append(report.Results, reports.Result{
			Requirement: requirement.Requirement{ID: requirement.ID(fmt.Sprintf("resource.read.rule-%d", i)), Level: requirement.Must},
			Verdict:     v, Subject: "certificatesigningrequests.certificates.example.com", Reason: "read at v1:\nexpected a, got b",
		})
	}
	Conclude(report)
	wide, narrow, narrower := Screen{}, Screen{Terminal: true, Width: 80}, Screen{Terminal: true, Width: 50}
	golden(t, "summary-long-names.txt", []byte(summary(wide, report)+summary(narrow, report)+summary(narrower, report)))
}

func TestColors(t *testing.T) {
	var all strings.Builder
	for _, outcome := range []reports.Outcome{reports.Conformant, reports.Partial, reports.NonConformant, reports.Interrupted, reports.Unjudged} {
		report := &reports.Report{Outcome: outcome, Error: "no \x1b[2Jwebhook", Results: make([]reports.Result, 1)}
		report.Results[0].ID = "webhook.response.uid"
		all.WriteString(summary(Screen{Color: true}, report) + summary(Screen{}, report))
	}
	golden(t, "summary-colors.txt", []byte(strings.ReplaceAll(all.String(), "\x1b", "␛")))
}

func TestSummaryOfLoad(t *testing.T) {
	report := &reports.Report{Load: &loadgen.Load{Stages: []loadgen.Stage{{
		Rate: 100, Duration: 1, Batch: 1, Pairs: []loadgen.Pair{{From: "v1beta1", To: "v1"}}, ReviewVersion: "v1", HTTP: "HTTP/1.1",
		Requests: 100, Judged: 100, Failed: 4, Errors: map[string]uint64{"contract": 4},
		Response: loadgen.Times{P50: 1, P90: 2.345, P99: 3, P999: 4, Max: 5},
		Findings: []loadgen.Finding{{Text: "one\x1b"}, {Text: "two"}, {Text: "three"}, {Text: "four"}},
	}}}}
	Conclude(report)
	golden(t, "summary-load.txt", []byte(summary(Screen{Width: 100}, report)))
}
