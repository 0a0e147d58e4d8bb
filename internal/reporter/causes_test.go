package reporter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// lossy is a report on definitions that all lose the same two fields, one of them by design.
func lossy(definitions int) *reports.Report {
	r := &reports.Report{Webhook: &reports.Webhook{}}
	for n := range definitions {
		k := reports.Kind{Definition: fmt.Sprintf("kind%d.example.com", n), Group: "example.com", Kind: fmt.Sprintf("Kind%d", n)}
		r.Webhook.Kinds = append(r.Webhook.Kinds, k)
		add := func(id requirement.ID, v requirement.Verdict, reason string, findings ...reports.FieldFinding) {
			r.Results = append(r.Results, reports.Result{
				Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Subject: k.Definition, Verdict: v, Reason: reason, Findings: findings,
			})
		}
		of := func(field, from, to string, lacking bool) reports.FieldFinding {
			return reports.FieldFinding{Field: field, Effect: "lost", From: from, To: to, Lacking: lacking, Message: from + " -> " + to + ": " + field + ": expected 1, got nothing"}
		}
		add("area.trip.back", requirement.Failed, "lost", of("spec.legacy", "v1", "v2", true), of("spec.legacy", "v1", "v3", true), of("spec.ports[*].name", "v1", "v2", false))
		add("area.trip.zeros", requirement.Failed, "lost", of("spec.ports[*].name", "v3", "v2", false))
		add("area.trip.sizes", requirement.Errored, "no answer")
		add("area.trip.order", requirement.Errored, "no answer")
		add("area.trip.tolerated", requirement.Tolerated, "added", reports.FieldFinding{Field: "spec.x", Effect: "added"})
		if n == 1 {
			add("area.trip.uid", requirement.Failed, "expected a, got b")
		}
	}
	Conclude(r)
	return r
}

// TestCauses groups what has one cause, and puts first what looks like a bug and breaks most.
func TestCauses(t *testing.T) {
	t.Parallel()
	type cause struct{ What, Extent, Pairs, Example string }
	var got []cause
	for _, c := range Causes(lossy(3)) {
		got = append(got, cause{c.What, c.Extent(), strings.Join(c.Pairs, ", "), c.Example})
	}
	want := []cause{
		{"spec.ports[*].name is lost, though both versions have it", "3 definitions; area.trip.back and 1 more", "v1 -> v2, v3 -> v2", "v1 -> v2: spec.ports[*].name: expected 1, got nothing"},
		{"area.trip.uid", "kind1.example.com", "", "expected a, got b"},
		{"spec.legacy is lost: v2 and v3 have no field of that name", "3 definitions; area.trip.back", "v1 -> v2, v1 -> v3", "v1 -> v2: spec.legacy: expected 1, got nothing"},
		{"area.trip.sizes and 1 more", "3 definitions", "", "no answer"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLossyIsConfiguration has a configuration file take what is written: what may be meant, and nothing that looks like a bug.
func TestLossyIsConfiguration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		report *reports.Report
		want   int
	}{"losses": {lossy(2), 4}, "none": {&reports.Report{}, 0}, "hostile": {sample(t), 1}} {
		text := string(written(t, test.report, Lossy))
		c, err := config.Parse("crdconform.yaml", []byte("apiVersion: crdconform.dev/v1alpha1\nkind: Config\n"+text))
		if err != nil {
			t.Fatalf("%s: %v:\n%s", name, err, text)
		}
		matches := func(path string) bool {
			return slices.ContainsFunc(c.Lossy, func(l config.Lossy) bool { return l.Matches("example.com", "Kind0", "v1", "v3", path) })
		}
		if len(c.Lossy) != test.want || name == "losses" && (!matches("spec.legacy.mode") || matches("spec.ports[0].name") || !strings.Contains(text, "\n# - path: \"spec.ports[*].name\"\n#   group: ")) {
			t.Errorf("%s: it has %d entries, want %d:\n%s", name, len(c.Lossy), test.want, text)
		}
	}
}
