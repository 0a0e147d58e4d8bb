// Package styles has correct converters in languages that convert as people do in them: each is a script that a test's webhook asks.
package styles

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed styles.yaml styles.py styles.js styles.pl
var files embed.FS

const group = "styles.example.com"

// Style is a correct converter and what it converts.
type Style struct {
	Definition string // as YAML
	Sample     string // an object at v1, as YAML

	name, script string
}

type described struct {
	Script   string                      `json:"script"`
	Stored   string                      `json:"stored"` // v1 if empty
	Versions map[string]describedVersion `json:"versions"`
	Sample   map[string]any              `json:"sample"` // the spec
}

type describedVersion struct {
	Spec     map[string]apiextensionsv1.JSONSchemaProps `json:"spec"`
	Status   map[string]apiextensionsv1.JSONSchemaProps `json:"status"`
	Required []string                                   `json:"required"`
	Rule     string                                     `json:"rule"`
}

// All returns all styles by name.
func All(tb testing.TB) map[string]Style {
	tb.Helper()
	text, err := files.ReadFile("styles.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var of map[string]described
	if err = yaml.UnmarshalStrict(text, &of); err != nil {
		tb.Fatal(err)
	}
	all := map[string]Style{}
	for name, d := range of {
		definition, err1 := yaml.Marshal(d.definition())
		sample, err2 := yaml.Marshal(map[string]any{"apiVersion": group + "/v1", "kind": "Styled", "metadata": map[string]any{"name": "sample"}, "spec": d.Sample})
		if err = errors.Join(err1, err2); err != nil {
			tb.Fatal(err)
		}
		all[name] = Style{string(definition), string(sample), name, d.Script}
	}
	return all
}

// definition has the versions from the oldest to the newest.
func (d described) definition() *apiextensionsv1.CustomResourceDefinition {
	url, stored := "https://127.0.0.1:1/convert", d.Stored
	if stored == "" {
		stored = "v1"
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "styleds." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "styleds", Singular: "styled", Kind: "Styled", ListKind: "StyledList"},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url},
			}},
		},
	}
	for _, name := range []string{"v1alpha1", "v1beta1", "v1"} {
		of, has := d.Versions[name]
		if !has {
			continue
		}
		spec := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: of.Spec, Required: of.Required}
		if of.Rule != "" {
			spec.XValidations = apiextensionsv1.ValidationRules{{Rule: of.Rule}}
		}
		version := apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: name == stored, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}},
			},
		}
		if of.Status != nil {
			version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
			version.Schema.OpenAPIV3Schema.Properties["status"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: of.Status}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, version)
	}
	return crd
}

// interpreters run the scripts.
func interpreters() map[string]string {
	return map[string]string{".py": "python3", ".js": "node", ".pl": "perl"}
}

// Start starts the script and returns what has it convert an object, one at a time, but for its apiVersion. It is stopped when the test ends.
// The test is skipped where what runs the script is missing, unless CRDCONFORM_REQUIRE_TOOLS is set.
func (s Style) Start(tb testing.TB) func(from, to string, object map[string]any) error {
	tb.Helper()
	interpreter := interpreters()[filepath.Ext(s.script)]
	path, err := exec.LookPath(interpreter)
	if err != nil {
		if os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
			tb.Fatal(interpreter + " is not on PATH, and CRDCONFORM_REQUIRE_TOOLS is set")
		}
		tb.Skip(interpreter + " is not on PATH")
	}
	text, err := files.ReadFile(s.script)
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), s.script)
	if err = os.WriteFile(file, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	command := exec.CommandContext(ctx, path, file, s.name)
	command.Stderr = tb.Output()
	in, err1 := command.StdinPipe()
	out, err2 := command.StdoutPipe()
	for _, err := range []error{err1, err2, command.Start()} {
		if err != nil {
			stop()
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		stop()
		command.Wait() //nolint:errcheck // that it was stopped is no news
	})
	var mu sync.Mutex
	answers := bufio.NewReader(out)
	return func(from, to string, object map[string]any) error {
		mu.Lock()
		defer mu.Unlock()
		converted, err := ask(in, answers, map[string]any{"from": from, "to": to, "object": object})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		clear(object)
		maps.Copy(object, converted)
		return nil
	}
}

func ask(in io.Writer, answers *bufio.Reader, request any) (converted map[string]any, err error) {
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if _, err = in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	if line, err = answers.ReadBytes('\n'); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var answer struct {
		Error  string         `json:"error"`
		Object map[string]any `json:"object"`
	}
	if err = decoder.Decode(&answer); err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer.Object, err
}
