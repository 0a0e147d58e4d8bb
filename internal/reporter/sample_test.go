package reporter

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

var update = flag.Bool("update", false, "write the golden files again")

// hostile is what a webhook would send to get into a report as something else than text.
const hostile = "</pre></details><script>alert(1)</script><img src=https://example.org/x onerror=alert(2)>\n" +
	"]]> --> <![CDATA[ &lt; &#0; {{.Headline}} ' \" \x00 \x1b[31mred\x1b[0m \u009b2J \ufffe \xff\xfe \u202egnihtyna\r\n" +
	"| a | b |\r# heading\n```\n~~~~\n````` [link](https://example.org) *bold* _thin_ $x$ \\"

// sample is a report with every verdict, in which whatever comes from outside is hostile.
func sample(t *testing.T) *reports.Report {
	t.Helper()
	r := &reports.Report{
		Tool:    "v0.1.0",
		Command: "crdconform run --seed 7 --samples '" + hostile + "'",
		Started: time.Date(2026, 11, 21, 9, 31, 5, 600e6, time.UTC),
		Seconds: 83.25, HarnessSeconds: 2.125,
		Seed:    7,
		Cluster: &reports.Cluster{Name: "embedded", Version: "v1.37.2", WatchCache: true},
		Webhook: &reports.Webhook{
			URL: "https://127.0.0.1:9443/convert?<b>" + hostile,
			Kinds: []reports.Kind{
				{
					Definition: "widgets.example.com", Group: "example.com", Kind: "Wid|get<script>", Versions: []string{"v1alpha1", "v1beta1", "v1"},
					Samples: 2, Generated: 50, Lossy: []string{"spec.legacy: v1 has no place for it " + hostile}, Gaps: []string{"spec.pattern: no string was found for the pattern " + hostile},
				},
				{Definition: "gadgets.example.com", Group: "example.com", Kind: "Gadget", Versions: []string{"v1", "v2"}, Samples: 1},
			},
		},
		Notes:   []string{"gizmos.example.com has one version only and was left out", hostile},
		Results: slices.Concat(results(), ofDefinitions()),
		Load:    load(t),
	}
	Conclude(r)
	return r
}

// results has a result for each verdict, and more.
func results() []reports.Result {
	result := func(id requirement.ID, level requirement.Level, v requirement.Verdict, reason string) reports.Result {
		return reports.Result{
			Requirement: requirement.Requirement{
				ID: id, Rows: []string{"R1"}, Level: level, Binds: requirement.Webhook,
				Statement: "The response has the uid of the request | it answers, as `request.uid` says.",
				Source:    []requirement.Source{{Document: "versions-1", Line: 412, Section: "Response"}, {Document: "server"}},
				Since:     requirement.Minor{Major: 1, Minor: 16},
			},
			Spec:     "converts an object and compares <uid>",
			Location: "suites/webhook/response.go:31",
			Verdict:  v,
			Reason:   reason,
			Seconds:  0.0125,
			Rerun:    "crdconform run --filter " + string(id) + " --seed 7",
		}
	}
	all := []reports.Result{
		result("versions.served.read", requirement.Must, requirement.Passed, ""),
		result("versions.served.write", requirement.Should, requirement.NotApplicable, "needs a look into storage, which a cluster of this sort does not grant"),
		result("conversion.answer.uid", requirement.Must, requirement.Failed, "got the uid \""+hostile+"\"\nwant the uid \"b6c5\""),
		result("conversion.answer.order", requirement.Must, requirement.Tolerated, hostile),
		result("conversion.answer.status", requirement.Must, requirement.KnownFailing, "https://example.com/issues/7\n"+hostile),
		result("conversion.meta.labels", requirement.Must, requirement.Errored, "no connection: "+hostile),
		result("conversion.meta.name", requirement.Must, requirement.Passed, ""),
		result("storage.rewrite.all", requirement.Must, requirement.Unknown, "never ran"),
		result("storage.rewrite.order", requirement.Must, requirement.Failed, strings.Repeat("<long>", 2000)),
	}
	failed := &all[2]
	failed.Note = "One document says so, and another <i>does not</i>."
	failed.Output = "sent 3 objects\n" + hostile
	failed.Curl = "curl -i --data-binary @exchanges/conversion.answer.uid/request.json 'https://127.0.0.1:9443/convert?timeout=30s'"
	failed.Files = []reports.File{
		{Path: "exchanges/conversion.answer.uid/request.json", Data: []byte(`{"kind":"ConversionReview"}`)},
		{Path: "exchanges/conversion.answer.uid/a \"name\"?<b>#1%.txt", Data: []byte(hostile)},
	}
	return all
}

// ofDefinitions has results about two definitions, in no order.
func ofDefinitions() []reports.Result {
	result := func(subject string, id requirement.ID, v requirement.Verdict, reason string) reports.Result {
		dir := "exchanges/" + subject + "/" + string(id) + "/"
		r := reports.Result{
			Requirement: requirement.Requirement{
				ID: id, Level: requirement.Must, Binds: requirement.Webhook, Statement: "Nothing gets lost on the way there and back.",
				Why: "A kubectl edit at v1 deletes what it does not show.", Source: []requirement.Source{{Document: "versions-1", Line: 7, Section: "Overview"}},
			},
			Subject: subject, Spec: "converts there and back", Location: "suites/webhook/trips.go:52", Verdict: v, Reason: reason,
			Rerun: "crdconform check --definition " + subject + " --filter " + string(id) + " --seed 7",
		}
		if v == requirement.Failed || v == requirement.Tolerated {
			r.Curl = "curl -i --data-binary @" + dir + "request.json https://127.0.0.1:9443/convert"
			r.Files = []reports.File{
				{Path: dir + "object.yaml", Data: []byte("spec:\n  name: " + strings.ReplaceAll(hostile, "\n", "\n    ") + "\n")},
				{Path: dir + "request.json", Data: []byte("{}")},
				{Path: dir + "reproduce.sh", Data: []byte("#!/bin/sh\n")},
				{Path: dir + "response.json", Data: []byte("{}")},
			}
		}
		return r
	}
	all := []reports.Result{
		result("widgets.example.com", "conversion.trip.back", requirement.Failed, "v1 -> v2 -> v1: spec.name: expected \"a\", got nothing\nobject: {\"spec\":{\"name\":\"a\"}}"),
		result("gadgets.example.com", "conversion.trip.back", requirement.Tolerated, "v1 -> v2 -> v1: metadata.creationTimestamp: expected nothing, got null"),
		result("widgets.example.com", "conversion.trip.order", requirement.Passed, ""),
		result("gadgets.example.com", "conversion.trip.three", requirement.NotApplicable, "needs three versions; there are 2"),
	}
	all[0].Findings = []reports.FieldFinding{
		{Field: "spec.name" + hostile, Effect: "lost", From: "v1", To: "v2", Message: "v1 -> v2 -> v1: spec.name: expected \"a\", got " + hostile},
		{Field: "spec.legacy", Effect: "lost", From: "v1", To: "v2", Lacking: true, Message: "v1 -> v2 -> v1: spec.legacy: expected 1, got nothing (v2 has no field of that name)"},
	}
	all[1].Files[0].Data = []byte(strings.Repeat("- a line of many\n", 41))
	all[3].Immaterial = true
	return all
}

func load(t *testing.T) *loadgen.Load {
	t.Helper()
	stage := loadgen.Stage{
		Name: "constant", Repeat: 1, Rate: 200, Duration: 30, Phases: []loadgen.Phase{{Seconds: 30, Rate: 200, To: 200}},
		Batch: 10, ReviewVersion: "v1", Pairs: []loadgen.Pair{{From: "v1beta1", To: "v1"}}, HTTP: "HTTP/1.1",
		Seconds: 30.021, Requests: 6000, Objects: 60000, Judged: 6000, Failed: 3, RequestsPerSecond: 199.86, ObjectsPerSecond: 1997.6,
		BytesSent: 61234567, BytesReceived: 59876543,
		Response: times(t, "response", sampleHistogram(1250)), Service: times(t, "service", sampleHistogram(1000)), Lag: times(t, "lag", sampleHistogram(20)),
		Late: 12, LateAfter: 10, Series: series(30, 200, 10, 1.25),
		Generator:  loadgen.Generator{ProcessorSeconds: 12.75, Cores: 2, Collections: 41, Paused: 0.096, Waited: 0.32},
		Errors:     map[string]uint64{"timeout": 1, "failed": 2},
		Violations: map[requirement.ID]uint64{"conversion.answer.uid": 2, "conversion.answer.order": 40},
		Findings: []loadgen.Finding{
			{Request: 17, Requirement: "conversion.answer.uid", Text: hostile, Files: []reports.File{
				{Path: "load/1-17-request.json", Data: []byte(`{"kind":"ConversionReview"}`)}, {Path: "load/1-17-response", Data: []byte(hostile)},
			}},
			{Request: 18, Requirement: "conversion.answer.order", Tolerated: true, Text: "again"},
		},
	}
	return &loadgen.Load{
		Profile: "constant", Stages: []loadgen.Stage{stage},
		Objectives: []loadgen.Objective{
			{Stage: "constant", Name: "p99", Limit: 10, Measured: 12.135, Unit: "ms"},
			{Stage: "constant", Name: "errors", Limit: 0.01, Measured: 0.0005, Unit: "share", Met: true},
		},
	}
}

// series has a second for each second, of which one in the middle is slow.
func series(seconds, rate, batch int, fastest float64) []loadgen.Second {
	var all []loadgen.Second
	for i := range seconds {
		slow := 1 + float64(i%7)/10
		if i == seconds/2 {
			slow = 5
		}
		all = append(all, loadgen.Second{
			End: float64(i + 1), Requests: uint64(rate), Objects: uint64(rate * batch),
			P50: 3 * fastest * slow, P90: 5 * fastest * slow, P99: 7 * fastest * slow, Max: 9 * fastest * slow,
		})
	}
	return all
}

// sampleHistogram has 6000 times, of which the slowest are many times the fastest.
func sampleHistogram(fastest int64) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	for i := range int64(6000) {
		slow := i / 100
		if err := h.RecordValue(fastest + fastest*slow*slow/400 + fastest*max(0, i-5990)); err != nil {
			panic(err)
		}
	}
	return h
}

// times sums a histogram up. Its encoding is taken from a file, as how well the standard library compresses is not ours.
func times(t *testing.T, name string, h *hdrhistogram.Histogram) loadgen.Times {
	t.Helper()
	summed := histogram.Times(h)
	file := filepath.Join("testdata", name+".hdr")
	if *update {
		if err := os.WriteFile(file, []byte(summed.Histogram+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	summed.Histogram = strings.TrimSpace(string(encoded))
	return summed
}

// written returns what one form of a report is.
func written[T any](t *testing.T, v T, form func(T, io.Writer) error) []byte {
	t.Helper()
	return writtenBy(t, func(w io.Writer) error { return form(v, w) })
}

func writtenBy(t *testing.T, form func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := form(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tool returns the path of a program that the test needs. Without it the test is skipped, unless tools are required.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
		t.Fatalf("none of %v is on PATH, and CRDCONFORM_REQUIRE_TOOLS is set", names)
	}
	t.Skipf("none of %v is on PATH", names)
	return ""
}

func TestGolden(t *testing.T) {
	r, l := sample(t), grid(t)
	for name, form := range forms(r) {
		golden(t, name, writtenBy(t, form))
	}
	golden(t, "grid.html", written(t, l, HTML))
	golden(t, "grid.xml", written(t, l, JUnit))
	golden(t, "grid.md", written(t, l, Markdown))
	golden(t, "grid.txt", []byte(strings.Join(LoadLines(l.Load, Columns), "\n")+"\n"))
}

// golden compares a text with a golden file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Error(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %s; go test ./internal/reporter -update writes it again", name, difference(got, want))
	}
}

// difference says where two texts part.
func difference(got, want []byte) string {
	lines, wanted := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	i := 0
	for i < min(len(lines), len(wanted)) && lines[i] == wanted[i] {
		i++
	}
	line := func(of []string) string {
		return fmt.Sprintf("%.300q", strings.Join(of[min(i, len(of)):min(i+1, len(of))], ""))
	}
	return fmt.Sprintf("%d lines, want %d; line %d is\n  %s, want\n  %s", len(lines), len(wanted), i+1, line(lines), line(wanted))
}

// forms are all forms of a report, by file.
func forms(r *reports.Report) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"report.json": func(w io.Writer) error { return JSON(r, w) }, "report.html": func(w io.Writer) error { return HTML(r, w) }, "junit.xml": func(w io.Writer) error { return JUnit(r, w) }, "summary.md": func(w io.Writer) error { return Markdown(r, w) },
		"latency.json": func(w io.Writer) error { return JSON(r.Load, w) }, "latency.hgrm": func(w io.Writer) error { return hgrm(r.Load.Stages[0].Response, w) }, "latency.csv": func(w io.Writer) error { return stageCSV(r.Load.Stages[0], w) },
	}
}

// one is a load test of one stage.
func one(s loadgen.Stage) *loadgen.Load { return &loadgen.Load{Stages: []loadgen.Stage{s}} }

// with is a load test with objectives.
func with(l *loadgen.Load, objectives ...loadgen.Objective) *loadgen.Load {
	l.Objectives = objectives
	return l
}
