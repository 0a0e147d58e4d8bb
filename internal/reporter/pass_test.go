package reporter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// passing is the report of a run in which hundreds of requirements pass, and some are not applicable for some reasons.
func passing(reasons int) *reports.Report {
	r := &reports.Report{Cluster: &reports.Cluster{Name: "embedded", Version: "v1.37.2"}, Seed: 7, Tool: "v1", Command: "crdconform run"}
	judged := slices.DeleteFunc(requirement.All(), func(entry requirement.Requirement) bool { return entry.Untested != "" || entry.Command != "" })
	for i, entry := range judged {
		result := reports.Result{Requirement: entry, Verdict: requirement.Passed, Spec: "does it", Seconds: 0.1, Rerun: "crdconform run --filter " + string(entry.ID) + " --seed 7"}
		if i%14 == 0 {
			result.Verdict, result.Reason, result.Immaterial = requirement.NotApplicable, fmt.Sprintf("there is no thing %d", i/14%reasons), true
		}
		r.Results = append(r.Results, result)
	}
	Conclude(r)
	return r
}

// TestPassIsShort holds the summary of a run that passes to few lines, with a line for each reason why something was not judged.
func TestPassIsShort(t *testing.T) {
	t.Parallel()
	for reasons, last := range map[int]string{1: "there is no thing 0", 3: "there is no thing 2", 40: "more, all of them in report.html"} {
		text := string(written(t, passing(reasons), Markdown))
		if n := strings.Count(text, "\n"); n > 15 {
			t.Errorf("with %d reasons there are %d lines:\n%s", reasons, n, text)
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if got := lines[len(lines)-1]; !strings.HasSuffix(got, last) || strings.Count(text, "NotApplicable: ") > reasons {
			t.Errorf("with %d reasons the last line is %q, want %q at its end", reasons, got, last)
		}
	}
	r := passing(3)
	r.Webhook = &reports.Webhook{Kinds: []reports.Kind{{Definition: "widgets.example.com", Gaps: slices.Repeat([]string{"at v1: no field is nullable"}, 20)}}}
	if text := string(written(t, r, Markdown)); !strings.Contains(text, "there is no thing 2\n") || strings.Count(text, "\n") > 15 {
		t.Errorf("what could not be generated leaves no room for what was not judged:\n%s", text)
	}
	r.Results[1].Verdict = requirement.Failed
	Conclude(r)
	if text := string(written(t, r, Markdown)); !strings.Contains(text, "\n## Failed\n") || !strings.Contains(text, "\n## NotApplicable\n") {
		t.Error("a run that fails is as short")
	}
}

// TestPageOfAPass holds the page of a run that passes to a size that can be mailed. What was not judged is at the top, and each requirement
// in its chapter.
func TestPageOfAPass(t *testing.T) {
	t.Parallel()
	r := passing(5)
	page := string(written(t, r, HTML))
	if n := len(page); n > 200_000 {
		t.Errorf("the page of %d requirements has %d bytes", len(r.Results), n)
	}
	top, _, _ := strings.Cut(page, "<h2>Chapters</h2>")
	for _, want := range []string{"Conforms: ", "Kubernetes v1.37.2", "crdconform v1", "</span> " + string(r.Results[0].ID) + " and ", ": there is no thing 4</li>"} {
		if !strings.Contains(top, want) {
			t.Errorf("the top of the page lacks %q:\n%s", want, top)
		}
	}
	for _, result := range r.Results {
		row, verdict := `<tr id=`+string(result.ID), "" // without a verdict it passed
		if result.Verdict != requirement.Passed {
			verdict = ` data-verdict=` + strings.ToLower(result.Verdict.String())
		}
		if !strings.Contains(page, row+verdict+">") && !strings.Contains(page, row+verdict+" data-level=") {
			t.Errorf("%s is not in its chapter", result.ID)
		}
	}
	if strings.Count(page, `data-level=MUST`) > 0 || !strings.Contains(page, `data-level=SHOULD`) {
		t.Error("the levels are not those that the script takes them for")
	}
}

// TestPageOfACheckThatPasses leaves the requests and responses of what is put up with to the folder of the report. They are on the page of one
// that fails.
func TestPageOfACheckThatPasses(t *testing.T) {
	t.Parallel()
	r := passing(5)
	r.Results = slices.Clone(r.Results[:76])
	for i := range 10 {
		r.Results[3*i+1].Verdict = requirement.Tolerated
		r.Results[3*i+1].Files = []reports.File{{Path: "evidence/request.json", Data: []byte(`{"long": "` + strings.Repeat("x", 10_000) + `"}`)}}
	}
	Conclude(r)
	page := string(written(t, r, HTML))
	if n := len(page); n > 200_000 || strings.Contains(page, "xxxx") {
		t.Errorf("the page of %d requirements has %d bytes", len(r.Results), n)
	}
	if !strings.Contains(page, "evidence/request.json") {
		t.Error("the page does not lead to the file")
	}
	r.Results[0].Verdict = requirement.Failed
	Conclude(r)
	if page := string(written(t, r, HTML)); !strings.Contains(page, "xxxx") {
		t.Error("the page of a run that fails lacks requests")
	}
}

// TestTolerationsNameTheirFields has a result that is about several fields, of which its reason names the first.
func TestTolerationsNameTheirFields(t *testing.T) {
	t.Parallel()
	result := reports.Result{Requirement: requirement.All()[0], Verdict: requirement.Tolerated, Reason: "spec.a: it is so"}
	for fields, want := range map[string]string{"spec.a": "spec.a: it is so", "spec.a spec.a spec.b": "spec.a: it is so; also spec.b", "spec.a spec.b spec.c spec.d spec.e spec.f": "spec.a: it is so; also spec.b, spec.c, spec.d and 2 more"} {
		result.Findings = nil
		for field := range strings.FieldsSeq(fields) {
			result.Findings = append(result.Findings, reports.FieldFinding{Field: field, Message: field + ": it is so"})
		}
		got := unpassedResults(&reports.Report{Results: []reports.Result{result}}, whatever)
		if len(got) != 1 || got[0].reason != want {
			t.Errorf("with %s: got %v, want %q", fields, got, want)
		}
	}
}
