package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// reportSchema makes the schema of report.json from the types of the packages that have them and their comments.
func reportSchema() ([]byte, error) {
	r := &jsonschema.Reflector{ExpandedStruct: true, AllowAdditionalProperties: true, Mapper: reportText}
	for _, folder := range []string{"../../reports", "../../requirement", "../../loadgen"} {
		if err := r.AddGoComments(here, folder, jsonschema.WithFullComment()); err != nil {
			return nil, err
		}
	}
	for name, comment := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(comment), " ")
	}
	schema := r.Reflect(reports.Report{})
	schema.ID = "https://crdconform.dev/schemas/v1alpha1/report.json"
	schema.Title = "Report of crdconform"
	schema.Properties.Set("apiVersion", &jsonschema.Schema{Const: reports.APIVersion, Description: "Format of the file. Within it fields may be added, and keep their meaning."})
	schema.Properties.Set("kind", &jsonschema.Schema{Const: reports.ReportKind})
	nullable(schema)
	for _, definition := range schema.Definitions {
		nullable(definition)
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// reportText returns the schemas of types that are written as text.
func reportText(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[requirement.Verdict]():
		s := &jsonschema.Schema{Type: "string"}
		for v := requirement.Unknown; v <= requirement.Errored; v++ {
			s.Enum = append(s.Enum, v.String())
		}
		return s
	case reflect.TypeFor[map[requirement.Verdict]int]():
		return &jsonschema.Schema{Type: "object", PropertyNames: reportText(reflect.TypeFor[requirement.Verdict]()), AdditionalProperties: &jsonschema.Schema{Type: "integer"}}
	case reflect.TypeFor[reports.Outcome]():
		return &jsonschema.Schema{Type: "string", Enum: []any{reports.Conformant, reports.Partial, reports.NonConformant, reports.Unjudged, reports.Interrupted}}
	case reflect.TypeFor[requirement.Source](), reflect.TypeFor[requirement.Minor]():
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// nullable lets a list that is always there be null, which is how Go writes one that has nothing in it.
func nullable(s *jsonschema.Schema) {
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		list := pair.Value
		if list.Type != "array" || !slices.Contains(s.Required, pair.Key) {
			continue
		}
		pair.Value = &jsonschema.Schema{Description: list.Description, AnyOf: []*jsonschema.Schema{{Type: "array", Items: list.Items}, {Type: "null"}}}
	}
}
