package reporter

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// disrupted is a report of three disruptions: one that goes well, one that fails, and one that is void.
func disrupted() *reports.Report {
	r := &reports.Report{Tool: "v0.1.0", Command: "crdconform disrupt"}
	for i, id := range []requirement.ID{"disruption.restart.graceful", "disruption.restart.killed", "disruption.pause.one-second"} {
		d := reports.Disruption{
			Requirement: id, Subject: "widgets.example.com", Title: "SIGTERM " + hostile, Began: 2, Ended: 4, Ready: new(4.5), Seconds: 8, Operations: 4000,
			Recovery: new(0.5), SinceReady: new(0.0), FirstSuccess: new(0.5), Marks: []reports.DisruptionMark{{Name: "fault began", Seconds: 2, Text: hostile}},
		}
		verdict := []requirement.Verdict{requirement.Passed, requirement.Failed, requirement.Errored}[i]
		for n := range 40 {
			p := reports.DisruptionPoint{Seconds: float64(n+1) / 5, Succeeded: 500, P50: 2, P99: 8, Memory: 50 << 20}
			if i == 1 && n >= 10 && n < 25 {
				p.Succeeded, p.Failed, p.P99 = 200, 300, 120
			}
			d.Points = append(d.Points, p)
		}
		if i == 1 {
			d.Failed, d.Outage, d.FirstFailure, d.Lost, d.Objective = 900, 2.51, new(0.01), 1, "failed=0"
			for n := range mostFailures + 2 {
				d.Failures = append(d.Failures, reports.DisruptionFailure{Verb: "get", Version: fmt.Sprintf("v%d", n), Error: "timeout", Count: 40 - n, Stored: n == 3, Example: hostile})
			}
		}
		reason := hostile
		if i == 2 {
			d.Void = []string{"the machine was busy " + hostile}
			reason = "void: " + d.Void[0]
		}
		r.Disruptions = append(r.Disruptions, d)
		r.Results = append(r.Results, reports.Result{Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Subject: "widgets.example.com", Verdict: verdict, Reason: reason})
	}
	Conclude(r)
	return r
}

// TestHistoriesAreCopied has the report of a disruption be written once more, to another folder.
func TestHistoriesAreCopied(t *testing.T) {
	t.Parallel()
	r, dir := disrupted(), t.TempDir()
	r.Artifacts = []reports.File{{Path: "histories/a.jsonl", Data: []byte("{}")}, {Path: "cluster/a.log", Data: []byte("{}")}}
	folder, err := Open(dir)
	if err == nil {
		err = folder.Write(r)
	}
	for _, file := range r.Artifacts {
		if _, missing := os.Stat(filepath.Join(dir, file.Path)); err != nil || missing != nil {
			t.Errorf("%s: %v, %v", file.Path, err, missing)
		}
	}
}

// TestDisruptionForms compares the forms of disruptions with golden files.
func TestDisruptionForms(t *testing.T) {
	r := disrupted()
	page := string(written(t, r, HTML))
	golden(t, "disruption.md", written(t, r, Markdown))
	_, section, _ := strings.Cut(page, "<h2>Disruptions</h2>")
	section, _, _ = strings.Cut(section, "</section>")
	if n := strings.Count(section, "<svg"); n != 3 {
		t.Errorf("there are %d charts", n)
	}
	for _, want := range []string{
		`<td class="number" data-of="watches gone">0</td><td class="passed">Passed</td>`,
		`<td class="number" data-of="failed">900</td><td class="number" data-of="outage s">2.51</td><td class="number" data-of="recovery s">0.50</td>`,
		`<td class="number" data-of="failed">void</td>`, "and 2 more, all of them in report.json", "Objectives: failed=0.",
		`aria-label="Course of the disruption: The fault lasted from 2.0 s to 4.0 s of 8.0 s. Before it, 500 operations a second succeeded, with a p99 of up to 8 ms. ` +
			`Meanwhile, 200 operations a second succeeded and 300 failed, with a p99 of up to 120 ms.`,
		"The first failure came 0.01 s after its beginning. Everything was as before 0.50 s after its end, 0.00 s after the webhook was ready.",
		"Nothing failed. Everything was as before", "storage version",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(section, "the machine was busy") || !strings.Contains(page, "void: the machine was busy") {
		t.Error("why a scenario is void is not given with its requirement alone")
	}
	for _, bad := range []string{"<script>alert", "<b>", "<img"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if strings.Contains(string(written(t, new(reports.Report), HTML)), "<h2>Disruptions") {
		t.Error("a report without disruptions has a section for them")
	}
}

// TestCourseChart reads the drawing as XML.
func TestCourseChart(t *testing.T) {
	for _, d := range disrupted().Disruptions {
		chart := courseChart(d)
		texts, shapes := textsOf(t, string(chart))
		for _, name := range []string{"p99", "p50", "succeeded", "fault", "ready", "milliseconds", "operations per second", "MiB", "seconds"} {
			if !texts[name] {
				t.Errorf("%s is not in the chart: %v", name, texts)
			}
		}
		if texts["failed"] != (d.Failed > 0) {
			t.Errorf("failed: %v", texts["failed"])
		}
		// In each of three charts the time of the fault is an area.
		if strings.Count(string(chart), "fill-opacity=") != 3 {
			t.Errorf("the fault is not shaded: %d shapes", shapes)
		}
	}
	without := disrupted().Disruptions[0]
	for i := range without.Points {
		without.Points[i].Memory = 0
	}
	without.Ready = nil
	chart := courseChart(without)
	if texts, _ := textsOf(t, string(chart)); texts["MiB"] || texts["ready"] || !texts["seconds"] {
		t.Errorf("got %v", texts)
	}
	for _, points := range [][]reports.DisruptionPoint{nil, without.Points[:1]} {
		if chart := courseChart(reports.Disruption{Points: points}); chart != "" {
			t.Errorf("%d points: got %.20s", len(points), chart)
		}
	}
	// What ended nowhere, and lasted no time, is drawn too.
	still := reports.Disruption{Seconds: 1, Points: []reports.DisruptionPoint{{Seconds: 0.5}, {Seconds: 1}}}
	if chart := courseChart(still); !strings.Contains(string(chart), "<svg") || strings.Contains(string(chart), "NaN") {
		t.Errorf("got %s", chart)
	}
}

// textsOf returns the texts of a drawing, and how many shapes it has.
func textsOf(t *testing.T, drawing string) (texts map[string]bool, shapes int) {
	t.Helper()
	texts = map[string]bool{}
	for decoder := xml.NewDecoder(bytes.NewReader([]byte(drawing))); ; {
		token, err := decoder.Token()
		if err == io.EOF { //nolint:errorlint // as documented
			return texts, shapes
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			texts[strings.TrimSpace(string(token))] = true
		case xml.StartElement:
			if token.Name.Local == "path" {
				shapes++
			}
		}
	}
}
