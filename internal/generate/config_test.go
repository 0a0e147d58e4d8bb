package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
)

// TestConfigurationIsDescribed wants every section and every key to be described.
func TestConfigurationIsDescribed(t *testing.T) {
	t.Parallel()
	type section struct {
		Description string `json:"description"`
		Properties  map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	var schema struct {
		section

		Defs map[string]section `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	schema.Defs["Config"] = schema.section
	if len(schema.Defs) < 10 || len(schema.Properties) != reflect.TypeFor[config.Config]().NumField()-1 {
		t.Errorf("it has %d sections, and %d keys in the first", len(schema.Defs), len(schema.Properties))
	}
	for name, s := range schema.Defs {
		if s.Description == "" || strings.Contains(s.Description, "\n") {
			t.Errorf("%s is described as %q", name, s.Description)
		}
		for key, property := range s.Properties {
			if !strings.HasSuffix(property.Description, ".") || strings.Contains(property.Description, "\n") {
				t.Errorf("%s.%s is described as %q", name, key, property.Description)
			}
		}
	}
}
