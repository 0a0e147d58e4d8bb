package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

func TestSchemaIsUpToDate(t *testing.T) {
	t.Chdir("..")
	want, err := render()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../docs/report.schema.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/report.schema.json does not follow from the types of the report (%v); run \"go generate ./reports\"", err)
	}
}

// TestSchemaExplains wants every type to be described.
func TestSchemaExplains(t *testing.T) {
	t.Chdir("..")
	text, err := render()
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
