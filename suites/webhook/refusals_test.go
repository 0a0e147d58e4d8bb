package webhook

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// nodes have a part with rules in CEL that let nothing be taken away, in which one field takes durations only, which no schema says.
const nodes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: nodes, kind: Node}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: &schema
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [role, terms]
            x-kubernetes-validations:
            - {rule: "has(self.family) && has(self.kubelet)"}
            properties:
              role: {type: string, pattern: '^[a-z]+$'}
              family: {type: string, enum: [AL2, Ubuntu, Windows]}
              terms: {type: array, minItems: 1, items: {type: object, required: [id], properties: {id: {type: string}}}}
              kubelet:
                type: object
                x-kubernetes-validations:
                - {rule: "has(self.soft) && has(self.grace) && self.soft.all(k, k in self.grace) && self.grace.all(k, k in self.soft)"}
                properties:
                  soft: {type: object, minProperties: 1, additionalProperties: {type: string}}
                  grace: {type: object, additionalProperties: {type: string}}
                  most: {type: integer, format: int32}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`

// TestRefusalsHideNothing has a webhook refuse what is no duration in one field, and lose something in a field beside it, or in the field
// itself. The loss is found, no field is left out, and reasons are true.
func TestRefusalsHideNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: objects that keep to rules take seconds to make")
	}
	part := func(spec map[string]any, field string) map[string]any {
		kubelet, _ := spec["kubelet"].(map[string]any)
		fields, _ := kubelet[field].(map[string]any)
		return fields
	}
	for name, test := range map[string]struct {
		change func(spec map[string]any)
		want   string
	}{
		"a member of an enum is lost": {func(spec map[string]any) {
			if spec["family"] == "Ubuntu" {
				spec["family"] = "AL2"
			}
		}, `spec.family: expected "Ubuntu", got "AL2"`},
		"a list is cut":          {func(spec map[string]any) { spec["terms"] = spec["terms"].([]any)[:1] }, "spec.terms: expected"},
		"text beside it is lost": {func(spec map[string]any) { clear(part(spec, "soft")) }, "spec.kubelet.soft"},
		"the durations are rounded": {func(spec map[string]any) {
			for key, value := range part(spec, "grace") {
				if d, err := time.ParseDuration(value.(string)); err == nil {
					part(spec, "grace")[key] = d.Round(time.Hour).String()
				}
			}
		}, "spec.kubelet.grace"},
		"nothing else is wrong": {func(map[string]any) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
				spec := specOf(object)
				for key, value := range part(spec, "grace") {
					if _, err := time.ParseDuration(value.(string)); err != nil {
						return "grace." + key + ": " + err.Error()
					}
				}
				if spec != nil && to == "v2" {
					test.change(spec)
				}
				return ""
			}}}.of(t, nodes)
			subject.Objects = 10
			var never []string
			subject.Tried = func(of []reports.Coverage, _ []string) {
				never = nil
				for _, c := range of {
					for _, field := range c.Never {
						never = append(never, c.From+" "+field.Path+": "+field.Reason)
					}
				}
			}
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip) {
				if test.want == "" && r.Verdict != requirement.Passed || test.want != "" && (r.Verdict != requirement.Failed || !strings.Contains(r.Reason, test.want)) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
			if len(never) > 0 {
				t.Errorf("never exercised: %s", strings.Join(never, "\n"))
			}
		})
	}
}

// TestGapsNameTheRequirement has a webhook whose responses are whole and refused all the same.
func TestGapsNameTheRequirement(t *testing.T) {
	t.Parallel()
	fault, _ := webhook.FaultNamed("changes-uid")
	subject := spectest.Subject(t, fault)
	subject.Corpus, subject.Objects = corpus.CronTabs("v1beta1", "v1"), 6
	var gaps []string
	subject.Tried = func(_ []reports.Coverage, all []string) { gaps = append(gaps, all...) }
	judgeSelected(t, subject, area(0), func(requirement.ID) bool { return true })
	if !slices.ContainsFunc(gaps, func(gap string) bool { return strings.Contains(gap, "(webhook.metadata.uid on the way to v1)") }) {
		t.Errorf("the gaps are %q", gaps)
	}
}

// TestRefusesAll has a webhook that accepts no value of a field fail, if all can be tried, and one that refuses some be Tolerated.
func TestRefusesAll(t *testing.T) {
	t.Parallel()
	const schema = "{type: object, properties: {spec: {type: object, properties: {name: {type: string}, mode: {type: string, enum: [A, B]}, hot: {type: boolean}}}}}"
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: modes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: modes, kind: Mode}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: ` + schema + `}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: ` + schema + `}}
`
	for name, test := range map[string]struct {
		refuses func(spec map[string]any) bool
		want    requirement.Verdict
	}{
		"a member":        {func(spec map[string]any) bool { return spec["mode"] == "A" }, requirement.Tolerated},
		"the enum":        {func(spec map[string]any) bool { return spec["mode"] != nil }, requirement.Failed},
		"true":            {func(spec map[string]any) bool { return spec["hot"] == true }, requirement.Tolerated},
		"true and false":  {func(spec map[string]any) bool { return spec["hot"] != nil }, requirement.Failed},
		"an enum alone":   {func(spec map[string]any) bool { return spec["mode"] != nil && spec["name"] == nil }, requirement.Tolerated}, // it goes with another field
		"text that it is": {func(spec map[string]any) bool { return spec["name"] != nil }, requirement.Tolerated},                        // another may be right
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(_, _ string, object map[string]any) string {
				if spec := specOf(object); spec != nil && test.refuses(spec) {
					return "unsupported value"
				}
				return ""
			}}}.of(t, crd)
			for _, r := range selected(t, subject, 1, requirement.WebhookFailureAvoided) {
				if r.Verdict != test.want {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
		})
	}
}
