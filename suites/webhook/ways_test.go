package webhook

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// shots are at three versions of one schema.
const shots = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shots.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: shots, kind: Shot}
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema: &schema
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, required: [driver, source], properties: {driver: {type: string}, source: {type: string}, wait: {type: string}, labels: {type: object, additionalProperties: {type: string}}}}
  - {name: v1beta2, served: true, storage: true, schema: *schema}
  - {name: v1, served: true, storage: false, schema: *schema}
`

// TestRefusedVersion has webhooks that do not know a version, or what some fields hold: the first keeps nothing else from being judged, takes
// few requests to find out, and is said in the webhook's words. The second is about values.
func TestRefusedVersion(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a chapter runs")
	}
	const words = "unexpected conversion version"
	loses := func(_, to string, object map[string]any) string {
		if spec := specOf(object); spec != nil && to == "v1beta2" {
			delete(spec, "labels")
		}
		return ""
	}
	refuses := func(from, to string, object map[string]any) string {
		if from == "v1" || to == "v1" {
			return words + " " + to
		}
		return loses(from, to, object)
	}
	for name, test := range map[string]struct {
		converts         func(from, to string, object map[string]any) string
		avoided, returns requirement.Verdict
		says             string
		most             int64 // requests, 0 for any number
	}{
		"it is unknown": {refuses, requirement.Failed, requirement.Failed, "every object is refused, whatever is in it: response.result: expected a conversion that succeeds, got Failed: \"" + words, 400},
		"it is unknown, and all else is right": {
			func(from, to string, _ map[string]any) string { return refuses(from, to, nil) }, requirement.Failed, requirement.Passed,
			"every object is refused, whatever is in it", 400,
		},
		"one direction is": {func(from, to string, object map[string]any) string {
			if from == "v1beta2" && to == "v1" {
				return words
			}
			return loses(from, to, object)
		}, requirement.Failed, requirement.Failed, "v1beta2 -> v1: every object is refused", 0},
		"a field is refused, in the same words whatever its value": {func(from, to string, object map[string]any) string {
			if spec := specOf(object); (to == "v1" || from == "v1") && (spec == nil || spec["wait"] != "30s") {
				return "bad wait"
			}
			return loses(from, to, object)
		}, requirement.Failed, requirement.NotApplicable, "bad wait", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			subject := served{handler: stranger{converts: test.converts, refuses: func(map[string]any) int { asked.Add(1); return 0 }}}.of(t, shots)
			subject.Objects = 10
			results := selected(t, subject, 1, requirement.WebhookFailureAvoided)
			if n := asked.Load(); test.most > 0 && n > test.most {
				t.Errorf("it took %d requests", n)
			}
			results = append(results, selected(t, subject, 1, requirement.WebhookConversionRoundTrip)...)
			for _, r := range results {
				want := test.avoided
				if r.Requirement == requirement.WebhookConversionRoundTrip {
					want = test.returns
				}
				if r.Verdict != want {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
				if r.Requirement == requirement.WebhookFailureAvoided && !strings.Contains(r.Reason, test.says) {
					t.Errorf("%s, want %q", r.Reason, test.says)
				}
			}
		})
	}
}
