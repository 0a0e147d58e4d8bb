package resource

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
)

// choices is a definition with fields to choose from.
const choices = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: choices.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: choices, kind: Choice}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              a: {type: object, properties: {x: {type: string}, y: {type: string}}}
              b: {type: string}
              c: {type: string}
`

// TestChoose has an object get as much as it can by one patch: each field from the donor that has most of what was not patched.
func TestChoose(t *testing.T) {
	t.Parallel()
	definitions, _, err := corpus.ReadDefinitions("file.yaml", []byte(choices))
	if err != nil {
		t.Fatal(err)
	}
	schema := definitions[0].Schema("v1")
	spec := func(fields map[string]any) map[string]any { return map[string]any{"spec": fields} }
	before := spec(map[string]any{"b": "first"})
	donors := []map[string]any{
		spec(map[string]any{"a": map[string]any{"x": "0"}, "b": "0"}),
		spec(map[string]any{"a": map[string]any{"x": "1", "y": "1"}, "b": "first"}),
		spec(map[string]any{"c": "2", "b": "2"}),
	}
	often := func(fields ...string) map[string]int {
		counts := map[string]int{}
		for _, field := range fields {
			counts[field] = enoughPatched
		}
		return counts
	}
	for name, test := range map[string]struct {
		turn, later int
		before      map[string]int
		want        map[string]string // from which donor each field is
		due         bool
	}{
		"from the one that has most":          {turn: 1, later: 2, want: map[string]string{"spec.a": "1", "spec.b": "2", "spec.c": "2"}},
		"where alike, the turn says whose":    {turn: 2, later: 2, want: map[string]string{"spec.a": "1", "spec.b": "0", "spec.c": "2"}},
		"too few objects come after it":       {turn: 1, later: 1, want: map[string]string{"spec.a": "1", "spec.b": "2", "spec.c": "2"}, due: true},
		"nothing of what was patched enough":  {turn: 1, later: 0, before: often("spec\x00a", "spec.a.x", "spec\x00b", "spec.b", "spec\x00c", "spec.c"), want: map[string]string{"spec.a": "1"}, due: true},
		"nothing once everything was patched": {turn: 1, later: 0, before: often("spec\x00a", "spec.a.x", "spec.a.y", "spec\x00b", "spec.b", "spec\x00c", "spec.c"), want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := patched{version: "v1", turn: test.turn, later: test.later, writes: map[gift][]string{}, given: map[gift]bool{}, done: map[string]bool{}, before: test.before}
			chosen, due := p.choose(schema, before, donors)
			got := map[string]string{}
			for _, e := range chosen {
				value, isText := e.value.(string)
				if inner, is := e.value.(map[string]any); !isText && is {
					value = inner["x"].(string)
				}
				got[strings.Join(e.path, ".")] = value
			}
			if !maps.Equal(got, test.want) || due != test.due {
				t.Errorf("got %v, due %t; want %v, due %t", got, due, test.want, test.due)
			}
			if again, _ := p.choose(schema, before, donors); slices.ContainsFunc(again, func(e edit) bool { return got[strings.Join(e.path, ".")] == e.value }) {
				t.Errorf("it gets the same again: %v", again)
			}
		})
	}
}

// TestPatchedBefore has fields that a form of patches has changed be changed by another form once, and by the same one as often as before.
func TestPatchedBefore(t *testing.T) {
	t.Parallel()
	json, merge := jsonPatch(), mergePatch()
	r := &round{chapter: &chapter{patched: map[pass]formed{
		{"v1", "v2", true}: {json.form, map[string]int{"spec.a": 2, "spec.b": 1}},
	}}}
	for name, test := range map[string]struct {
		by            patching
		version, at   string
		generated, is bool
		trial         *trial
	}{
		"another form":               {by: merge, version: "v1", at: "v2", generated: true, is: true},
		"the same form":              {by: json, version: "v1", at: "v2", generated: true},
		"objects of another kind":    {by: merge, version: "v1", at: "v2"},
		"objects of another version": {by: merge, version: "v2", at: "v2", generated: true},
		"at another version":         {by: merge, version: "v1", at: "v1", generated: true},
		"a trial of one object":      {by: merge, version: "v1", at: "v2", generated: true, trial: &trial{}},
	} {
		r.generated, r.trial = test.generated, test.trial
		want := map[string]int{}
		if test.is {
			want = map[string]int{"spec.a": enoughPatched - 1, "spec.b": enoughPatched - 1}
		}
		if got := r.patchedBefore(test.by, test.version, test.at); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
