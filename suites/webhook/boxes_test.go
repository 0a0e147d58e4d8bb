package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
)

// boxes have what the CronTabs do not: a union, two lists that belong together, embedded metadata, text with a default, and a part with a
// rule in CEL about one of its fields, in which a program may also have notes that are deep inside.
const boxes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boxes, kind: Box}
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
              prefix: {type: string, default: app}
              hosts: {type: array, items: {type: string}}
              ports: {type: array, items: {type: integer}}
              store:
                type: object
                required: [type]
                properties:
                  type: {type: string, enum: [S3, Disk]}
                  s3: {type: object, properties: {bucket: {type: string}, region: {type: string}}}
                  disk: {type: object, properties: {path: {type: string}}}
              template:
                type: object
                properties:
                  image: {type: string}
                  metadata:
                    type: object
                    properties:
                      labels: {type: object, additionalProperties: {type: string}}
                      annotations: {type: object, additionalProperties: {type: string}}
              interval: {type: string, default: 1h}
              ruled:
                type: object
                x-kubernetes-validations: [{rule: "!has(self.least) || self.least < 1000"}]
                properties:
                  least: {type: integer, format: int32}
                  names: {type: array, items: {type: string}}
                  inner:
                    type: object
                    properties: {more: {type: object, properties: {rest: {type: array, items: {type: object, properties: {text: {type: string}, count: {type: integer}}}}}}}
              manifest: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`

// boxed is a webhook for boxes that does something to their specs.
func boxed(t *testing.T, spoil func(spec map[string]any)) *suites.Subject {
	t.Helper()
	return served{handler: stranger{change: func(object map[string]any) {
		if spec := specOf(object); spec != nil {
			spoil(spec)
		}
	}}}.of(t, boxes)
}

// TestLawfulNotes has v2 of boxes hold neither the spelling of a prefix, which is lower-cased, nor more than the first host. Annotations keep
// both as long as what they belong to is as it was. Only objects that are written at v2 lose something.
func TestLawfulNotes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: most specs run")
	}
	const spelling, rest = "example.com/spelling", "example.com/rest"
	subject := served{handler: stranger{change: func(object map[string]any) {
		spec, notes := specOf(object), metadataOf(object, "annotations")
		if spec == nil {
			return
		}
		prefix, _ := spec["prefix"].(string)
		hosts, _ := spec["hosts"].([]any)
		if strings.HasSuffix(object["apiVersion"].(string), "/v2") {
			if lower := strings.ToLower(prefix); lower != prefix {
				spec["prefix"], notes[spelling] = lower, prefix
			}
			if len(hosts) > 1 {
				text, err := json.Marshal(hosts[1:])
				if err != nil {
					panic(err)
				}
				spec["hosts"], notes[rest] = hosts[:1], string(text)
			}
			return
		}
		if noted, ok := notes[spelling].(string); ok && strings.ToLower(noted) == prefix {
			spec["prefix"] = noted
		}
		var more []any
		if text, ok := notes[rest].(string); ok && len(hosts) == 1 && json.Unmarshal([]byte(text), &more) == nil {
			spec["hosts"] = append(hosts, more...)
		}
		delete(notes, spelling)
		delete(notes, rest)
	}}}.of(t, boxes)
	subject.Objects = 12
	for seed := range int64(3) {
		for _, r := range seeded(t, subject, seed+1) {
			if r.Requirement == requirement.WebhookConversionEdits && r.Verdict != requirement.Passed {
				t.Errorf("seed %d: %s is %s: %s", seed+1, r.Requirement, r.Verdict, r.Reason)
			}
		}
	}
}

// isSeeded reports whether a requirement is judged with several seeds: it is about what becomes of objects, and does not take seconds.
func isSeeded(id requirement.ID) bool {
	return id != requirement.WebhookConversionHuge && !strings.HasPrefix(string(id), "webhook.transport.") && !strings.HasPrefix(string(id), "webhook.request.")
}

// seeded judges what becomes of objects.
func seeded(t *testing.T, subject *suites.Subject, seed int64) []suites.Result {
	t.Helper()
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: seed, Select: isSeeded})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area(0)}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}
