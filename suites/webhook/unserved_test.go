package webhook

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// gauges are at v1alpha1 no more. v1 says limit where the others say max.
const gauges = `
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
    schema: {openAPIV3Schema: &old {type: object, properties: {spec: {type: object, properties: {max: {type: integer}, unit: {type: string}, steps: {type: array, items: {type: integer}}}}}}}
  - {name: v1beta1, served: BETA, storage: false, schema: {openAPIV3Schema: *old}}
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {limit: {type: integer}, unit: {type: string}, steps: {type: array, items: {type: integer}}}}}}}
`

// convertGauge is how they should be converted.
func convertGauge(from, to string, object map[string]any) string {
	spec := specOf(object)
	switch {
	case from != "v1" && to == "v1":
		rename(spec, "max", "limit")
	case from == "v1" && to != "v1":
		rename(spec, "limit", "max")
	}
	return ""
}

func rename(fields map[string]any, from, to string) {
	if value, found := fields[from]; found {
		fields[to] = value
		delete(fields, from)
	}
}

// TestUnservedVersionsCaught has webhooks with bugs that show only for objects that are stored at a version that is not served. API servers
// never convert to it, so what happens on that way is nobody's loss.
func TestUnservedVersionsCaught(t *testing.T) {
	t.Parallel()
	on := func(from, to string, change func(spec map[string]any) string) stranger {
		return stranger{converts: func(here, there string, object map[string]any) string {
			why := convertGauge(here, there, object)
			if (from == "*" || here == from) && (to == "*" || there == to) && specOf(object) != nil {
				why += change(specOf(object))
			}
			return why
		}}
	}
	drops := func(field string) func(map[string]any) string {
		return func(spec map[string]any) string {
			delete(spec, field)
			return ""
		}
	}
	unknown := func(words string) stranger {
		return stranger{converts: func(from, to string, object map[string]any) string {
			if from == "v1alpha1" || to == "v1alpha1" {
				return words
			}
			return convertGauge(from, to, object)
		}}
	}
	never := func(from, to string, object map[string]any) string {
		if to == "v1alpha1" {
			return "nothing is converted to v1alpha1"
		}
		return convertGauge(from, to, object)
	}
	type verdicts = map[requirement.ID]requirement.Verdict
	const noSchema = requirement.WebhookConversionSchema
	stored := gauges + "status: {storedVersions: [v1alpha1, v1]}\n"
	for name, test := range map[string]struct {
		webhook    stranger
		definition string
		want       verdicts
		says       string
	}{
		"none":                    {webhook: stranger{converts: convertGauge}},
		"without a way back":      {webhook: stranger{converts: never}},
		"nothing else is served":  {webhook: stranger{converts: never}, definition: strings.ReplaceAll(gauges, "BETA", "false")},
		"loses on the way back":   {webhook: on("*", "v1alpha1", drops("unit"))},
		"loses on the way there":  {webhook: on("v1alpha1", "*", drops("unit")), want: verdicts{requirement.WebhookConversionRoundTrip: requirement.Failed}, says: "v1alpha1 -> v1"},
		"loses it at one version": {webhook: on("v1alpha1", "v1", drops("limit")), want: verdicts{requirement.WebhookConversionRoundTrip: requirement.Failed}, says: "v1alpha1 -> v1: spec.max: expected"},
		"loses it without a return": {webhook: stranger{converts: func(from, to string, object map[string]any) string {
			if from == "v1alpha1" {
				delete(specOf(object), "unit")
			}
			return never(from, to, object)
		}}, want: verdicts{requirement.WebhookConversionRoundTrip: requirement.Failed}, says: "spec.unit: expected"},
		"forgets to rename": {webhook: stranger{converts: func(from, to string, object map[string]any) string {
			if from == "v1alpha1" || to == "v1alpha1" {
				return ""
			}
			return convertGauge(from, to, object)
		}}, want: verdicts{noSchema: requirement.Failed}, says: "spec.max"},
		"unknown to the webhook":  {webhook: unknown("no kind is registered for v1alpha1"), want: verdicts{requirement.WebhookFailureAvoided: requirement.Tolerated}, says: "remove the version from the definition"},
		"unknown in other words":  {webhook: unknown("KeyError: 'v1alpha1'"), want: verdicts{requirement.WebhookFailureAvoided: requirement.Tolerated}, says: "remove the version from the definition"},
		"it crashes":              {webhook: unknown("runtime error: invalid memory address or nil pointer dereference"), want: verdicts{requirement.WebhookFailureAvoided: requirement.Failed}, says: "nil pointer"},
		"its library catches it":  {webhook: unknown("internal error occurred during conversion"), want: verdicts{requirement.WebhookFailureAvoided: requirement.Failed}, says: "internal error occurred"},
		"unknown and stored":      {webhook: unknown("no kind is registered for v1alpha1"), definition: stored, want: verdicts{requirement.WebhookFailureAvoided: requirement.Failed}, says: "by status.storedVersions"},
		"the only one to convert": {webhook: on("v1alpha1", "*", drops("unit")), definition: strings.ReplaceAll(gauges, "BETA", "false"), want: verdicts{requirement.WebhookConversionRoundTrip: requirement.Failed}, says: "v1alpha1 -> v1"},
		"the only one, unknown": {
			webhook:    stranger{converts: func(string, string, map[string]any) string { return "what is v1alpha1, or v1beta1?" }},
			definition: strings.ReplaceAll(gauges, "BETA", "false"), want: verdicts{requirement.WebhookFailureAvoided: requirement.Tolerated}, says: "remove the version from the definition",
		},
		"not stored": {webhook: unknown("no kind is registered for v1alpha1"), definition: gauges + "status: {storedVersions: [v1]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "loses on the way there" && name != "unknown to the webhook" {
				t.Skip("left out by -short: each judges the whole chapter")
			}
			if test.definition == "" {
				test.definition = gauges
			}
			subject := served{handler: test.webhook}.of(t, strings.ReplaceAll(test.definition, "BETA", "true"))
			subject.Objects = 12
			got, says := verdicts{}, ""
			for _, r := range judgeSubject(t, subject) {
				switch {
				case r.Verdict == requirement.Passed || r.Verdict == requirement.NotApplicable && !strings.HasPrefix(r.Reason, "could not be judged"):
				case r.Requirement == requirement.WebhookFailureStatus || r.Requirement == requirement.WebhookFailureUID:
				default:
					got[r.Requirement] = r.Verdict
					says += fmt.Sprintf("%s is %s: %s\n", r.Requirement, r.Verdict, r.Reason)
				}
			}
			if !maps.Equal(got, test.want) && len(got)+len(test.want) > 0 || !strings.Contains(says, test.says) {
				t.Errorf("got %v, want %v with %q:\n%s", got, test.want, test.says, says)
			}
		})
	}
}

// gaugeSamples have what the generated ones lack.
const gaugeSamples = `
apiVersion: example.com/v1beta1
kind: Gauge
metadata: {name: sample, namespace: default}
spec: {unit: of the sample}
---
apiVersion: example.com/v1alpha1
kind: Gauge
metadata: {name: sample, namespace: default}
spec: {unit: of the sample}
`

// TestSamplesOfUnservedVersions has objects that are only converted from a version that is not served: a webhook that breaks down over the
// sample fails for it, and is judged by what it converts besides.
func TestSamplesOfUnservedVersions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: each judges the whole chapter")
	}
	definition := strings.ReplaceAll(gauges, "BETA", "false")
	verdicts := func(sample string, breaks func(spec map[string]any) bool) map[requirement.ID]suites.Result {
		subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
			if breaks(specOf(object)) {
				panic(http.ErrAbortHandler)
			}
			return convertGauge(from, to, object)
		}}}.of(t, definition)
		subject.Objects = 12
		if sample != "" {
			samples, err := corpus.ReadSamples("sample.yaml", []byte(sample))
			if err != nil {
				t.Fatal(err)
			}
			for _, sample := range samples {
				if err := subject.Corpus.Add(sample); err != nil {
					t.Fatal(err)
				}
			}
		}
		of := map[requirement.ID]suites.Result{}
		for _, r := range judgeSubject(t, subject) {
			of[r.Requirement] = r
		}
		return of
	}
	ofSample := func(spec map[string]any) bool { return spec["unit"] == "of the sample" }
	without := verdicts("", ofSample)
	for name, breaks := range map[string]func(map[string]any) bool{"the sample": ofSample, "everything": func(map[string]any) bool { return true }} {
		with := verdicts(gaugeSamples, breaks)
		r := with[requirement.WebhookFailureAvoided]
		if r.Verdict != requirement.Failed || !slices.ContainsFunc(r.Attachments, func(a suites.Attachment) bool {
			return a.Name == "object.yaml" && (name != "the sample" || strings.Contains(string(a.Data), "of the sample"))
		}) {
			t.Errorf("%s: %s is %s, want it to show the object: %s", name, r.Requirement, r.Verdict, r.Reason)
		}
		for id, r := range with {
			if id != requirement.WebhookFailureAvoided && name == "the sample" && r.Verdict != without[id].Verdict {
				t.Errorf("%s: %s is %s, and without the sample %s: %s", name, id, r.Verdict, without[id].Verdict, r.Reason)
			}
		}
	}
}

// TestUnservedVersionsAreCounted wants the fields of an unserved version counted: those that were converted, with no regard to the way
// back, and none at all if the webhook does not know the version.
func TestUnservedVersionsAreCounted(t *testing.T) {
	t.Parallel()
	for name, knows := range map[string]bool{"known": true, "unknown": false} {
		subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
			if to == "v1alpha1" || from == "v1alpha1" && !knows {
				return "v1alpha1 is gone"
			}
			return convertGauge(from, to, object)
		}}}.of(t, strings.ReplaceAll(gauges, "BETA", "true"))
		subject.Objects = 12
		var last []reports.Coverage
		subject.Tried = func(coverage []reports.Coverage, _ []string) { last = coverage }
		judgeSubject(t, subject)
		counted := slices.ContainsFunc(last, func(c reports.Coverage) bool { return c.From == "v1alpha1" })
		if counted != knows || len(last) == 0 {
			t.Errorf("%s: counted are %v", name, last)
		}
	}
}

// TestNothingComesBack has a webhook whose other versions are served no more, so that objects are converted in one direction only: what takes a
// way back is not applicable, and fails nowhere.
func TestNothingComesBack(t *testing.T) {
	t.Parallel()
	subject := served{handler: stranger{converts: convertGauge}}.of(t, strings.ReplaceAll(gauges, "BETA", "false"))
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionAdditions, requirement.WebhookConversionEqualFields, requirement.WebhookConversionRoundTrip) {
		want := requirement.NotApplicable
		if r.Requirement == requirement.WebhookConversionRoundTrip {
			want = requirement.Passed
		}
		isAbout := r.Immaterial && strings.Contains(r.Reason, "objects are only converted from v1alpha1, v1beta1")
		if r.Verdict != want || want == requirement.NotApplicable && !isAbout {
			t.Errorf("%s is %s, %v: %s", r.Requirement, r.Verdict, r.Immaterial, r.Reason)
		}
	}
}
