package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/options"
)

// configSchema writes the schema of the configuration.
func configSchema() ([]byte, error) {
	schema, err := configuration()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// configuration makes the schema of the configuration from its types and their comments.
func configuration() (*jsonschema.Schema, error) {
	r := &jsonschema.Reflector{RequiredFromJSONSchemaTags: true, ExpandedStruct: true, Mapper: configText}
	if err := r.AddGoComments(here, "../../config", jsonschema.WithFullComment()); err != nil {
		return nil, err
	}
	for name, comment := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(comment), " ")
	}
	schema := r.Reflect(config.Config{})
	schema.ID = config.SchemaURL
	schema.Title = "Configuration of crdconform"
	schema.Description = "Configuration of crdconform, " + config.FileName + "."
	schema.Definitions["Webhook"].OneOf = sources()
	describeSections(schema)
	for _, o := range options.All() {
		if first, _ := options.Of(o.Key); slices.Equal(first.Commands, o.Commands) && !strings.Contains(o.Key, "[0]") { // of the file, and of no command alone
			describe(property(schema, o.Key), o)
		}
	}
	return schema, nil
}

// describeSections describes the sections whose types are not exported, as their keys are.
func describeSections(schema *jsonschema.Schema) {
	sections := []*jsonschema.Schema{schema}
	for _, section := range schema.Definitions {
		sections = append(sections, section)
	}
	for _, section := range sections {
		for pair := section.Properties.Oldest(); pair != nil; pair = pair.Next() {
			if of := schema.Definitions[strings.TrimPrefix(pair.Value.Ref, "#/$defs/")]; of != nil && of.Description == "" {
				of.Description = pair.Value.Description
			}
		}
	}
}

// property returns the schema at a key such as load.stages[*].clients.
func property(schema *jsonschema.Schema, key string) *jsonschema.Schema {
	below := schema
	for step := range strings.SplitSeq(key, ".") {
		name, _, isItem := strings.Cut(step, "[")
		below, _ = below.Properties.Get(name)
		if isItem {
			below = below.Items
		}
		if name, isReference := strings.CutPrefix(below.Ref, "#/$defs/"); isReference && strings.Contains(key, step+".") {
			below = schema.Definitions[name]
		}
	}
	return below
}

// describe adds the default, the bounds and the values of an option.
func describe(schema *jsonschema.Schema, o options.Option) {
	if schema.Description == "" {
		schema.Description = strings.ToUpper(o.Help[:1]) + o.Help[1:] + "."
	}
	if o.Default != nil && !strings.Contains(schema.Description, "The default is") {
		schema.Description += fmt.Sprintf(" The default is %s.", strings.Replace(fmt.Sprint(o.Default), "m0s", "m", 1))
	}
	if schema.Items != nil {
		schema = schema.Items
	}
	for _, value := range o.Values {
		schema.Enum = append(schema.Enum, value)
	}
	b := o.Bounds
	if b == nil {
		return
	}
	least := json.Number(strconv.FormatFloat(b.Min, 'f', -1, 64))
	switch {
	case b.Zero != "":
		schema.Minimum = "0"
	case b.Above:
		schema.ExclusiveMinimum = least
	default:
		schema.Minimum = least
	}
	if b.Max != 0 {
		schema.Maximum = json.Number(strconv.FormatFloat(b.Max, 'f', -1, 64))
	}
}

// configText returns the schemas of types that are written as text.
func configText(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[config.Duration]():
		return &jsonschema.Schema{
			Type:     "string",
			Pattern:  `^\+?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`,
			Examples: []any{"500ms", "30s", "1m30s"},
		}
	case reflect.TypeFor[config.Share]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]{1,2}(\.[0-9]+)?|100(\.0+)?) ?%$`, Examples: []any{"95%"}}
	case reflect.TypeFor[config.Pattern]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[^.]`, Examples: []any{"spec.list[*].name", "metadata.annotations['example.com/a']"}}
	}
	return nil
}

// sources returns a schema for each way to say where the webhook is, and one for none: one of them has to fit.
func sources() []*jsonschema.Schema {
	refused := map[string][]string{
		"url":       nil,
		"fromCRD":   nil,
		"command":   {"caFile", "serverName"},
		"inCluster": {"caFile", "serverName", "clientCertificate"},
		"reference": {"caFile", "serverName", "clientCertificate"},
	}
	all := []string{"url", "fromCRD", "command", "inCluster", "reference"}
	var given []*jsonschema.Schema
	var schemas []*jsonschema.Schema
	for _, source := range all {
		one := &jsonschema.Schema{Required: []string{source}}
		given = append(given, &jsonschema.Schema{Required: []string{source}})
		if len(refused[source]) > 0 {
			one.Properties = jsonschema.NewProperties()
		}
		for _, key := range refused[source] {
			one.Properties.Set(key, jsonschema.FalseSchema)
		}
		schemas = append(schemas, one)
	}
	return append(schemas, &jsonschema.Schema{Not: &jsonschema.Schema{AnyOf: given}})
}
