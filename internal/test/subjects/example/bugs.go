package main

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// spoiler spoils objects that have been converted to a version.
type spoiler func(desired string, converted []*unstructured.Unstructured) []*unstructured.Unstructured

type bug struct {
	program.Bug

	spoil spoiler
}

func bugs() []bug {
	return []bug{
		{program.Bug{Name: "keeps-old-field", Summary: "leaves hostPort where host and port are the same"}, each(func(desired string, object *unstructured.Unstructured) {
			host, hasHost, _ := unstructured.NestedString(object.Object, "spec", "host")
			port, _, _ := unstructured.NestedString(object.Object, "spec", "port")
			if desired == newer && hasHost {
				set(object, host+":"+port, "spec", "hostPort")
			}
		})},
		{program.Bug{Name: "only-version", Summary: "converts to v1beta1 by changing the apiVersion alone"}, each(func(desired string, object *unstructured.Unstructured) {
			if spec, ok := object.Object["spec"].(map[string]any); ok && desired == older {
				rename(spec, "cronSpec", "schedule")
				if split(spec) != nil {
					delete(spec, "hostPort")
				}
			}
		})},
		{program.Bug{Name: "trims-zeros", Summary: "drops zeros that a port begins with"}, each(func(_ string, object *unstructured.Unstructured) {
			if port, found, err := unstructured.NestedString(object.Object, "spec", "port"); err == nil && found {
				set(object, strings.TrimLeft(port, "0"), "spec", "port")
			}
		})},
		{program.Bug{Name: "lower-case", Summary: "writes hosts in lower case"}, each(func(_ string, object *unstructured.Unstructured) {
			for _, field := range []string{"host", "hostPort"} {
				if text, found, err := unstructured.NestedString(object.Object, "spec", field); err == nil && found {
					set(object, strings.ToLower(text), "spec", field)
				}
			}
		})},
		{program.Bug{Name: "drops-labels", Summary: "forgets the labels"}, each(func(_ string, object *unstructured.Unstructured) { object.SetLabels(nil) })},
		{program.Bug{Name: "renames", Summary: "adds -converted to the name"}, each(func(_ string, object *unstructured.Unstructured) {
			object.SetName(object.GetName() + "-converted")
		})},
		{program.Bug{Name: "reorders", Summary: "returns the objects of a batch in reverse order"}, func(_ string, converted []*unstructured.Unstructured) []*unstructured.Unstructured {
			slices.Reverse(converted)
			return converted
		}},
		{program.Bug{Name: "at-most-ten", Summary: "returns no more than ten objects"}, func(_ string, converted []*unstructured.Unstructured) []*unstructured.Unstructured {
			return converted[:min(len(converted), 10)]
		}},
		{program.Bug{Name: "first-spec", Summary: "gives every object of a batch the spec of the first"}, func(_ string, converted []*unstructured.Unstructured) []*unstructured.Unstructured {
			for _, object := range converted {
				if spec, found := converted[0].Object["spec"]; found {
					object.Object["spec"] = spec
				}
			}
			return converted
		}},
	}
}

func each(change func(desired string, object *unstructured.Unstructured)) spoiler {
	return func(desired string, converted []*unstructured.Unstructured) []*unstructured.Unstructured {
		for _, object := range converted {
			change(desired, object)
		}
		return converted
	}
}

// set sets a field of a spec that is known to be there.
func set(object *unstructured.Unstructured, value string, path ...string) {
	_ = unstructured.SetNestedField(object.Object, value, path...)
}
