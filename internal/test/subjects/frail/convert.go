package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

const (
	older = "water.example.org/v1beta1" // with spec.litres
	newer = "water.example.org/v1"      // with spec.flow
)

type fields map[string]json.RawMessage

// convertAll converts the objects of a request. A rank is what numbered gives objects at the older version; nil for none.
func convertAll(request program.Review, rank func(name string) int) ([]json.RawMessage, error) {
	converted := make([]json.RawMessage, len(request.Objects))
	for i, raw := range request.Objects {
		var err error
		if converted[i], err = convert(raw, request.Desired, rank); err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
	}
	return converted, nil
}

// convert renames a field of the spec. All else stays.
func convert(raw json.RawMessage, desired string, rank func(name string) int) (json.RawMessage, error) {
	var object, spec fields
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	var current string
	if err := json.Unmarshal(object["apiVersion"], &current); err != nil {
		return nil, err
	}
	known := []string{older, newer}
	if !slices.Contains(known, current) || !slices.Contains(known, desired) {
		return nil, fmt.Errorf("cannot convert %s to %s", current, desired)
	}
	if current == desired {
		return raw, nil
	}
	if text, has := object["spec"]; has {
		if err := json.Unmarshal(text, &spec); err != nil {
			return nil, err
		}
	}
	if spec != nil {
		if err := respell(object, spec, desired, rank); err != nil {
			return nil, err
		}
	}
	object["apiVersion"] = json.RawMessage(strconv.Quote(desired))
	return json.Marshal(object)
}

func respell(object, spec fields, desired string, rank func(name string) int) error {
	from, to := "litres", "flow"
	if desired == older {
		from, to = to, from
	}
	if value, has := spec[from]; has {
		delete(spec, from)
		spec[to] = value
	}
	delete(spec, "rank")
	if desired == older && rank != nil {
		var meta struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		}
		if err := json.Unmarshal(object["metadata"], &meta); err != nil {
			return err
		}
		spec["rank"] = json.RawMessage(strconv.Itoa(rank(meta.Namespace + "/" + meta.Name)))
	}
	text, err := json.Marshal(spec)
	object["spec"] = text
	return err
}
