//go:build nightly

package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
)

// TestSubjectsByAllRequirements judges each webhook without a bug on an API server, and with each bug by all requirements.
func TestSubjectsByAllRequirements(t *testing.T) {
	for _, name := range subjects.Names() {
		t.Run(name, func(t *testing.T) {
			program := subjects.Build(t, name)
			t.Run("without bugs", func(t *testing.T) { blameless(t, program, config.Embedded) })
			for _, bug := range program.Bugs(t) {
				t.Run(bug, func(t *testing.T) { caught(t, program, bug, nil) })
			}
		})
	}
}

// TestLossyAdviceHidesNothing judges each webhook with each bug, declares all losses that the report proposes, and judges it once more: whatever
// else was found is found again.
func TestLossyAdviceHidesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range subjects.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := subjects.Build(t, name)
			for _, bug := range program.Bugs(t) {
				t.Run(bug, func(t *testing.T) { hidesNothing(t, program, bug) })
			}
		})
	}
}

func hidesNothing(t *testing.T, program *subjects.Program, bug string) {
	t.Helper()
	how := config.Config{APIServer: config.None, Filter: []string{"webhook.conversion", "webhook.failure"}, Skip: []string{"webhook.conversion.huge"}}
	before := ranWith(t, program, bug, how)
	for _, l := range reporter.Losses(before) {
		if !l.Meant {
			continue
		}
		path, err := fieldpath.ParsePattern(l.Path)
		if err != nil {
			t.Fatal(err)
		}
		how.Lossy = append(how.Lossy, config.Lossy{Path: path, Group: l.Group, Kind: l.Kind, From: l.From, Through: l.Through, Reason: "proposed"})
	}
	if len(how.Lossy) == 0 {
		return
	}
	t.Logf("declared: %v", how.Lossy)
	isDeclared := func(f reports.FieldFinding) bool {
		return f.Effect == "lost" && slices.ContainsFunc(how.Lossy, func(l config.Lossy) bool {
			return l.From == f.From && l.Through == f.To && fieldpath.Within(f.Field, l.Path.String())
		})
	}
	after := foundIn(ranWith(t, program, bug, how), isDeclared)
	for _, finding := range foundIn(before, isDeclared) {
		if !slices.Contains(after, finding) {
			t.Errorf("%v hides %s", how.Lossy, finding)
		}
	}
	if len(after) == 0 {
		t.Errorf("%v hides the bug", how.Lossy)
	}
}

// foundIn names what failed in a report, but for the findings that are left out.
func foundIn(r *reports.Report, left func(reports.FieldFinding) bool) []string {
	var all []string
	for _, result := range r.Results {
		if !r.Failing(result) {
			continue
		}
		if len(result.Findings) == 0 {
			all = append(all, string(result.ID))
		}
		for _, f := range result.Findings {
			if !left(f) {
				all = append(all, fmt.Sprintf("%s: %s is %s, %s -> %s", result.ID, f.Field, f.Effect, f.From, f.To))
			}
		}
	}
	return all
}
