package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// reported returns a report with results of many sorts.
func reported(strict bool) *reports.Report {
	report := &reports.Report{Seconds: 12.34, Strict: strict}
	add := func(id requirement.ID, v requirement.Verdict, reason string) {
		report.Results = append(report.Results, reports.Result{Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Verdict: v, Reason: reason})
	}
	add("versions.scope.cluster", requirement.Passed, "")
	add("webhook.response.uid", requirement.KnownFailing, "issue 12\nexpected a, got b")
	add("webhook.response.content-type", requirement.Tolerated, "expected json, got \x1b[31mtext")
	add("webhook.response.kind", requirement.NotApplicable, "cannot be judged while webhook.response.uid fails")
	add("webhook.response.order", requirement.NotApplicable, "cannot be judged while webhook.response.uid fails")
	add("webhook.batch.mixed-versions", requirement.NotApplicable, "needs three versions")
	add("webhook.response.lean", requirement.Failed, "expected a, got b")
	add("storage.update.rewrites", requirement.Errored, "no answer")
	add("storage.update.generation-kept", requirement.Unknown, "it was interrupted")
	reporter.Conclude(report)
	return report
}

func TestSummary(t *testing.T) {
	const chapters = `
versions       1 Passed
webhook        1 Tolerated   3 NotApplicable   1 KnownFailing   1 Failed
storage        1 Errored   1 Unknown
`
	const tolerated = "webhook.response.content-type: expected json, got \uFFFD[31mtext\n"
	const notes = `NotApplicable webhook.response.order and 1 more: cannot be judged while webhook.response.uid fails
NotApplicable webhook.batch.mixed-versions: needs three versions
KnownFailing webhook.response.uid: issue 12
`
	const failed = `FAILED webhook.response.lean: expected a, got b
`
	const errored = `ERRORED storage.update.rewrites: no answer
`
	for strict, want := range map[bool]string{
		false: chapters + "Tolerated " + tolerated + notes + failed + errored + "Does not conform: 1 of 9 requirements failed, in 12.3 s\n",
		true:  chapters + notes + "TOLERATED " + tolerated + failed + errored + "Does not conform: 2 of 9 requirements failed, 1 of them tolerated unless strict, in 12.3 s\n",
	} {
		var out strings.Builder
		summarize(streams{out: &out}, reported(strict))
		if got := out.String(); got != want {
			t.Errorf("strict %t: got:\n%s\nwant:\n%s", strict, got, want)
		}
	}
}

// TestSummaryFitsOnAScreen has thousands of failures, chapters and notes be summed up.
func TestSummaryFitsOnAScreen(t *testing.T) {
	report := &reports.Report{}
	for i := range 3000 {
		report.Results = append(report.Results, reports.Result{
			Requirement: requirement.Requirement{ID: requirement.ID(fmt.Sprintf("area-%d.topic.rule", i%100)), Level: requirement.Must}, Subject: fmt.Sprintf("größe-%d.example.com", i),
			Verdict: []requirement.Verdict{requirement.Failed, requirement.NotApplicable, requirement.Passed}[i%3], Reason: fmt.Sprintf("reason %d: %s", i, strings.Repeat("größer ", 30)),
		})
	}
	reporter.Conclude(report)
	var out, all strings.Builder
	summarize(streams{out: &out, terminal: true, width: 80}, report)
	if n := strings.Count(out.String(), "\n"); n > 40 {
		t.Errorf("there are %d lines", n)
	}
	before := *report
	before.Results = slices.Clone(report.Results)
	for i := range before.Results { // so that each comes to something else
		before.Results[i].Verdict = []requirement.Verdict{requirement.Passed, requirement.Passed, requirement.Failed}[i%3]
	}
	reporter.Conclude(&before)
	var err error
	if report.Changes, err = reporter.Since(report, "last-night", &before); err != nil {
		t.Fatal(err)
	}
	if n := len(areas()); n > mostChapters {
		t.Errorf("a run has %d chapters, and %d are shown", n, mostChapters)
	}
	out.Reset()
	summarize(streams{out: &out, terminal: true, width: 80}, report)
	summarize(streams{out: &all}, report)
	lines := strings.Split(out.String(), "\n")
	if len(lines) > 50 {
		t.Errorf("with changes there are %d lines", len(lines))
	}
	if got, want := strings.Count(all.String(), "\n    "), 3*15; got < want || strings.Contains(all.String(), "more lines") {
		t.Errorf("to a file it writes %d lines of changes, want %d or more", got, want)
	}
	for _, line := range lines[:len(lines)-2] { // the headline may wrap
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
	for _, want := range []string{"and 86 more chapters, in report.html\n", "and 994 more notes, in report.html\n", "and 90 more causes, in report.html\n", " more lines, with --format markdown\n", "Changes: " + reporter.Summary(report.Changes)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
}

// TestSummaryOfTenDefinitions has ten definitions that all lose a field by design be summed up on half a screen.
func TestSummaryOfTenDefinitions(t *testing.T) {
	report := &reports.Report{Webhook: &reports.Webhook{}}
	for n := range 10 {
		k := reports.Kind{Definition: fmt.Sprintf("widget%ds.example.com", n), Group: "example.com", Kind: fmt.Sprintf("Widget%d", n), Coverage: []reports.Coverage{{From: "v1", To: "v2", Total: 5, Exercised: 5}}}
		report.Webhook.Kinds = append(report.Webhook.Kinds, k)
		for _, id := range []requirement.ID{"webhook.conversion.round-trip", "resource.write.no-op"} {
			report.Results = append(report.Results, reports.Result{
				Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Subject: k.Definition, Verdict: requirement.Failed, Reason: "lost",
				Findings: []reports.FieldFinding{{Field: "spec.legacy", Effect: "lost", From: "v1", To: "v2", Lacking: true, Message: "v1 -> v2 -> v1: spec.legacy: expected 1, got nothing"}},
			})
		}
	}
	reporter.Conclude(report)
	var out strings.Builder
	summarize(streams{out: &out, terminal: true, width: 80}, report)
	const want = `
webhook, all definitions   10 Failed
resource, all definitions  10 Failed
fields exercised: 50 of 50 in 10 definitions
FAILED spec.legacy is lost: v2 has no field of that name:
    10 definitions; webhook.conversion.round-trip and 1 more
    v1 -> v2 -> v1: spec.legacy: expected 1, got nothing
To declare the losses that are intended, add this to crdconform.yaml; "crdconform check --write-lossy FILE" writes all 10:
lossy:
- {path: "spec.legacy", group: "example.com", kind: "Widget0", from: "v1", through: "v2", reason: "TODO"}
- {path: "spec.legacy", group: "example.com", kind: "Widget1", from: "v1", through: "v2", reason: "TODO"}
- {path: "spec.legacy", group: "example.com", kind: "Widget2", from: "v1", through: "v2", reason: "TODO"}
Does not conform: 20 of 20 requirements for 10 definitions failed, in 0.0 s
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestSummaryOfLongNames has the counts be seen on a narrow terminal, whatever the definition is called, and what a first line leads to.
func TestSummaryOfLongNames(t *testing.T) {
	report := &reports.Report{}
	for i, v := range []requirement.Verdict{requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.Failed} {
		report.Results = append(report.Results, reports.Result{
			Requirement: requirement.Requirement{ID: requirement.ID(fmt.Sprintf("resource.read.rule-%d", i)), Level: requirement.Must}, Verdict: v,
			Subject: "certificatesigningrequests.certificates.example.com", Reason: "read at v1:\nexpected a, got b",
		})
	}
	reporter.Conclude(report)
	var wide, narrow strings.Builder
	summarize(streams{out: &wide}, report)
	summarize(streams{out: &narrow, terminal: true, width: 80}, report)
	for _, want := range []string{
		"resource, certificatesigningrequests.certificates.example.com   1 Passed   1 Tolerated   1 NotApplicable   1 Failed\n",
		"Tolerated resource.read.rule-1: read at v1: expected a, got b\n", "NotApplicable resource.read.rule-2: read at v1: expected a, got b\n",
		"FAILED resource.read.rule-3: read at v1: expected a, got b\n",
	} {
		if !strings.Contains(wide.String(), want) {
			t.Errorf("there is no %q in\n%s", want, wide.String())
		}
	}
	if want := "resource, certificatesign…   1 Passed   1 Tolerated   1 NotApplicable   1 Failed\n"; !strings.Contains(narrow.String(), want) {
		t.Errorf("there is no %q in\n%s", want, narrow.String())
	}
	narrow.Reset()
	summarize(streams{out: &narrow, terminal: true, width: 50}, report)
	if want := "FAILED resource.read.rule-3:\n    read at v1: expected a, got b\n"; !strings.Contains(narrow.String(), want) {
		t.Errorf("there is no %q in\n%s", want, narrow.String())
	}
}

func TestColors(t *testing.T) {
	for outcome, color := range map[reports.Outcome]string{
		reports.Conformant: green, reports.Partial: green, reports.NonConformant: red, reports.Interrupted: yellow, reports.Unjudged: yellow,
	} {
		report := &reports.Report{Outcome: outcome, Error: "no \x1b[2Jwebhook", Results: []reports.Result{{}}}
		for _, colored := range []bool{true, false} {
			var out strings.Builder
			summarize(streams{out: &out, color: colored}, report)
			if got := strings.HasSuffix(out.String(), "\n"+color+strings.ReplaceAll(reporter.Headline(report), "\x1b", "\uFFFD")+plain+"\n"); got != colored {
				t.Errorf("%s, colored %t: %q", outcome, colored, out.String())
			}
			if strings.Contains(out.String(), "\x1b[2J") {
				t.Errorf("%s: a command gets through: %q", outcome, out.String())
			}
		}
	}
}

func TestSummaryOfLoad(t *testing.T) {
	report := &reports.Report{Load: &loadgen.Load{Stages: []loadgen.Stage{{
		Rate: 100, Duration: 1, Batch: 1, Pairs: []loadgen.Pair{{From: "v1beta1", To: "v1"}}, ReviewVersion: "v1", HTTP: "HTTP/1.1", Requests: 100, Judged: 100, Failed: 4,
		Errors:   map[string]uint64{"contract": 4},
		Response: loadgen.Times{P50: 1, P90: 2.345, P99: 3, P999: 4, Max: 5},
		Findings: []loadgen.Finding{{Text: "one\x1b"}, {Text: "two"}, {Text: "three"}, {Text: "four"}},
	}}}}
	reporter.Conclude(report)
	var out strings.Builder
	summarize(streams{out: &out, width: 100}, report)
	for _, line := range reporter.LoadLines(report.Load, reporter.Columns) {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("there is no %q in\n%s", line, out.String())
		}
	}
	if got := out.String(); !strings.Contains(got, "one\uFFFD") || strings.Contains(got, "four") || !strings.HasSuffix(got, reporter.Headline(report)+", in 0.0 s\n") {
		t.Errorf("it says:\n%s", got)
	}
}

// TestGivenFlags has them come out as they can go in again.
func TestGivenFlags(t *testing.T) {
	cmd := newRun(streams{})
	if got := givenFlags(cmd.Flags()); len(got) > 0 {
		t.Errorf("without any: %q", got)
	}
	args := []string{"--filter", "storage,*.uid", "--filter=versions", "--strict", "--load-duration", "90s", "--report-dir", "my reports"}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	want := "--filter='storage,*.uid,versions' --load-duration=1m30s --report-dir='my reports' --strict=true"
	if got := strings.Join(givenFlags(cmd.Flags()), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLogOfTheServer is about the file alone: the log itself is the whole process's.
func TestLogOfTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "apiserver.log")
	if _, err := openLog(path); err == nil || !strings.HasPrefix(err.Error(), "the log of the API server: ") || !strings.Contains(err.Error(), path) {
		t.Errorf("in a folder that is missing: %v", err)
	}
	path = filepath.Join(t.TempDir(), "apiserver.log")
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
