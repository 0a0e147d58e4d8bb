package kube

import (
	"reflect"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestDifferences(t *testing.T) {
	object := func(change func(o map[string]any)) map[string]any {
		o := map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"b": "c"}}, "spec": map[string]any{"list": []any{int64(1), int64(2)}, "host": "a"}}
		if change != nil {
			change(o)
		}
		return o
	}
	for name, test := range map[string]struct {
		change func(o map[string]any)
		want   []string
	}{
		"nothing":       {nil, nil},
		"a value":       {func(o map[string]any) { o["spec"].(map[string]any)["host"] = "b" }, []string{`.spec.host ("a", now "b")`}},
		"a list":        {func(o map[string]any) { o["spec"].(map[string]any)["list"] = []any{int64(2), int64(1)} }, []string{`.spec.list ([1,2], now [2,1])`}},
		"gone and new":  {func(o map[string]any) { o["spec"] = map[string]any{"port": "1", "list": []any{int64(1), int64(2)}} }, []string{`.spec.host ("a", now nothing)`, `.spec.port (nothing, now "1")`}},
		"another shape": {func(o map[string]any) { o["spec"] = "text" }, []string{`.spec ({"host":"a","list":[1,2]}, now "text")`}},
		"deep":          {func(o map[string]any) { delete(o["metadata"].(map[string]any), "labels") }, []string{`.metadata.labels ({"b":"c"}, now nothing)`}},
	} {
		var got []string
		for _, d := range Differences("", object(nil), object(test.change)) {
			got = append(got, d.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"port": {Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("179")}}}},
		}}},
	}}}}
	fill, err := Defaults(crd, "v1")
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{"spec": map[string]any{"host": "a"}}
	fill(object)
	if want := (map[string]any{"spec": map[string]any{"host": "a", "port": int64(179)}}); !reflect.DeepEqual(object, want) {
		t.Errorf("got %v, want %v", object, want)
	}
}
