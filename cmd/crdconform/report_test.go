package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
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
NotApplicable webhook.response.kind and 1 more: cannot be judged while webhook.response.uid fails
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
	report := &reports.Report{Load: &reports.Load{
		Rate: 100, Duration: 1, Batch: 1, From: "v1beta1", To: "v1", ReviewVersion: "v1", HTTP: "HTTP/1.1", Requests: 100, Failed: 4,
		Errors:        map[string]uint64{"contract": 4},
		Response:      reports.Times{P50: 1, P90: 2.345, P99: 3, P999: 4, Max: 5},
		FirstFindings: []string{"one", "two\x1b", "three", "four"},
	}}
	report.Conclude()
	var out strings.Builder
	summarize(streams{out: &out}, report)
	want := "\nload         " + report.Load.Headline() + `
             response p50 1.00, p90 2.35, p99 3.00, p99.9 4.00, max 5.00 ms
             one
             two` + "\uFFFD" + `
             three
` + report.Headline() + ", in 0.0 s\n"
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestResultsOf(t *testing.T) {
	results := []suites.Result{{
		Requirement: "webhook.response.uid", Text: "compares", Verdict: requirement.Failed, Reason: "because", Location: "/elsewhere/x.go:1",
		Duration: 1500 * time.Millisecond, Output: "said", Attachments: []suites.Attachment{{Name: "request.json", Data: []byte("{}")}},
	}, {Requirement: "storage.update.rewrites", Verdict: requirement.Passed}}
	got := resultsOf(results,
		func(r *suites.Result) { r.Reason += ", revised" },
		func(id requirement.ID) string { return "again " + string(id) },
		func(dir string) string { return "curl " + dir })
	if len(got) != 2 {
		t.Fatalf("got %v", got)
	}
	r := got[0]
	if r.ID != "webhook.response.uid" || r.Statement == "" || r.Spec != "compares" || r.Verdict != requirement.Failed || r.Reason != "because, revised" ||
		r.Location != "/elsewhere/x.go:1" || r.Seconds != 1.5 || r.Output != "said" || r.Rerun != "again webhook.response.uid" || r.Curl != "curl exchanges/webhook.response.uid" {
		t.Errorf("got %+v", r)
	}
	if len(r.Files) != 1 || r.Files[0].Path != "exchanges/webhook.response.uid/request.json" || string(r.Files[0].Data) != "{}" {
		t.Errorf("got the files %v", r.Files)
	}
	if r := got[1]; len(r.Files) > 0 || r.Curl != "" || r.ID != "storage.update.rewrites" {
		t.Errorf("got %+v", r)
	}
	if results[0].Reason != "because" {
		t.Error("what it was given is changed")
	}
}

func TestLoadOf(t *testing.T) {
	histogram := func(us int64) *hdrhistogram.Histogram {
		h := hdrhistogram.New(1, 1000000, 3)
		h.RecordValue(us)
		return h
	}
	s := loadgen.Summary{
		Workload: loadgen.Workload{Rate: 50, Duration: 2 * time.Second, Batch: 3, ReviewVersion: "v1beta1", Pair: corpus.Pair{From: "v1", To: "v2"}},
		Elapsed:  2 * time.Second, Partial: true, Requests: 100, Objects: 300, Good: 90, BytesIn: 7, BytesOut: 8,
		Response: histogram(1000), Service: histogram(2000), Lag: histogram(3000), Late: 5,
		Errors:     map[loadgen.Kind]uint64{loadgen.Timeout: 10},
		Violations: map[requirement.ID]uint64{"webhook.response.in-time": 10},
		Findings: []loadgen.Finding{{Request: 3, Violation: contract.Violation{
			Requirement: "webhook.response.in-time", Object: -1, Path: "HTTP response", Expected: "one", Actual: "none",
		}}},
	}
	for spoken, protocol := range map[string]string{"HTTP/1.1": "HTTP/1.1", "HTTP/2.0": "HTTP/2", "": "HTTP"} {
		s.Protocol = spoken
		l, err := loadOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if l.Rate != 50 || l.Duration != 2 || l.Batch != 3 || l.ReviewVersion != "v1beta1" || l.From != "v1" || l.To != "v2" || l.HTTP != protocol || l.Seconds != 2 {
			t.Errorf("the workload is %+v", l)
		}
		if l.Requests != 100 || l.Objects != 300 || l.Failed != 10 || l.RequestsPerSecond != 50 || l.ObjectsPerSecond != 135 || l.BytesReceived != 7 || l.BytesSent != 8 {
			t.Errorf("the counts are %+v", l)
		}
		if l.Response.P50 != 1 || l.Service.P50 != 2 || l.Lag.P50 < 3 || l.Late != 5 || l.VoidReason == "" || !l.Partial || l.Errors["timeout"] != 10 || l.Violations["webhook.response.in-time"] != 10 {
			t.Errorf("the times and errors are %+v", l)
		}
		if want := "request 3: webhook.response.in-time: HTTP response: expected one, got none"; len(l.FirstFindings) != 1 || l.FirstFindings[0] != want {
			t.Errorf("the findings are %q, want %q", l.FirstFindings, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"":                        "''",
		"plain":                   "plain",
		"https://a-b.c:1/d_e@f=g": "https://a-b.c:1/d_e@f=g",
		"a,b+c":                   "a,b+c",
		"two words":               "'two words'",
		"it's":                    `'it'\''s'`,
		"$HOME":                   "'$HOME'",
		"a;b":                     "'a;b'",
		"*":                       "'*'",
		"~/x":                     "'~/x'",
		"ä":                       "'ä'",
		"a\nb":                    "'a\nb'",
		`back\slash`:              `'back\slash'`,
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// TestGivenFlags has them come out as they can go in again.
func TestGivenFlags(t *testing.T) {
	cmd := newRun(streams{})
	if got := givenFlags(cmd); len(got) > 0 {
		t.Errorf("without any: %q", got)
	}
	args := []string{"--filter", "storage,*.uid", "--filter=versions", "--strict", "--load-duration", "90s", "--report-dir", "my reports"}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	want := "--filter='storage,*.uid,versions' --load-duration=1m30s --report-dir='my reports' --strict=true"
	if got := strings.Join(givenFlags(cmd), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLogOfTheServer is about the file alone: the log itself is the whole process's.
func TestLogOfTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "apiserver.log")
	if _, err := logTo(path); err == nil || !strings.HasPrefix(err.Error(), "the log of the API server: ") || !strings.Contains(err.Error(), path) {
		t.Errorf("in a folder that is missing: %v", err)
	}
	path = filepath.Join(t.TempDir(), "apiserver.log")
	end, err := logTo(path)
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
