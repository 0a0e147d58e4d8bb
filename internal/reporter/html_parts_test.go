package reporter

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMismatches has reasons be taken apart where they say what was expected of a field, and nowhere else.
func TestMismatches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		want   []mismatch
	}{
		"fields on their way": {
			"v1 -> v2 -> v1: spec.port: expected 80, got nothing\n    also v2 -> v1 -> v2; v3 -> v1 -> v3\nv1 -> v2 -> v1: spec.a: expected \"x\", got \"y\", which becomes the default\nobject: {}",
			[]mismatch{
				{Where: "v1 -> v2 -> v1", Also: "v2 -> v1 -> v2; v3 -> v1 -> v3", Field: "spec.port", Expected: "80", Actual: "nothing"},
				{Where: "v1 -> v2 -> v1", Field: "spec.a", Expected: `"x"`, Actual: `"y"`, Remark: "which becomes the default"},
			},
		},
		"remarks": {
			"a: expected 1, got nothing, which becomes the default 3 (v2 has no field of that name)\nb: expected \"\", got nothing (empty)\n" +
				"c: expected \"s\", got \"t\" (v2 has c as a number)\nd: expected 4 of 4, got 3 of 4\ne: expected 1, got nothing at all",
			[]mismatch{
				{Field: "a", Expected: "1", Actual: "nothing", Remark: "which becomes the default 3 (v2 has no field of that name)"},
				{Field: "b", Expected: `""`, Actual: "nothing", Remark: "empty"},
				{Field: "c", Expected: `"s"`, Actual: `"t"`, Remark: "v2 has c as a number"},
				{Field: "d", Expected: "4 of 4", Actual: "3 of 4"},
				{Field: "e", Expected: "1", Actual: "nothing at all"},
			},
		},
		"a field alone":         {"spec.port: expected 80, got 81", []mismatch{{Field: "spec.port", Expected: "80", Actual: "81"}}},
		"values with the words": {`a: expected "b, got c", got {"d": ", got e"}`, []mismatch{{Field: "a", Expected: `"b, got c"`, Actual: `{"d": ", got e"}`}}},
		"an introduction":       {"reading at v1:\nspec.a: expected [1], got []", []mismatch{{Where: "reading at v1", Field: "spec.a", Expected: "[1]", Actual: "[]"}}},
		"no field":              {"v1 -> v1: expected the object as it is, got a failure", []mismatch{{Where: "v1 -> v1", Expected: "the object as it is", Actual: "a failure"}}},
		"other words":           {"expected it to answer, but it did not\nno connection", nil},
		"nothing":               {"", nil},
		"many":                  {strings.Repeat("a: expected 1, got 2\n", 60), slices.Repeat([]mismatch{{Field: "a", Expected: "1", Actual: "2"}}, mostMismatches)},
	} {
		if diff := cmp.Diff(test.want, mismatches(test.reason)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLinked has issues and pages of Kubernetes be links, and nothing else.
func TestLinked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see kubernetes/kubernetes#91338.":            `see <a href="https://github.com/kubernetes/kubernetes/issues/91338" rel="noreferrer">kubernetes/kubernetes#91338</a>.`,
		"https://github.com/a/b/issues/7\n<b>":        `<a href="https://github.com/a/b/issues/7" rel="noreferrer">https://github.com/a/b/issues/7</a>` + "\n&lt;b&gt;",
		"https://kubernetes.io/docs/x/#y, and so on":  `<a href="https://kubernetes.io/docs/x/#y" rel="noreferrer">https://kubernetes.io/docs/x/#y</a>, and so on`,
		"https://kubernetes.io.example.org/docs/":     "https://kubernetes.io.example.org/docs/",
		"https://github.com/a/b/issues/7x":            "https://github.com/a/b/issues/7x",
		"https://example.org/\" onclick=alert(1) #1":  "https://example.org/&#34; onclick=alert(1) #1",
		"javascript:alert(1) text/plain#a apps/v1 #7": "javascript:alert(1) text/plain#a apps/v1 #7",
	} {
		if got := string(linked(text)); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
	}
}
