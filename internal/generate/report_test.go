package main

import (
	"encoding/json"
	"testing"
)

// TestReportIsDescribed wants every type to be described.
func TestReportIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := reportSchema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Description string `json:"description"`
		Defs        map[string]struct {
			Description string `json:"description"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Description == "" || len(schema.Defs) < 15 {
		t.Errorf("it is described as %q, and has %d types", schema.Description, len(schema.Defs))
	}
	for name, definition := range schema.Defs {
		if definition.Description == "" {
			t.Errorf("%s is not described", name)
		}
	}
}
