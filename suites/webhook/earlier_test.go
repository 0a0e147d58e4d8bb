package webhook

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// meters are a definition with a spec of some properties at both versions.
func meters(tb testing.TB, properties string) (*corpus.Definition, string) {
	tb.Helper()
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: meters.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: meters, kind: Meter}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: &schema {type: object, properties: {spec: {type: object, properties: {` + properties + `}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`
	all, _, err := corpus.ReadDefinitions("file.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return all[0], text
}

// TestEarlierSchemasCaught has webhooks that treat objects of an earlier schema in ways of their own, and says what is held against them.
func TestEarlierSchemasCaught(t *testing.T) {
	t.Parallel()
	const failure, kept = requirement.WebhookFailureEarlierSchemas, requirement.WebhookConversionEarlierSchemas
	const now = `mode: {type: string, enum: [A, B]}, part: {type: object, required: [name], properties: {name: {type: string}, url: {type: string}}}, tags: {type: array, items: {type: string, minLength: 30}, maxItems: 4990}`
	before := strings.NewReplacer("[A, B]", "[A, B, Old]", "required: [name], ", "", "maxItems: 4990", "maxItems: 100000").Replace(now)
	refuses := func(when func(from string, spec map[string]any) bool, why string) stranger {
		return stranger{converts: func(from, _ string, object map[string]any) string {
			if when(from, specOf(object)) {
				return why
			}
			return ""
		}}
	}
	type verdicts = map[requirement.ID]requirement.Verdict
	passes := verdicts{failure: requirement.Passed, kept: requirement.Passed}
	for name, test := range map[string]struct {
		webhook stranger
		now     string
		want    verdicts
		says    string
	}{
		"none": {stranger{}, now, passes, ""},
		"on one way only": {
			refuses(func(from string, spec map[string]any) bool { return from == "v2" && spec["mode"] == "Old" }, "unknown mode Old"), now,
			verdicts{failure: requirement.Failed},
			`v2 -> v1: conversion failed for an object that an earlier schema allowed (spec.mode: the value "Old" is no longer allowed)`,
		},
		"every object with a part": {refuses(func(_ string, spec map[string]any) bool { return spec["part"] != nil }, "no parts yet"), now, passes, ""},
		"every object":             {refuses(func(_ string, spec map[string]any) bool { return spec != nil }, "not yet"), now, verdicts{failure: requirement.NotApplicable, kept: requirement.NotApplicable}, ""},
		"loses the name of its own": {stranger{converts: func(from, _ string, object map[string]any) string {
			if part, ok := specOf(object)["part"].(map[string]any); ok && part["name"] == nil && from == "v2" {
				delete(specOf(object), "part")
			}
			return ""
		}}, now, verdicts{failure: requirement.Passed}, ""},
		"loses a url beside it too": {stranger{change: func(object map[string]any) {
			if part, ok := specOf(object)["part"].(map[string]any); ok {
				delete(part, "url")
			}
		}}, now, passes, ""},
		"does not know what it made": {stranger{converts: func(from, _ string, object map[string]any) string {
			switch spec := specOf(object); {
			case from == "v1" && spec["mode"] == "Old":
				spec["mode"] = "Oldest"
			case spec["mode"] == "Oldest":
				return "unknown mode Oldest"
			}
			return ""
		}}, now, verdicts{failure: requirement.Passed, kept: requirement.Failed}, "conversion of its own result failed, of an object that an earlier schema allowed"},
		"nothing allowed": {stranger{}, strings.Replace(before, "maxItems: 100000", "maxItems: 200000", 1), verdicts{failure: requirement.NotApplicable, kept: requirement.NotApplicable}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			old, _ := meters(t, before)
			_, text := meters(t, test.now)
			subject := served{handler: test.webhook}.of(t, text)
			subject.Objects, subject.Corpus.Earlier = 8, []*corpus.Definition{old}
			made, missed := -1, []string(nil)
			subject.Stale = func(objects int, left []string) { made, missed = objects, left }
			var says []string
			for _, r := range judgeSelected(t, subject, area(0), func(id requirement.ID) bool { return id == failure || id == kept }) {
				if want, known := test.want[r.Requirement]; known && r.Verdict != want {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
				says = append(says, r.Reason)
			}
			if all := strings.Join(says, "\n"); !strings.Contains(all, test.says) {
				t.Errorf("got %s\nwant %s", all, test.says)
			}
			if name == "none" && (made < 4 || !slices.ContainsFunc(missed, func(s string) bool { return strings.Contains(s, "webhook.conversion.huge is about large ones") })) {
				t.Errorf("%d objects, and not judged are %q", made, missed)
			}
			if name == "every object with a part" && !slices.ContainsFunc(missed, func(s string) bool { return strings.Contains(s, "does not convert the object without that, either") }) {
				t.Errorf("not judged are %q", missed)
			}
		})
	}
}
