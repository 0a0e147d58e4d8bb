package lint

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"
)

// TestAdviceOnStoredObjects holds what findings say of stored objects to the validation of API servers: which changes of an object pass
// that was valid, and which do not.
func TestAdviceOnStoredObjects(t *testing.T) {
	t.Parallel()
	const mapped = "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], "
	for name, test := range map[string]struct {
		was, is           string // fields of spec, or what else spec has
		stored            string // spec
		passes, isRefused string // changed
		says              string
	}{
		"a required field": {
			"properties: {a: {type: string}, b: {type: string}}", "required: [a], properties: {a: {type: string}, b: {type: string}}",
			"{b: x}", "", "{b: z}", "every change to spec is refused",
		},
		"a value": {
			"properties: {a: {type: string, maxLength: 5}, b: {type: string}}", "properties: {a: {type: string, maxLength: 2}, b: {type: string}}",
			"{a: xxxx, b: x}", "{a: xxxx, b: z}", "{a: zzzz, b: x}", "while the field does not change",
		},
		"an item of an atomic list": {
			"properties: {l: {type: array, items: {type: string, maxLength: 5}}, b: {type: string}}", "properties: {l: {type: array, items: {type: string, maxLength: 2}}, b: {type: string}}",
			"{l: [xxxx], b: x}", "{l: [xxxx], b: z}", "{l: [xxxx, z], b: x}", "while spec.l does not change",
		},
		"an item with a key": {
			"properties: {l: {type: array, " + mapped + "items: {type: object, required: [k], properties: {k: {type: string}, a: {type: string}, b: {type: string}}}}}",
			"properties: {l: {type: array, " + mapped + "items: {type: object, required: [k, a], properties: {k: {type: string}, a: {type: string}, b: {type: string}}}}}",
			"{l: [{k: m, b: x}, {k: n, a: x}]}", "{l: [{k: m, b: x}, {k: n, a: z}]}", "{l: [{k: m, b: z}, {k: n, a: x}]}", "every change to spec.l[*] is refused",
		},
	} {
		definition := func(spec string) string {
			return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n" +
				"  names: {plural: widgets, kind: Widget}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n" +
				"          spec: {type: object, " + spec + "}\n"
		}
		found := check(t, definition(test.is), definition(test.was))
		if len(found) != 1 || !strings.Contains(found[0].Message, test.says) {
			t.Errorf("%s: found %+v, want %q", name, found, test.says)
		}
		if test.passes != "" && !updates(t, definition(test.is), test.stored, test.passes) {
			t.Errorf("%s: API servers refuse %s", name, test.passes)
		}
		if updates(t, definition(test.is), test.stored, test.isRefused) {
			t.Errorf("%s: API servers take %s", name, test.isRefused)
		}
	}
}

// updates reports whether API servers let an object with one spec become one with another.
func updates(t *testing.T, definition, before, after string) bool {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	var internal apiextensions.JSONSchemaProps
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	object := func(spec string) map[string]any {
		var fields map[string]any
		text, err := yaml.YAMLToJSON([]byte("spec: " + spec))
		must(err)
		must(json.Unmarshal(text, &fields))
		return fields
	}
	must(yaml.Unmarshal([]byte(definition), &crd))
	must(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil))
	structural, err := schema.NewStructural(&internal)
	must(err)
	validator, _, err := validation.NewSchemaValidator(&internal)
	must(err)
	was, is := object(before), object(after)
	correlated := common.NewCorrelatedObject(is, was, &model.Structural{Structural: structural})
	return len(validation.ValidateCustomResourceUpdate(nil, is, was, validator, validation.WithRatcheting(correlated))) == 0
}
