package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
)

// Defaults returns what fills in the defaults that any write at a version stores: those of the version and of the storage version, which
// readers of the version see as well where it has the same field.
func Defaults(crd *apiextensionsv1.CustomResourceDefinition, version string) (func(object map[string]any), error) {
	var schemas []*structuralschema.Structural
	for _, name := range []string{version, StorageVersion(crd)} {
		for _, v := range crd.Spec.Versions {
			if v.Name != name || v.Schema == nil {
				continue
			}
			internal := &apiextensions.CustomResourceValidation{}
			if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema.DeepCopy(), internal, nil); err != nil {
				return nil, fmt.Errorf("the schema of %s at %s: %w", crd.Name, name, err)
			}
			structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
			if err != nil {
				return nil, fmt.Errorf("the schema of %s at %s: %w", crd.Name, name, err)
			}
			schemas = append(schemas, structural)
		}
	}
	return func(object map[string]any) {
		for _, s := range schemas {
			defaulting.Default(object, s)
		}
	}, nil
}

// Difference is a field that two objects do not have the same value in.
type Difference struct {
	Path        string `json:"field"` // such as .spec.host
	Then        any    `json:"before,omitempty"`
	Now         any    `json:"after,omitempty"`
	Gone, Added bool   `json:"-"`
}

// String says where the difference is and what the values are, as far as they are short.
func (d Difference) String() string {
	switch {
	case d.Added:
		return fmt.Sprintf("%s (nothing, now %s)", d.Path, short(d.Now))
	case d.Gone:
		return fmt.Sprintf("%s (%s, now nothing)", d.Path, short(d.Then))
	}
	return fmt.Sprintf("%s (%s, now %s)", d.Path, short(d.Then), short(d.Now))
}

// shortest is how many bytes of a value are shown.
const shortest = 60

func short(value any) string {
	text, err := json.Marshal(value)
	if err != nil || len(text) > shortest {
		return "..."
	}
	return string(text)
}

// Differences returns what differs in two values, which are as JSON has them. Lists are compared as a whole.
func Differences(path string, then, now any) []Difference {
	a, isMap := then.(map[string]any)
	b, areMaps := now.(map[string]any)
	if !isMap || !areMaps {
		if reflect.DeepEqual(then, now) {
			return nil
		}
		return []Difference{{Path: path, Then: then, Now: now}}
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var all []Difference
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, had := a[key]
		is, has := b[key]
		switch below := path + "." + key; {
		case had && has:
			all = append(all, Differences(below, was, is)...)
		default:
			all = append(all, Difference{Path: below, Then: was, Now: is, Gone: had, Added: has})
		}
	}
	return all
}
