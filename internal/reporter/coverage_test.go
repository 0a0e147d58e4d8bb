package reporter_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestCoverageDecides gives a run that passed the coverage that it has: too little of it takes the full praise away, and less than the
// user wants the verdict.
func TestCoverageDecides(t *testing.T) {
	t.Parallel()
	of := func(from string, exercised int, never ...reports.FieldNote) reports.Coverage {
		return reports.Coverage{From: from, To: "other", Objects: 3, Total: 20, Exercised: exercised, Never: never}
	}
	a, b, c := reports.FieldNote{Path: "spec.a", Reason: "a rule\nwants more"}, reports.FieldNote{Path: "spec.b"}, reports.FieldNote{Path: "spec.\u001b[31mc"}
	for name, test := range map[string]struct {
		coverage []reports.Coverage
		least    float64
		outcome  reports.Outcome
		headline string
		line     string
	}{
		"nothing counted": {nil, 0.9, reports.Conformant, "Conforms: 1 requirement passed", ""},
		"all":             {[]reports.Coverage{of("v1", 20), of("v2", 20)}, 1, reports.Conformant, "Conforms: 1 requirement passed", "fields exercised: 40 of 40"},
		"enough":          {[]reports.Coverage{of("v1", 19, a), of("v2", 20)}, 0, reports.Conformant, "Conforms: 1 requirement passed", "fields exercised: 39 of 40; never: spec.a at v1 (a rule; wants more)"},
		"too little":      {[]reports.Coverage{of("v1", 17, a, b, c), of("v2", 20)}, 0, reports.Partial, "Conforms, not fully judged (too few fields were exercised): 1 requirement passed", "fields exercised: 37 of 40; never: spec.a at v1 (a rule; wants more); spec.b at v1; spec.\ufffd[31mc at v1"},
		"the least pair":  {[]reports.Coverage{of("v1", 20), of("v1", 16, a, a, a, b)}, 0, reports.Partial, "Conforms, not fully judged (too few fields were exercised): 1 requirement passed", "fields exercised: 16 of 20; never: spec.a at v1 (a rule; wants more); spec.a at v1 (a rule; wants more); spec.a at v1 (a rule; wants more); and 1 more"},
		"as much as wanted": {
			[]reports.Coverage{of("v1", 18)}, 0.9, reports.Conformant, "Conforms: 1 requirement passed", "fields exercised: 18 of 20",
		},
		"less than wanted": {
			[]reports.Coverage{of("v1", 19)}, 0.96, reports.Unjudged, "Could not judge all of it: 19 of 20 fields (95.0 %) were exercised, and 96 % must be", "fields exercised: 19 of 20",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reports.Report{
				Webhook: &reports.Webhook{MinCoverage: test.least, Kinds: []reports.Kind{{Definition: "widgets.example.com", Coverage: test.coverage}}},
				Results: []reports.Result{{Requirement: requirement.All()[0], Verdict: requirement.Passed}},
			}
			reporter.Conclude(r)
			if r.Outcome != test.outcome || reporter.Headline(r) != test.headline {
				t.Errorf("got %s: %s", r.Outcome, reporter.Headline(r))
			}
			if line := strings.Join(reporter.CoverageLines(r), "\n"); line != test.line {
				t.Errorf("got  %q\nwant %q", line, test.line)
			}
		})
	}
}

// TestCoverageOnThePage wants every field in the page, with the values that it was seen with, and the reasons for those that were not.
func TestCoverageOnThePage(t *testing.T) {
	t.Parallel()
	r := &reports.Report{
		Webhook: &reports.Webhook{Kinds: []reports.Kind{{Definition: "widgets.example.com", Coverage: []reports.Coverage{{
			From: "v1", To: "v2", Objects: 7, Total: 2, Exercised: 1,
			Never:      []reports.FieldNote{{Path: "spec.never", Reason: "<no value>"}},
			Impossible: []reports.FieldNote{{Path: "spec.impossible", Reason: "its minimum is more than its maximum"}},
			Metadata:   map[string]int{"a name with dots": 2, "no labels": 3},
			Fields:     []reports.FieldCoverage{{Path: "spec.some", Seen: map[string]int{"absent": 1, "other": 6}}},
		}}}}},
		Results: []reports.Result{{Requirement: requirement.All()[0], Verdict: requirement.Passed}},
	}
	reporter.Conclude(r)
	var page bytes.Buffer
	if err := reporter.HTML(r, &page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"v1 to v2 and back: 1 of 2 fields exercised by 7 objects", "<code>spec.never</code>: &lt;no value&gt;",
		"<code>spec.impossible</code>: its minimum is more than its maximum", "objects with a name with dots: 2, no labels: 3",
		"<td><code>spec.some</code></td><td>other 6, absent 1</td>",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// TestWritten adds up what clients of an API server wrote by each verb, at all versions.
func TestWritten(t *testing.T) {
	t.Parallel()
	r := &reports.Report{Webhook: &reports.Webhook{Kinds: []reports.Kind{{
		Coverage: []reports.Coverage{{From: "v1", To: "v2", Total: 2, Exercised: 2}},
		Written: []reports.Coverage{
			{From: "v1", Verb: "create", Total: 3, Exercised: 3}, {From: "v1", Verb: "status"}, {From: "v2", Verb: "create", Total: 4, Exercised: 2}, {From: "v2", Verb: "scale", Total: 1, Exercised: 1},
		},
	}}}}
	want := "fields exercised: 2 of 2; written through the API server: create 5 of 7, scale 1 of 1"
	if got := reporter.CoverageLines(r); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
