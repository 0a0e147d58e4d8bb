package reporter

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// upgrades has an upgrade of two definitions.
func upgrades() []reports.Leg {
	cells := func(widget, gadget reports.LegCell) []reports.LegCell {
		widget.Definition, gadget.Definition = "widgets.example.com", "gadgets.example.com"
		return []reports.LegCell{widget, gadget}
	}
	return []reports.Leg{{
		From: "v1/crds", To: "v2/crds " + hostile, Return: []string{"widgets.example.com: before anything is written, the old definition can be put back.", hostile},
		Kinds: []reports.LegKind{
			{Definition: "widgets.example.com", Kind: "Widget", Objects: 120, Stored: map[string]int{"v1beta1": 100, "v1": 20}, Served: []string{"v1"}, Storage: "v1"},
			{Definition: "gadgets.example.com", Kind: "Gad|get<b>", Storage: "v1"},
		},
		Steps: []reports.LegStep{
			{Name: "drop", Title: "check whether removed versions are still needed", Seconds: 0.5, Cells: cells(
				reports.LegCell{Verdict: requirement.Passed, Objects: 120}, reports.LegCell{Verdict: requirement.NotApplicable, Reason: "there are no objects of it " + hostile})},
			{Name: "read", Title: "get, list and watch", Seconds: 2, Cells: cells(
				reports.LegCell{Verdict: requirement.Failed, Objects: 120, Found: 3}, reports.LegCell{Verdict: requirement.NotApplicable})},
		},
		Findings: []reports.LegFinding{
			{
				Requirement: "upgrade.read.get", Verdict: requirement.Failed, Step: "read", Definition: "widgets.example.com", Namespace: "default", Name: "b<script>", Version: "v1",
				Message: "it cannot be read", Count: 3, Others: []string{"default/c", hostile}, Commands: []string{"kubectl get widgets b", hostile},
			},
			{
				Requirement: "upgrade.back.content", Verdict: requirement.Tolerated, Step: "back", Definition: "widgets.example.com", Namespace: "default", Name: "a", Version: "v1", Field: "spec.a", Before: "1", Message: hostile, Count: 1,
			},
		},
	}}
}

// upgraded is a report of an upgrade.
func upgraded() *reports.Report {
	r := &reports.Report{Tool: "v0.1.0", Command: "crdconform rehearse", Upgrade: upgrades(), Results: []reports.Result{
		{Requirement: requirement.Requirement{ID: "upgrade.read.get", Level: requirement.Must}, Subject: "widgets.example.com", Verdict: requirement.Failed, Reason: "default/b: it cannot be read"},
		{Requirement: requirement.Requirement{ID: "upgrade.back.content", Level: requirement.Should}, Subject: "widgets.example.com", Verdict: requirement.Tolerated, Reason: hostile},
	}}
	Conclude(r)
	return r
}

// TestUpgradeForms compares the forms of an upgrade with golden files.
func TestUpgradeForms(t *testing.T) {
	r := upgraded()
	page := written(t, r, HTML)
	golden(t, "upgrade.html", page)
	golden(t, "upgrade.md", written(t, r, Markdown))
	golden(t, "upgrade.xml", written(t, r, JUnit))
	for _, bad := range []string{"<script>alert", "<b>", "<img"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	last := 0
	for _, line := range []string{"read: default/b&lt;script&gt;: it cannot be read <small>(and 2 more)</small>", "back: default/a: "} {
		at := strings.Index(string(page), line)
		if n := strings.Count(string(page), line); n != 1 || at < last { // what fails comes first
			t.Errorf("%q is there %d times, at %d", line, n, at)
		}
		last = at
	}
	if !strings.Contains(string(page), `<br><small><a href="#problem-upgrade.read.get%40widgets.example.com">upgrade.read.get</a></small></td>`) {
		t.Error("the step does not lead to what it found")
	}
}

func TestLegTable(t *testing.T) {
	leg := upgrades()[0]
	for columns, want := range map[int]string{
		100: "step  Widget           Gad|get<b>\ndrop  Passed 120       -\nread  Failed 3 of 120  -",
		30:  "step  Widget\ndrop  Passed 120\nread  Failed 3 of 120\nand 1 definition more, in report.html",
	} {
		if got := strings.Join(LegTable(leg, columns), "\n"); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got, want)
		}
	}
	if got := StepSummary(leg.Steps[1]); got != "Failed: 3 findings of 120 objects" {
		t.Error(got)
	}
	if got := StepSummary(reports.LegStep{Cells: []reports.LegCell{{Verdict: requirement.NotApplicable, Reason: "why"}}}); got != "not judged: why" {
		t.Error(got)
	}
	explained := reports.LegStep{Cells: []reports.LegCell{{Verdict: requirement.Passed, Objects: 3}, {Verdict: requirement.NotApplicable, Objects: 6, Reason: "why"}}}
	if got := StepSummary(explained); got != "NotApplicable: why" {
		t.Error(got)
	}
	explained.Cells[0].Verdict, explained.Cells[0].Found = requirement.Failed, 2
	if got := StepSummary(explained); got != "Failed: 2 findings of 9 objects" {
		t.Error(got)
	}
	if got := LegFindingText(leg.Findings[0]); !strings.HasPrefix(got, "widgets.example.com default/b<script>: it cannot be read\nand 2 more: default/c, ") || !strings.Contains(got, "\n    kubectl get widgets b") {
		t.Error(got)
	}
}

// TestUpgradesAreCompared compares two rehearsals, and merges them.
func TestUpgradesAreCompared(t *testing.T) {
	before, now := upgraded(), upgraded()
	now.Results[0].Verdict, now.Upgrade[0].Kinds[0].Objects = requirement.Passed, 130
	Conclude(now)
	changes, err := Since(now, "before", before)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes.Requirements) != 1 || changes.Requirements[0].Sort != reports.NewlyPassing {
		t.Errorf("got %+v", changes.Requirements)
	}
	if notes := strings.Join(changes.Notes, "\n"); !strings.Contains(notes, "with 120 objects of 2 definitions before") || !strings.Contains(notes, "with 130 objects of 2 definitions now") {
		t.Errorf("notes %q", notes)
	}
	merged, err := Merge([]string{"a", "b"}, []*reports.Report{before, now})
	if err != nil || len(merged.Upgrade) != 2 || merged.Results[0].Verdict != requirement.Failed {
		t.Errorf("merged: %+v, %v", merged, err)
	}
	bad := upgraded()
	bad.Upgrade[0].Findings[0].Requirement = hostile
	if _, err := reports.Read(written(t, bad, JSON[reports.Report])); err == nil || !strings.Contains(err.Error(), "is not the ID of a requirement") {
		t.Errorf("a report with a strange requirement: %v", err)
	}
}

// TestStepsOnce shows the steps of one definition once, and where to look for what is found elsewhere.
func TestStepsOnce(t *testing.T) {
	t.Parallel()
	leg := upgrades()[0]
	leg.Steps[0].Cells[0] = reports.LegCell{Definition: leg.Kinds[0].Definition, Verdict: requirement.NotApplicable, Reason: explanation.ExplainedBy + "upgrade.read.content"}
	leg.Kinds = leg.Kinds[:1]
	if got := strings.Join(LegTable(leg, 80), "\n"); !strings.Contains(got, "drop  see upgrade.read.content\n") {
		t.Error(got)
	}
	for stepped, want := range map[bool]bool{true: false, false: true} {
		if got := summary(Screen{Stepped: stepped}, &reports.Report{Upgrade: []reports.Leg{leg}}); strings.Contains(got, "step  Widget") != want {
			t.Errorf("stepped %t: %s", stepped, got)
		}
	}
}
