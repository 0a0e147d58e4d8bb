package webhook

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestSwapIsReported has a webhook swap two fields. What is reported has both, each with the other, and no value is said to be expected that is there.
func TestSwapIsReported(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, required: [least, most], properties: {least: {type: integer}, most: {type: integer}}}}`)
	var moves []reports.FieldFinding
	for _, r := range equallyJudged(t, swapped("least", "most"), definition, 1) {
		if r.Requirement == requirement.WebhookConversionEqualFields {
			moves = append(moves, r.Findings...)
		}
	}
	seen := map[string]string{}
	for _, f := range moves {
		if f.Effect != "moved" {
			t.Errorf("%s is %s, want moved", f.Field, f.Effect)
		}
		seen[f.Field] = f.Instead
	}
	if seen["spec.least"] != "spec.most" || seen["spec.most"] != "spec.least" || len(seen) != 2 {
		t.Errorf("moved are %v", seen)
	}
}

// TestSeenIn has a field whose value is that of the other one in the first object, which shows nothing.
func TestSeenIn(t *testing.T) {
	t.Parallel()
	object := func(least, most int64) map[string]any {
		return map[string]any{"spec": map[string]any{"least": least, "most": most}}
	}
	got := seenIn((*corpus.Schema)(nil), "spec.most", "spec.most", []trial{{int64(0), object(0, 0)}, {int64(7), object(7, 0)}})
	if want := "spec.most: expected 7, got 0 (with 7 there instead of 0)"; !strings.HasPrefix(got, want) {
		t.Errorf("it is %q, want %q", got, want)
	}
}
