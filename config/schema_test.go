package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validator returns a function that returns what the schema has against a file.
func validator(tb testing.TB) func(text string) error {
	tb.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaURL, document); err != nil {
		tb.Fatal(err)
	}
	compiled, err := c.Compile(SchemaURL)
	if err != nil {
		tb.Fatal(err)
	}
	return func(text string) error {
		var value any
		if err := yaml.Unmarshal(bytes.TrimPrefix([]byte(text), []byte("\ufeff")), &value); err != nil {
			return fmt.Errorf("a test: %w", err)
		}
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("a test: %w", err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("a test: %w", err)
		}
		return compiled.Validate(instance)
	}
}

// TestSchemaAgrees wants the schema to take what Read takes, and to refuse what Read refuses, apart from what it cannot see.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	validate := validator(t)
	for _, text := range []string{
		head, everything,
		head + "webhook: {fromCRD: {}, caFile: a, serverName: b}",
		head + "webhook: {url: 'https://localhost/', clientCertificate: {certFile: a, keyFile: b}}",
		head + "webhook: {reference: {faults: [a]}, http2: true}",
		head + "apiServer: kind\nwebhook: {inCluster: {image: 'a:b', replicas: 2, port: 8443, targetPort: 7443, path: /a, service: c/d, args: [e], env: {F: g}, certs: /h}}",
		head + "apiServer: existing\nwebhook: {inCluster: {manifests: [a], archive: b, secret: c}}",
		head + "webhook: {timeout: 1h2m3.5s, caFile: a}",
		head + relisted, head + staged,
		head + "load: {duration: 0s, batches: [2.0], stages: []}\nobjectives: {max: .5s, p50: 1.s, p90: '0', p99: +1us}",
	} {
		if err := validate(text); err != nil {
			t.Errorf("it refuses\n%s\n%v", text, err)
		}
		parse(t, text)
	}
	for name, test := range mistakes() {
		if test.beyond {
			continue
		}
		if err := validate(test.text); err == nil || strings.HasPrefix(err.Error(), "a test: ") {
			t.Errorf("%s: it takes\n%s\n%v", name, test.text, err)
		}
	}
}

func TestSchemaIsACopy(t *testing.T) {
	t.Parallel()
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("it can be written to")
	}
}
