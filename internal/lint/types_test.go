package lint_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/fixtures"
)

// TestMismatches puts values of wrong types into a definition.
func TestMismatches(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`spec: {versions: {}}`:                         "spec.versions: expected a list, got a mapping",
		`spec: {versions: [{served: "yes"}]}`:          `spec.versions[0].served: expected true or false, got the text "yes"`,
		`spec: {names: 3}`:                             "spec.names: expected a mapping, got the number 3",
		`spec: {names: {plural: 7, shortNames: [no]}}`: "spec.names.plural: expected text, got the number 7; quote it\nspec.names.shortNames[0]: expected text, got false; quote it",
		`spec: {names: {plural: [a]}}`:                 "spec.names.plural: expected text, got a list",
		`spec: [1]`:                                    "spec: expected a mapping, got a list",
		`metadata: widgets`:                            `metadata: expected a mapping, got the text "widgets"`,
		`metadata: {labels: {a.b/c: 1.5}}`:             "metadata.labels['a.b/c']: expected text, got the number 1.5; quote it",
		`metadata: {creationTimestamp: yesterday}`:     `metadata.creationTimestamp: expected a time such as 2026-01-31T12:00:00Z, got the text "yesterday"`,
		`spec: {versions: [{schema: {openAPIV3Schema: {properties: {a: {minimum: x, maxLength: 1.5, default: [1], items: 3, additionalProperties: [1]}, b: [1], c: {items: [{type: 3}]}}}}}]}`: `
			spec.versions[0].schema.openAPIV3Schema.properties.a.minimum: expected a number, got the text "x"
			spec.versions[0].schema.openAPIV3Schema.properties.a.maxLength: expected an integer of 64 bits, got the number 1.5
			spec.versions[0].schema.openAPIV3Schema.properties.a.items: expected a mapping or a list, got the number 3
			spec.versions[0].schema.openAPIV3Schema.properties.a.additionalProperties: expected a mapping, true or false, got a list
			spec.versions[0].schema.openAPIV3Schema.properties.b: expected a mapping, got a list
			spec.versions[0].schema.openAPIV3Schema.properties.c.items[0].type: expected text, got the number 3; quote it`,
		`spec: {conversion: {webhook: {clientConfig: {caBundle: "***", service: {port: 3000000000}}}}}`: `
			spec.conversion.webhook.clientConfig.service.port: expected an integer of 32 bits, got the number 3000000000
			spec.conversion.webhook.clientConfig.caBundle: expected text in base64, got the text "***"`,
		`spec: {unknown: 3, scope: ` + strings.Repeat("x", 50) + `}`: "",
		`spec: {versions: [{schema: {openAPIV3Schema: {dependencies: {a: [b, 1], c: {}, d: 1}}}}]}`: `
			spec.versions[0].schema.openAPIV3Schema.dependencies.a[1]: expected text, got the number 1; quote it
			spec.versions[0].schema.openAPIV3Schema.dependencies.d: expected a mapping or a list of text, got the number 1`,
		`[1]`: "expected a mapping, got a list",
	} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, m := range fieldpath.Mismatches(value, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()) {
			lines = append(lines, m.String())
		}
		if got := strings.Join(lines, "\n"); got != strings.ReplaceAll(strings.TrimSpace(want), "\n\t\t\t", "\n") {
			t.Errorf("%s:\n%s", text, got)
		}
	}
}

// TestNoMismatch compares definitions with their own type.
func TestNoMismatch(t *testing.T) {
	t.Parallel()
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{fixtures.Reference.New()} {
		text, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		if found := fieldpath.Mismatches(value, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()); len(found) > 0 {
			t.Errorf("%s: %v", crd.Name, found)
		}
	}
}
