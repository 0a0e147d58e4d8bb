package webhook

import (
	"encoding/json"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// marked are at v1alpha1 no more, which alone has marks.
const marked = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gauges, kind: Gauge}
  versions:
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {unit: {type: string}, marks: {type: array, items: {type: object, properties: {text: {type: string}, color: {type: string}, font: {type: string}, size: {type: integer}}}}}}}}}
  - {name: v1beta1, served: true, storage: false, schema: &new {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {unit: {type: string}}}}}}}
  - {name: v1, served: true, storage: true, schema: *new}
`

// TestKeptInAnAnnotation has a webhook that keeps a field of an unserved version in an annotation, without its empty values, and never
// reads it again. Nothing is lost on the way there, though lists that differ in empty values alone become the same.
func TestKeptInAnAnnotation(t *testing.T) {
	t.Parallel()
	const annotation = "example.com/marks"
	keeps := stranger{converts: func(from, to string, object map[string]any) string {
		spec := specOf(object)
		marks, isList := spec["marks"].([]any)
		if from != "v1alpha1" || to == from || !isList {
			return ""
		}
		delete(spec, "marks")
		for _, mark := range marks {
			fields, _ := mark.(map[string]any)
			for key, value := range fields {
				if value == "" || value == json.Number("0") {
					delete(fields, key)
				}
			}
		}
		kept, err := json.Marshal(marks)
		if err != nil {
			return err.Error()
		}
		metadata, _ := object["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
			metadata["annotations"] = annotations
		}
		annotations[annotation] = string(kept)
		return ""
	}}
	subject := served{handler: keeps}.of(t, marked)
	subject.Objects = 50 // fewer have no two lists of empty values in a row, and one with another value after them
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip, requirement.WebhookConversionZeroValues) {
		if r.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}
