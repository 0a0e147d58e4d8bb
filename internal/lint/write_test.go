package lint

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// TestGitLab has a report be what GitLab reads: a list, each entry with its place, a severity that GitLab knows, and a fingerprint of its
// own that stays when lines move.
func TestGitLab(t *testing.T) {
	findings := []Diagnostic{
		{Rule: "type-differs", Level: Note, Definition: "a", Path: "spec.b", File: "/x/crds/a b.yaml", Line: 3, Message: "<one>"},
		{Rule: "type-differs", Level: Warning, Definition: "a", Path: "spec.b", File: "./crds/a b.yaml", Line: 9, Message: "two"},
		{Rule: "no-versions", Level: Error, Definition: "a", File: "crds/a b.yaml", Line: 1, Message: "three"},
	}
	written := func() (all []gitlabFinding) {
		var b bytes.Buffer
		if err := (&Report{Findings: findings}).GitLab(&b); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	first := written()
	for i, want := range []gitlabFinding{
		{"<one>", "type-differs", first[0].Fingerprint, "info", gitlabLocation{"a b.yaml", gitlabLines{3}}},
		{"two", "type-differs", first[1].Fingerprint, "minor", gitlabLocation{"crds/a b.yaml", gitlabLines{9}}},
		{"three", "no-versions", first[2].Fingerprint, "critical", gitlabLocation{"crds/a b.yaml", gitlabLines{1}}},
	} {
		if !reflect.DeepEqual(first[i], want) {
			t.Errorf("%+v, want %+v", first[i], want)
		}
	}
	sums := map[string]bool{}
	for i := range findings {
		findings[i].Line += 7
		sums[first[i].Fingerprint] = true
	}
	for i, moved := range written() {
		if moved.Fingerprint != first[i].Fingerprint {
			t.Errorf("the fingerprint of %q is not what it was", moved.Description)
		}
	}
	if len(sums) != 3 {
		t.Errorf("there are %d fingerprints", len(sums))
	}
}
