package webhook

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
)

// gates have objects without fields, whose presence is all that they say: one of a union that the schema does not declare, one that a oneOf
// chooses, entries of a map, and the source of a volume. v1alpha1, which is not served, has a list where the others keep any map.
const gates = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gates, kind: Gate}
  versions:
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {plugins: {type: array, items: {type: string}}, languages: {type: array, items: {type: string}}}}}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: &schema
        type: object
        properties:
          status: {type: object}
          spec:
            type: object
            properties:
              size: {type: integer, format: int32}
              mode: {type: object, properties: {passthrough: {type: object}, reject: {type: object}}}
              issuer:
                type: object
                oneOf: [{required: [selfSigned]}, {required: [ca]}]
                properties:
                  selfSigned: {type: object, properties: {points: {type: array, items: {type: string}}}}
                  ca: {type: object, properties: {secret: {type: string}}}
              names: {type: object, additionalProperties: {type: object}}
              volumes: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, emptyDir: {type: object, properties: {medium: {type: string}}}, secret: {type: object, properties: {secretName: {type: string}}}}}}
              limits: {type: object, properties: {cpu: {type: string}}}
              plugins: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`

// convertGate is how they should be converted.
func convertGate(from string, object map[string]any) {
	spec := specOf(object)
	if from != "v1alpha1" || spec == nil {
		return
	}
	listed, _ := spec["plugins"].([]any)
	if delete(spec, "plugins"); len(listed) > 0 {
		plugins := map[string]any{}
		for _, name := range listed {
			plugins[name.(string)] = map[string]any{}
		}
		spec["plugins"] = plugins
	}
	delete(spec, "languages")
}

// TestPresence has webhooks lose objects in which there is nothing: each is found where it is lost, whatever the seed, and what means nothing
// is not held against the last ones.
func TestPresence(t *testing.T) {
	t.Parallel()
	within := func(part string, change func(map[string]any)) func(spec map[string]any) {
		return func(spec map[string]any) {
			if fields, is := spec[part].(map[string]any); is {
				change(fields)
			}
		}
	}
	without := func(keys ...string) func(map[string]any) {
		return func(fields map[string]any) {
			for _, key := range keys {
				if empty, is := fields[key].(map[string]any); is && len(empty) == 0 {
					delete(fields, key)
				}
			}
		}
	}
	for name, test := range map[string]struct {
		change func(spec map[string]any)
		want   string // in the reason; nothing beside what is always lost if it is empty
	}{
		"a marker is lost":          {within("mode", without("passthrough")), "spec.mode.passthrough: expected {}, got nothing"},
		"both markers become one":   {within("mode", func(mode map[string]any) { rename(mode, "reject", "passthrough") }), "spec.mode.reject: expected {}, got nothing"},
		"an empty branch is lost":   {within("issuer", without("selfSigned", "ca")), "spec.issuer.selfSigned: expected {}, got nothing"},
		"an entry of a map is lost": {within("names", func(names map[string]any) { clear(names) }), "expected {}, got nothing"},
		"an empty directory is lost": {func(spec map[string]any) {
			volumes, _ := spec["volumes"].([]any)
			for _, volume := range volumes {
				if fields, is := volume.(map[string]any); is {
					without("emptyDir")(fields)
				}
			}
		}, "emptyDir: expected {}, got nothing"},
		"empty limits become nothing": {without("limits", "mode", "names"), ""},
		"nothing becomes empty limits": {func(spec map[string]any) {
			if spec["limits"] == nil {
				spec["limits"] = map[string]any{}
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
				convertGate(from, object)
				if spec := specOf(object); spec != nil && to == "v2" && from == "v1" {
					test.change(spec)
				}
				return ""
			}}}.of(t, gates)
			subject.Objects = 12
			for seed := range int64(2) {
				for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionRoundTrip, requirement.WebhookConversionAdditions) {
					lost := r.Requirement == requirement.WebhookConversionRoundTrip
					switch {
					case lost && (r.Verdict != requirement.Failed || !strings.Contains(r.Reason, "spec.languages") || !strings.Contains(r.Reason, test.want)):
						t.Errorf("seed %d: %s is %s: %s", seed+1, r.Requirement, r.Verdict, r.Reason)
					case lost && (strings.Contains(r.Reason, "spec.plugins") || test.want == "" && strings.Contains(r.Reason, "{}")):
						t.Errorf("seed %d: false alarm: %s", seed+1, r.Reason)
					case !lost && r.Verdict != requirement.Passed && test.want == "":
						t.Errorf("seed %d: %s is %s: %s", seed+1, r.Requirement, r.Verdict, r.Reason)
					}
				}
			}
		})
	}
}

// selected runs the specs of some requirements.
func selected(t *testing.T, subject *suites.Subject, seed int64, ids ...requirement.ID) []suites.Result {
	t.Helper()
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: seed, Select: func(id requirement.ID) bool { return slices.Contains(ids, id) }})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area(0)}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}
