package engine

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// TestResults translates a result with evidence and one without.
func TestResults(t *testing.T) {
	results := []suites.Result{{
		Requirement: "webhook.response.uid", Text: "compares", Verdict: requirement.Failed, Reason: "because", Location: "/elsewhere/x.go:1",
		Duration: 1500 * time.Millisecond, Output: "said", Attachments: []suites.Attachment{{Name: "request.json", Data: []byte("{}")}},
	}, {Requirement: "storage.update.rewrites", Verdict: requirement.Passed}}
	p := &Plan{known: map[requirement.ID]string{"webhook.response.uid": "issue 12"}}
	p.want.RerunCommand = func(definition string, id requirement.ID) string { return "again " + definition + string(id) }
	got := p.results("crontabs.example.com", results)
	if len(got) != 2 {
		t.Fatalf("got %v", got)
	}
	r := got[0]
	if r.ID != "webhook.response.uid" || r.Statement == "" || r.Spec != "compares" || r.Verdict != requirement.KnownFailing || r.Reason != "issue 12\nbecause" || r.Subject != "crontabs.example.com" ||
		r.Location != "/elsewhere/x.go:1" || r.Seconds != 1.5 || r.Output != "said" || r.Rerun != "again webhook.response.uid" || r.Curl != "sh exchanges/crontabs.example.com/webhook.response.uid/reproduce.sh" {
		t.Errorf("got %+v", r)
	}
	if len(r.Files) != 1 || r.Files[0].Path != "exchanges/crontabs.example.com/webhook.response.uid/request.json" || string(r.Files[0].Data) != "{}" {
		t.Errorf("got the files %v", r.Files)
	}
	if r := got[1]; len(r.Files) > 0 || r.Curl != "" || r.ID != "storage.update.rewrites" {
		t.Errorf("got %+v", r)
	}
	if results[0].Reason != "because" {
		t.Error("what it was given is changed")
	}
}

func TestStageOf(t *testing.T) {
	histogram := func(us int64) *hdrhistogram.Histogram {
		h := hdrhistogram.New(1, 1000000, 3)
		h.RecordValue(us)
		return h
	}
	s := load.Summary{
		Workload: load.Workload{Phases: load.Constant(50, 2*time.Second), Batch: 3, ReviewVersion: "v1beta1", Pairs: []corpus.Pair{{From: "v1", To: "v2"}}},
		Elapsed:  2 * time.Second, Partial: true, Requests: 100, Objects: 300, Good: 90, Accepted: 270, BytesIn: 7, BytesOut: 8,
		Response: histogram(1000), Service: histogram(2000), Lag: histogram(3000), Late: 5,
		Errors:     map[load.Kind]uint64{load.Timeout: 10},
		Violations: map[requirement.ID]uint64{"webhook.response.in-time": 10},
		Findings: []loadgen.Finding{{Request: 3, Requirement: "webhook.response.in-time", Text: contract.Violation{
			Requirement: "webhook.response.in-time", Object: -1, Path: "HTTP response", Expected: "one", Actual: "none",
		}.String()}},
	}
	for spoken, protocol := range map[string]string{"HTTP/1.1": "HTTP/1.1", "HTTP/2.0": "HTTP/2", "": "HTTP"} {
		s.Protocol = spoken
		l := s.Stage()
		if l.Rate != 50 || l.Duration != 2 || l.Batch != 3 || l.ReviewVersion != "v1beta1" || l.Pairs[0] != (loadgen.Pair{From: "v1", To: "v2"}) || l.HTTP != protocol || l.Seconds != 2 {
			t.Errorf("the workload is %+v", l)
		}
		if l.Requests != 100 || l.Objects != 300 || l.Failed != 10 || l.RequestsPerSecond != 45 || l.SentPerSecond != 0.5 || l.ObjectsPerSecond != 135 || l.BytesReceived != 7 || l.BytesSent != 8 {
			t.Errorf("the counts are %+v", l)
		}
		if l.Response.P50 != 1 || l.Service.P50 != 2 || l.Lag.P50 < 3 || l.Late != 5 || l.VoidReason == "" || !l.Partial || l.Errors["timeout"] != 10 || l.Violations["webhook.response.in-time"] != 10 {
			t.Errorf("the times and errors are %+v", l)
		}
		if want := (loadgen.Finding{Request: 3, Requirement: "webhook.response.in-time", Text: "HTTP response: expected one, got none"}); len(l.Findings) != 1 || !reflect.DeepEqual(l.Findings[0], want) {
			t.Errorf("the findings are %+v, want %+v", l.Findings, want)
		}
	}
}

// TestStageOfLostWorkers has the stage say which workers are lost, whatever else makes it void.
func TestStageOfLostWorkers(t *testing.T) {
	h := hdrhistogram.New(1, 1000, 3)
	s := load.Summary{
		Workload: load.Workload{Phases: load.Constant(50, 2*time.Second)}, Requests: 100, Good: 100, Response: h, Service: h, Lag: h, Partial: true, Workers: 2,
		Lost: []load.Lost{{Part: load.Part{Index: 1, Of: 2}, Share: 0.5, Reason: "exit status 137"}},
	}
	lost := "50 % of the requests are missing from all figures: worker 2 of 2: exit status 137; find the cause, and run it again"
	for late, want := range map[uint64]string{0: "", 50: "the generator was too busy: 50 of 100 requests were sent late because "} {
		s.Late = late
		if l := s.Stage(); !strings.HasPrefix(l.VoidReason, want) || !strings.HasSuffix(l.VoidReason, lost) || (want == "") != (l.VoidReason == lost) || l.Workers != 2 {
			t.Errorf("got %+v, want %q", l, want)
		}
	}
}

func TestRevise(t *testing.T) {
	p := &Plan{known: map[requirement.ID]string{"webhook.response.uid": "issue 12"}, flaky: map[requirement.ID]string{"webhook.response.order": "issue 13"}}
	p.want.KnownFailingFile = "known.txt"
	passes := "it passes, but known.txt says that it fails; remove it from the list"
	for _, test := range []struct {
		id     requirement.ID
		before requirement.Verdict
		after  requirement.Verdict
		reason string
	}{
		{"webhook.response.uid", requirement.Failed, requirement.KnownFailing, "issue 12\nwas"},
		{"webhook.response.uid", requirement.Tolerated, requirement.KnownFailing, "issue 12\nwas"},
		{"webhook.response.uid", requirement.Passed, requirement.Failed, passes},
		{"webhook.response.uid", requirement.NotApplicable, requirement.NotApplicable, "was"},
		{"webhook.response.uid", requirement.Errored, requirement.Errored, "was"},
		{"webhook.response.uid", requirement.Unknown, requirement.Unknown, "was"},
		{"webhook.response.order", requirement.Failed, requirement.KnownFailing, "known to be flaky, and failed this time: issue 13\nwas"},
		{"webhook.response.order", requirement.Tolerated, requirement.KnownFailing, "known to be flaky, and failed this time: issue 13\nwas"},
		{"webhook.response.order", requirement.Passed, requirement.Passed, "known to be flaky, and passed this time: issue 13"},
		{"webhook.response.order", requirement.NotApplicable, requirement.NotApplicable, "was"},
		{"webhook.response.order", requirement.Errored, requirement.Errored, "was"},
		{"webhook.response.kind", requirement.Failed, requirement.Failed, "was"},
		{"webhook.response.kind", requirement.Passed, requirement.Passed, "was"},
	} {
		if verdict, reason := p.Revise(test.id, test.before, "was"); verdict != test.after || reason != test.reason {
			t.Errorf("%s, %s: %s, %q, want %s, %q", test.id, test.before, verdict, reason, test.after, test.reason)
		}
	}
}
