package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// handler converts Servers, and forgets the memory on the way to v1beta1 if it is to.
func handler(drops bool) http.Handler {
	return program.Handler(func(request program.Review) ([]json.RawMessage, error) {
		converted := make([]json.RawMessage, len(request.Objects))
		for i, raw := range request.Objects {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(raw); err != nil {
				return nil, fmt.Errorf("object %d: %w", i, err)
			}
			convert(object, request.Desired, drops)
			var err error
			if converted[i], err = json.Marshal(object.Object); err != nil {
				return nil, fmt.Errorf("object %d: %w", i, err)
			}
		}
		return converted, nil
	})
}

func convert(object *unstructured.Unstructured, desired string, drops bool) {
	if object.GetAPIVersion() == desired {
		return
	}
	object.SetAPIVersion(desired)
	spec, _, _ := unstructured.NestedStringMap(object.Object, "spec") // all fields are text
	if spec == nil {
		return
	}
	if strings.HasSuffix(desired, "/v1") {
		if cpus, memory, found := strings.Cut(spec["size"], "x"); found {
			spec["cpus"], spec["memory"] = cpus, memory
		}
		delete(spec, "size")
	} else {
		memory := spec["memory"]
		if drops {
			memory = ""
		}
		if spec["cpus"] != "" || memory != "" {
			spec["size"] = spec["cpus"] + "x" + memory
		}
		delete(spec, "cpus")
		delete(spec, "memory")
	}
	_ = unstructured.SetNestedStringMap(object.Object, spec, "spec") // it was read from there
}
