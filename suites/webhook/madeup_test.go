package webhook

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// sets keep any content in three fields: of one the schema says nothing, and two are known by their names and descriptions.
const sets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: sets, kind: Set}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: &schema
        type: object
        properties:
          spec:
            type: object
            properties:
              note: {type: string}
              config: {type: object, x-kubernetes-preserve-unknown-fields: true}
              template: {type: object, description: Template describes the pods that will be created., x-kubernetes-preserve-unknown-fields: true}
              volumeClaimTemplates: {type: array, items: {type: object, description: A claim that pods may refer to., x-kubernetes-preserve-unknown-fields: true}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`

const setSample = `
apiVersion: example.com/v1
kind: Set
metadata: {name: sample, namespace: default}
spec: {config: {mode: fast, list: [{name: a, weight: 3}]}}
---
apiVersion: example.com/v2
kind: Set
metadata: {name: sample, namespace: default}
spec: {config: {mode: slow, list: [{name: b, weight: 4}]}}
`

// TestInventedContent has webhooks decode into types what the schema does not describe, so that they lose what no user has: that is Tolerated
// and marked. What a sample or a known type has there is not made up, and neither is the field as a whole.
func TestInventedContent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: some specs run for each of several webhooks")
	}
	only := func(field string, keys ...string) func(spec map[string]any) {
		return func(spec map[string]any) {
			if fields, is := spec[field].(map[string]any); is {
				maps.DeleteFunc(fields, func(key string, _ any) bool { return !slices.Contains(keys, key) })
			}
		}
	}
	for name, test := range map[string]struct {
		change  func(spec map[string]any)
		samples string
		want    requirement.Verdict
		says    string
	}{
		"drops what is made up":                {only("config", "mode", "list"), "", requirement.Tolerated, corpus.MadeUpNote},
		"drops what is not in the sample":      {only("config", "mode", "list"), setSample, requirement.Passed, ""},
		"drops what a sample has":              {only("config", "list"), setSample, requirement.Failed, "spec.config.mode: expected"},
		"drops what a list of a sample has":    {only("config", "mode"), setSample, requirement.Failed, "spec.config.list"},
		"drops the field":                      {func(spec map[string]any) { delete(spec, "config") }, "", requirement.Failed, "spec.config: expected {"},
		"drops what no pod template has":       {only("template", "metadata", "spec"), "", requirement.Passed, ""},
		"drops the metadata of a pod template": {only("template", "spec"), "", requirement.Failed, "spec.template.metadata"},
		"drops empty directories": {func(spec map[string]any) {
			template, _ := spec["template"].(map[string]any)
			pod, _ := template["spec"].(map[string]any)
			if volumes, is := pod["volumes"].([]any); is {
				pod["volumes"] = slices.DeleteFunc(volumes, func(volume any) bool { return volume.(map[string]any)["emptyDir"] != nil })
			}
		}, "", requirement.Failed, "spec.template.spec.volumes"},
		"drops what no claim has": {func(spec map[string]any) {
			claims, _ := spec["volumeClaimTemplates"].([]any)
			for _, claim := range claims {
				only("of", "metadata", "spec")(map[string]any{"of": claim})
			}
		}, "", requirement.Passed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: changesAt("v2", test.change)}.of(t, sets)
			subject.Objects = 12
			samples, err := corpus.ReadSamples("samples.yaml", []byte(test.samples))
			if err != nil && test.samples != "" {
				t.Fatal(err)
			}
			for _, sample := range samples {
				if err := subject.Corpus.Add(sample); err != nil {
					t.Fatal(err)
				}
			}
			for seed := range int64(2) {
				for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionRoundTrip) {
					if r.Verdict != test.want || !strings.Contains(r.Reason, test.says) {
						t.Errorf("seed %d: %s is %s: %s", seed+1, r.Requirement, r.Verdict, r.Reason)
					}
				}
			}
		})
	}
}
