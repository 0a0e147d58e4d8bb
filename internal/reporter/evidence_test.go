package reporter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

func TestParts(t *testing.T) {
	files := func(names ...string) []reports.File {
		var all []reports.File
		for _, name := range names {
			all = append(all, reports.File{Path: "exchanges/widgets.example.com/a.b.c/" + name, Data: []byte("data\n")})
		}
		return all
	}
	full := reports.Result{
		Requirement: requirement.Requirement{ID: "a.b.c", Statement: "it holds", Why: "or else", Note: "so they say", Source: []requirement.Source{{Document: "server"}}},
		Spec:        "looks", Location: "a.go:1", Verdict: requirement.Failed, Reason: "\nv1 -> v2: spec.a: expected 1, got 2\nobject: {}\n",
		Rerun: "crdconform again", Curl: "curl it", Files: files("response.json", "reproduce.sh", "request.json", "object.yaml"),
	}
	where := []Part{{Name: "spec", Text: "looks (a.go:1)"}, {Name: "source", Text: "server"}}
	for name, test := range map[string]struct {
		result reports.Result
		want   []Part
	}{
		"nothing": {reports.Result{}, []Part{}},
		"everything": {full, append([]Part{
			{Name: "expected and actual", Text: "v1 -> v2: spec.a: expected 1, got 2\nobject: {}", Code: true},
			{Name: "smallest object", Text: "data", Code: true, Files: files("object.yaml")},
			{Name: "why it matters", Text: "or else"},
			{Name: "send it again, in the report folder", Text: "curl it", Code: true, Files: files("reproduce.sh", "request.json")},
			{Name: "re-run this requirement only", Text: "crdconform again", Code: true},
		}, append(where, Part{Name: "note", Text: "so they say"}, Part{Name: "more files", Files: files("response.json")})...)},
		"an object alone": {reports.Result{Verdict: requirement.Tolerated, Reason: "null", Files: files("object.yaml")}, []Part{
			{Name: "expected and actual", Text: "null", Code: true}, {Name: "smallest object", Text: "data", Code: true, Files: files("object.yaml")},
		}},
		"commands":       {reports.Result{Files: files("reproduce.sh", "object.yaml")}, []Part{{Name: "object", Text: "data", Code: true, Files: files("object.yaml")}, {Name: "commands, in order", Files: files("reproduce.sh")}}},
		"objects":        {reports.Result{Files: files("1/object.yaml", "2/object.yaml")}, []Part{{Name: "smallest object", Code: true, Files: files("1/object.yaml", "2/object.yaml")}}},
		"errored":        {reports.Result{Verdict: requirement.Errored, Reason: "no"}, []Part{{Name: "reason", Text: "no", Code: true}}},
		"not applicable": {reports.Result{Verdict: requirement.NotApplicable, Reason: "no"}, []Part{{Name: "reason", Text: "no", Code: true}}},
		"immaterial":     {reports.Result{Verdict: requirement.NotApplicable, Immaterial: true, Reason: "no"}, []Part{{Name: "reason (does not affect the verdict)", Text: "no", Code: true}}},
		"a violation": {reports.Result{Requirement: requirement.Requirement{ID: "webhook.batch.order"}, Verdict: requirement.Tolerated}, []Part{
			{Name: "what to do", Text: "Keep no state between objects, and return those at the desired version unchanged."},
		}},
		"no violation": {reports.Result{Requirement: requirement.Requirement{ID: "webhook.batch.order"}, Verdict: requirement.Errored}, []Part{}},
		"half a spec":  {reports.Result{Spec: "looks"}, []Part{{Name: "spec", Text: "looks"}}},
		"half a place": {reports.Result{Location: "a.go:1"}, []Part{{Name: "spec", Text: "a.go:1"}}},
	} {
		if diff := cmp.Diff(test.want, resultParts(test.result)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestObjectInFull expects an object in full when that is no more than a reader takes in.
func TestObjectInFull(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		full bool
	}{
		"none, as in a report read back":   {"", false},
		"40 lines":                         {strings.Repeat("a: b\n", 40), true},
		"41 lines":                         {strings.Repeat("a: b\n", 41), false},
		"41 lines as old computers ended":  {strings.Repeat("a: b\r", 41), false},
		"40 lines and empty ones":          {strings.Repeat("a: b\n", 40) + "\n\n\r\n", true},
		"a line of 4000 characters":        {strings.Repeat("a", 4000), true},
		"a line of 4001 characters":        {strings.Repeat("a", 4001), false},
		"what is not text":                 {"\xff\x00\x1b", true},
		"a fence, and the end of a script": {"```\n</pre>", true},
	} {
		r := reports.Result{Files: []reports.File{{Path: "exchanges/object.yaml", Data: []byte(test.text)}}}
		got := objectPart(r)
		want := ""
		if test.full {
			want = strings.TrimRight(test.text, "\r\n")
		}
		if got.Text != want || len(got.Files) != 1 {
			t.Errorf("%s: got %q with %d files, want %q with its file", name, got.Text, len(got.Files), want)
		}
	}
}

// TestFieldNames has what others read be called as they know it.
func TestFieldNames(t *testing.T) {
	r := sample(t)
	r.Results[0].Why, r.Results[0].Immaterial = "or else", true
	var got struct {
		Notes          []string         `json:"notes"`
		HarnessSeconds float64          `json:"harnessSeconds"`
		Webhook        map[string]any   `json:"webhook"`
		Results        []map[string]any `json:"results"`
		Load           map[string]any   `json:"load"`
	}
	if err := json.Unmarshal(written(t, r, JSON), &got); err != nil {
		t.Fatal(err)
	}
	if got.HarnessSeconds != 2.125 || len(got.Notes) != 2 {
		t.Errorf("got %g s and %d notes", got.HarnessSeconds, len(got.Notes))
	}
	if first := got.Results[0]; first["why"] != "or else" || first["immaterial"] != true || first["subject"] != nil {
		t.Errorf("got %v", first)
	}
	if last := got.Results[len(got.Results)-1]; last["subject"] != "gadgets.example.com" {
		t.Errorf("got %v", last)
	}
	kinds, _ := got.Webhook["kinds"].([]any)
	want := map[string]any{
		"definition": "gadgets.example.com", "group": "example.com", "kind": "Gadget", "versions": []any{"v1", "v2"}, "samples": 1.0, "generated": 0.0,
	}
	if diff := cmp.Diff([]any{want}, kinds[1:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	objectives, _ := got.Load["objectives"].([]any)
	want = map[string]any{"stage": "constant", "name": "p99", "limit": 10.0, "measured": 12.135, "unit": "ms", "met": false}
	if diff := cmp.Diff([]any{want}, objectives[:1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestObjectOfTheUser expects an object without what API servers fill in, unless that is what the reason is about.
func TestObjectOfTheUser(t *testing.T) {
	const object = "metadata:\n  creationTimestamp: \"2019-09-04T14:03:02Z\"\n  generation: 1\n  name: a\n  resourceVersion: \"143\"\n  uid: b\nspec:\n  uid: c"
	for reason, want := range map[string]string{
		"v1 -> v2 -> v1: spec.uid: expected c":      "metadata:\n  name: a\nspec:\n  uid: c",
		"v1 -> v2: metadata.uid: expected b":        "metadata:\n  name: a\n  uid: b\nspec:\n  uid: c",
		"object 1: metadata.generation: it is gone": "metadata:\n  generation: 1\n  name: a\nspec:\n  uid: c",
	} {
		got := objectPart(reports.Result{Reason: reason, Files: []reports.File{{Path: "exchanges/object.yaml", Data: []byte(object + "\n")}}})
		if got.Text != want {
			t.Errorf("%s: got\n%s\nwant\n%s", reason, got.Text, want)
		}
	}
}
