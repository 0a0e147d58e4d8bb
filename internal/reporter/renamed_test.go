package reporter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestRenamed has fields of several versions that are one at the stored version, and one cause for these.
func TestRenamed(t *testing.T) {
	t.Parallel()
	of := func(field, version, home string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: "changed", From: version, To: "v4", Home: home, Message: "it is so"}
	}
	instead := func(field, version, has string) reports.FieldFinding {
		f := of(field, version, "")
		f.Instead = has
		return f
	}
	inPlace := func(field, version, place string) reports.FieldFinding {
		f := instead(field, version, place+" in its place")
		f.Place = place
		return f
	}
	some := of("spec.a", "v1", "spec.a")
	some.Kept = true
	meant := of("spec.c", "v3", "spec.a")
	meant.When = "where it is so"
	result := func(field, effect, version string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: effect, From: "v4", To: version, Message: "it is so"}
	}
	several := func(field, version, to, list string) reports.FieldFinding {
		return reports.FieldFinding{Field: field, Effect: "lost", From: version, To: to, When: "where " + list + " has several items", Message: "it is so"}
	}
	for name, test := range map[string]struct {
		findings []reports.FieldFinding
		want     []string
	}{
		"three names":              {[]reports.FieldFinding{of("spec.a.b", "v1", "spec.a.b"), of("spec.c[*]", "v2", "spec.a.b.c"), of("spec.d", "v3", "spec.a.b")}, []string{"spec.a.b is changed, and so is spec.c[*] at v2 and spec.d at v3"}},
		"two fields of a version":  {[]reports.FieldFinding{of("spec.a", "v1", "spec.a"), of("spec.b", "v1", "spec.b"), of("spec.c", "v2", "spec")}, []string{"spec.a is changed", "spec.b is changed", "spec.c is changed"}},
		"two names at one version": {[]reports.FieldFinding{of("spec.a", "v1", "spec.a"), of("spec.b", "v1", "spec.a")}, []string{"spec.a is changed", "spec.b is changed"}},
		"other circumstances":      {[]reports.FieldFinding{of("spec.a", "v1", "spec.a"), meant}, []string{"spec.a is changed", "spec.c is changed where it is so"}},
		"in place of the other":    {[]reports.FieldFinding{inPlace("spec.b", "v2", "spec.a"), instead("spec.a", "v1", "spec.b as a list")}, []string{"spec.b is changed, and so is spec.a at v1: v4 has spec.b as a list"}},
		"other values are kept":    {[]reports.FieldFinding{inPlace("spec.b", "v2", "spec.a"), some}, []string{"spec.b is changed, and so is spec.a at v1"}},
		"several of two names":     {[]reports.FieldFinding{several("spec.a[*].x", "v1", "v2", "spec.a"), several("spec.b[*].x", "v2", "v1", "spec.b")}, []string{"spec.a[*].x is lost where spec.a has several items, and so is spec.b[*].x at v2"}},
		"several, but others": {[]reports.FieldFinding{several("spec.a[*].x", "v1", "v2", "spec.a"), several("spec.b[*].y", "v2", "v1", "spec.b"), several("spec.d", "v2", "v1", "spec.c")}, []string{
			"spec.a[*].x is lost where spec.a has several items", "spec.b[*].y is lost where spec.b has several items", "spec.d is lost where spec.c has several items",
		}},
		"several, on other ways":    {[]reports.FieldFinding{several("spec.a[*].x", "v1", "v2", "spec.a"), several("spec.b[*].x", "v2", "v3", "spec.b")}, []string{"spec.a[*].x is lost where spec.a has several items", "spec.b[*].x is lost where spec.b has several items"}},
		"several of one version":    {[]reports.FieldFinding{several("spec.a[*].x", "v1", "v2", "spec.a"), several("spec.b[*].x", "v1", "v2", "spec.b")}, []string{"spec.a[*].x is lost where spec.a has several items", "spec.b[*].x is lost where spec.b has several items"}},
		"a result that is invalid":  {[]reports.FieldFinding{of("spec.a", "v1", "spec.b"), result("spec.a", "invalid", "v1"), of("spec.b", "v4", "spec.b")}, []string{"spec.a is changed or invalid, and so is spec.b at v4"}},
		"what differs by the way":   {[]reports.FieldFinding{inPlace("spec.b", "v2", "spec.a"), result("spec.b", "differs", "v2"), of("spec.a", "v4", "")}, []string{"spec.b differs or is changed, and so is spec.a at v4"}},
		"nothing known of the home": {[]reports.FieldFinding{of("spec.a", "v1", ""), of("spec.b", "v2", "")}, []string{"spec.a is changed", "spec.b is changed"}},
	} {
		r := &reports.Report{Results: []reports.Result{{Requirement: requirement.Requirement{ID: "area.trip.back"}, Verdict: requirement.Failed, Findings: test.findings}}}
		Conclude(r)
		var got []string
		for _, c := range Causes(r) {
			got = append(got, c.What)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
