package subjects

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// definitionOf reads the definition of a program.
func definitionOf(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := files.ReadFile(name + "/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return crd
}

// object returns a generator of objects that are valid by a version of a definition.
func object(crd *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		object, _ := value(t, *v.Schema.OpenAPIV3Schema, "object").(map[string]any)
		object["apiVersion"] = crd.Spec.Group + "/" + v.Name
		object["kind"] = crd.Spec.Names.Kind
		meta := map[string]any{"name": "generated", "uid": "0a1b", "namespace": "default", "resourceVersion": "1"}
		for _, field := range []string{"labels", "annotations"} {
			if rapid.Bool().Draw(t, field) {
				meta[field] = map[string]any{"example.org/a": rapid.String().Draw(t, field)}
			}
		}
		object["metadata"] = meta
		return object
	})
}

// value draws a value that is valid by a schema. It knows what the definitions of the programs use, and no more.
func value(t *rapid.T, s apiextensionsv1.JSONSchemaProps, label string) any {
	switch {
	case len(s.Enum) > 0:
		var v any
		if err := yaml.Unmarshal(rapid.SampledFrom(s.Enum).Draw(t, label).Raw, &v); err != nil {
			t.Fatal(err)
		}
		return v
	case s.XPreserveUnknownFields != nil:
		return map[string]any{"free": anything(t, 3, label)}
	}
	switch s.Type {
	case "object":
		return fieldsOf(t, s, label)
	case "array":
		return items(t, s, label)
	case "boolean":
		return rapid.Bool().Draw(t, label)
	case "integer":
		return integer(t, s, label)
	case "number":
		return rapid.OneOf(rapid.Just(0.1), rapid.Float64Range(-1e18, 1e18)).Draw(t, label)
	default:
		return text(t, s, label)
	}
}

func fieldsOf(t *rapid.T, s apiextensionsv1.JSONSchemaProps, label string) map[string]any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		if slices.Contains(s.Required, name) || rapid.Bool().Draw(t, label+"."+name+"?") {
			object[name] = value(t, s.Properties[name], label+"."+name)
		}
	}
	if s.AdditionalProperties != nil {
		for _, name := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, label+" keys") {
			object[name] = value(t, *s.AdditionalProperties.Schema, label+" value")
		}
	}
	if s.MinProperties != nil && len(object) == 0 { // 1 is all that is in use
		first := slices.Sorted(maps.Keys(s.Properties))[0]
		object[first] = value(t, s.Properties[first], label+"."+first)
	}
	return object
}

// items draws a list. The keys of one that is a map are different.
func items(t *rapid.T, s apiextensionsv1.JSONSchemaProps, label string) []any {
	list := []any{}
	seen := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, label+" length") {
		item := value(t, *s.Items.Schema, label)
		if s.XListType != nil && *s.XListType == "map" {
			fields, _ := item.(map[string]any)
			key := fmt.Sprint(fields[s.XListMapKeys[0]])
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		list = append(list, item)
	}
	return list
}

func integer(t *rapid.T, s apiextensionsv1.JSONSchemaProps, label string) int64 {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return rapid.Int64Range(int64(*s.Minimum), int64(*s.Maximum)).Draw(t, label)
	case s.Minimum != nil:
		return rapid.Int64Min(int64(*s.Minimum)).Draw(t, label)
	default:
		return rapid.Int64().Draw(t, label)
	}
}

func text(t *rapid.T, s apiextensionsv1.JSONSchemaProps, label string) string {
	switch {
	case s.Format == "date-time":
		day := rapid.IntRange(1, 28).Draw(t, label+" day")
		second := rapid.IntRange(0, 59).Draw(t, label+" second")
		return fmt.Sprintf("2024-02-%02dT10:00:%02dZ", day, second)
	case s.Pattern != "":
		return rapid.StringMatching(s.Pattern).Draw(t, label)
	case s.MinLength != nil:
		return rapid.StringN(int(*s.MinLength), -1, 100).Draw(t, label)
	default:
		return rapid.String().Draw(t, label)
	}
}

// anything draws any JSON, up to a depth.
func anything(t *rapid.T, depth int, label string) any {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, label+" kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, label)
	case 2:
		return rapid.Int64().Draw(t, label)
	case 3:
		return rapid.Float64Range(-1e300, 1e300).Draw(t, label)
	case 4:
		return rapid.String().Draw(t, label)
	case 5:
		return []any{anything(t, depth-1, label), anything(t, depth-1, label)}
	default:
		return map[string]any{rapid.String().Draw(t, label+" key"): anything(t, depth-1, label)}
	}
}
