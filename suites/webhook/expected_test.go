package webhook

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
)

// TestExpected has what the author expects differ from what the webhook answers, and not.
func TestExpected(t *testing.T) {
	t.Parallel()
	const input = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: a, annotations: {by: someone}}\nspec: {replicas: 3, sizes: [1, 2]}\n---\n"
	annotates := func(object map[string]any) { metadataOf(object, "annotations")["example.org/note"] = "kept" }
	for name, test := range map[string]struct {
		webhook stranger
		output  string
		verdict requirement.Verdict
		words   []string
	}{
		"as expected":        {stranger{}, "metadata: {name: a}\nspec: {replicas: 3, sizes: [1, 2]}", requirement.Passed, nil},
		"no annotations":     {stranger{change: annotates}, "metadata: {name: a}\nspec: {replicas: 3, sizes: [1, 2]}", requirement.Passed, nil},
		"another annotation": {stranger{change: annotates}, "metadata: {name: a, annotations: {by: someone}}\nspec: {replicas: 3, sizes: [1, 2]}", requirement.Failed, []string{"file.yaml:6: v1 -> v2: metadata.annotations['example.org/note']: expected nothing, got \"kept\""}},
		"another value":      {stranger{}, "metadata: {name: a}\nspec: {replicas: 4, sizes: [1, 2]}", requirement.Failed, []string{"file.yaml:6: v1 -> v2: spec.replicas: expected 4, got 3"}},
		"a field more":       {stranger{}, "metadata: {name: a}\nspec: {replicas: 3}", requirement.Failed, []string{"spec.sizes: expected nothing, got [1,2]"}},
		"a field less":       {stranger{}, "metadata: {name: a}\nspec: {replicas: 3, sizes: [1, 2], note: x}", requirement.Failed, []string{"spec.note: expected \"x\", got nothing"}},
		"several":            {stranger{}, "metadata: {name: a}\nspec: {replicas: 1, sizes: [2, 1]}", requirement.Failed, []string{"spec.replicas: expected 1, got 3", "spec.sizes"}},
		"a conversion refused": {stranger{converts: func(_, _ string, object map[string]any) string {
			if object["metadata"].(map[string]any)["name"] == "a" {
				return "not this one"
			}
			return ""
		}}, "metadata: {name: a}\nspec: {}", requirement.Failed, []string{"file.yaml:6: v1 -> v2: conversion failed", "not this one"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := manifest.Objects("file.yaml", []byte(input+"apiVersion: example.org/v2\nkind: Widget\n"+test.output))
			if err != nil {
				t.Fatal(err)
			}
			expectations, err := corpus.Expectations(map[string][]manifest.Object{"file.yaml": objects})
			if err != nil {
				t.Fatal(err)
			}
			subject := served{handler: test.webhook}.start(t)
			subject.Corpus = widgetSamples(t)
			for _, e := range expectations {
				if subject.Corpus, err = subject.Corpus.Expect(e); err != nil {
					t.Fatal(err)
				}
			}
			env := spectest.Env(t, suites.Options{Subject: subject, Seed: 1, Select: func(id requirement.ID) bool { return id == requirement.WebhookConversionExpected }})
			outcome, err := suites.Run(t.Context(), env, []suites.Area{area(0)}, spectest.Quiet{})
			if err != nil || len(outcome.Results) != 1 {
				t.Fatalf("%v, %d results", err, len(outcome.Results))
			}
			r := outcome.Results[0]
			if r.Verdict != test.verdict {
				t.Errorf("%s, want %s: %s", r.Verdict, test.verdict, r.Reason)
			}
			for _, words := range test.words {
				if !strings.Contains(r.Reason, words) {
					t.Errorf("%q is missing: %s", words, r.Reason)
				}
			}
		})
	}
}
