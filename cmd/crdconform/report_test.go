package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	report.Conclude()
	return report
}

func TestSummary(t *testing.T) {
	const notes = `
versions       1 Passed
webhook        1 Tolerated   3 NotApplicable   1 KnownFailing   1 Failed
storage        1 Errored   1 Unknown
Tolerated webhook.response.content-type: expected json, got ` + "\uFFFD" + `[31mtext
NotApplicable webhook.response.order and 1 more: cannot be judged while webhook.response.uid fails
NotApplicable webhook.batch.mixed-versions: needs three versions
KnownFailing webhook.response.uid: issue 12
`
	for strict, headline := range map[bool]string{
		false: "Does not conform: 1 of 9 requirements failed",
		true:  "Does not conform: 2 of 9 requirements failed",
	} {
		var out strings.Builder
		summarize(streams{out: &out}, reported(strict))
		if got, want := out.String(), notes+headline+", in 12.3 s\n"; got != want {
			t.Errorf("strict %t: got:\n%s\nwant:\n%s", strict, got, want)
		}
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
			if got := strings.HasSuffix(out.String(), "\n"+color+strings.ReplaceAll(report.Headline(), "\x1b", "\uFFFD")+plain+", in 0.0 s\n"); got != colored {
				t.Errorf("%s, colored %t: %q", outcome, colored, out.String())
			}
			if strings.Contains(out.String(), "\x1b[2J") {
				t.Errorf("%s: a command gets through: %q", outcome, out.String())
			}
		}
	}
}

func TestSummaryOfLoad(t *testing.T) {
	report := &reports.Report{Load: &reports.Load{Stages: []reports.Stage{{
		Rate: 100, Duration: 1, Batch: 1, Pairs: []reports.Pair{{From: "v1beta1", To: "v1"}}, ReviewVersion: "v1", HTTP: "HTTP/1.1", Requests: 100, Judged: 100, Failed: 4,
		Errors:   map[string]uint64{"contract": 4},
		Response: reports.Times{P50: 1, P90: 2.345, P99: 3, P999: 4, Max: 5},
		Findings: []reports.LoadFinding{{Text: "one\x1b"}, {Text: "two"}, {Text: "three"}, {Text: "four"}},
	}}}}
	report.Conclude()
	var out strings.Builder
	summarize(streams{out: &out, width: 100}, report)
	for _, line := range report.Load.Lines() {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("there is no %q in\n%s", line, out.String())
		}
	}
	if got := out.String(); !strings.Contains(got, "one\uFFFD") || strings.Contains(got, "four") || !strings.HasSuffix(got, report.Headline()+", in 0.0 s\n") {
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
	if _, _, err := logTo(path); err == nil || !strings.HasPrefix(err.Error(), "the log of the API server: ") || !strings.Contains(err.Error(), path) {
		t.Errorf("in a folder that is missing: %v", err)
	}
	path = filepath.Join(t.TempDir(), "apiserver.log")
	_, end, err := logTo(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
