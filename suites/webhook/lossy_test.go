package webhook

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// definitionsFlag is for TestLossyPlaces.
var definitionsFlag = flag.String("definitions", "", "folder with definitions of other projects, which TestLossyPlaces compares too")

// enoughLossy is how many of 100 lossy places are to be found that objects of one leaf each show.
const enoughLossy = 98

// TestLossyPlaces compares what check finds lost with what a fuzzer finds that sends one object for each leaf and version. The webhook
// drops what the other version has no field for, as converters of typed objects do. The fuzzer has nothing in common with the generator.
func TestLossyPlaces(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: every spec about fields runs for each definition")
	}
	folders := []string{filepath.Join("..", "..", "internal", "test", "subjects")}
	if *definitionsFlag != "" {
		folders = append(folders, *definitionsFlag)
	}
	places, found := 0, 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, file fs.DirEntry, err error) error {
			if err != nil || file.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), "kind: CustomResourceDefinition") {
				return err
			}
			definitions, _, err := corpus.ReadDefinitions("file.yaml", text)
			if err != nil {
				t.Logf("%s is left out: %v", path, err)
			}
			for _, d := range definitions {
				if len(d.Versions()) > 1 {
					of, missed := lossyPlaces(t, d)
					places, found = places+of, found+of-len(missed)
					t.Logf("%s: %d of %d lossy places", d.Name(), of-len(missed), of)
					for _, place := range missed {
						t.Logf("    missed: %s", place)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d lossy places in all, %.1f %%", found, places, 100*float64(found)/float64(max(places, 1)))
	if places == 0 || found*100 < places*enoughLossy {
		t.Errorf("found %d of %d lossy places, want %d %%", found, places, enoughLossy)
	}
}

// lossyPlaces returns in how many places objects of one leaf lose something, and those that check does not name.
func lossyPlaces(t *testing.T, d *corpus.Definition) (int, []string) {
	t.Helper()
	structural := map[string]*structuralschema.Structural{}
	lossy := map[string]bool{}
	for _, v := range d.CRD.Spec.Versions {
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
			t.Fatal(err)
		}
		s, err := structuralschema.NewStructural(props)
		if err != nil {
			t.Fatal(err)
		}
		structural[v.Name] = s
	}
	for _, v := range d.CRD.Spec.Versions {
		schema := d.Schema(v.Name)
		for _, leaf := range leavesOf(v.Schema.OpenAPIV3Schema, nil) {
			object, _ := valueFor(v.Schema.OpenAPIV3Schema, leaf, 0).(map[string]any)
			object["apiVersion"], object["kind"], object["metadata"] = d.CRD.Spec.Group+"/"+v.Name, d.CRD.Spec.Names.Kind, map[string]any{"name": "one-leaf"}
			schema.Prepare(object)
			if len(schema.Problems(object)) > 0 {
				continue
			}
			for other, s := range structural {
				if other == v.Name {
					continue
				}
				after := runtime.DeepCopyJSON(object)
				pruning.Prune(after, s, true)
				for _, l := range schema.Losses(object, after) {
					lossy[v.Name+" "+other+" "+schema.Pattern(l.Path)] = true
				}
			}
		}
	}
	named := namedBy(t, d, stranger{converts: func(_, to string, object map[string]any) string {
		pruning.Prune(object, structural[to], true)
		return ""
	}})
	var missed []string
	for _, place := range slices.Sorted(maps.Keys(lossy)) {
		if !slices.ContainsFunc(named, func(known string) bool {
			rest, is := strings.CutPrefix(place, known)
			return is && (rest == "" || strings.ContainsAny(rest[:1], ".["))
		}) {
			missed = append(missed, place)
		}
	}
	return len(lossy), missed
}

// namedBy are the places that check names as lost, with both versions before them.
func namedBy(t *testing.T, d *corpus.Definition, handler stranger) []string {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	objects, err := corpus.New(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	env := spectest.Env(t, suites.Options{
		Subject: &suites.Subject{Client: client, Corpus: objects}, Seed: 1,
		Select: func(id requirement.ID) bool { return id == requirement.WebhookConversionRoundTrip },
	})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{Area}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, r := range outcome.Results {
		if r.Verdict == requirement.Errored {
			t.Errorf("%s: %s: %s", d.Name(), r.Requirement, r.Reason)
		}
		for _, f := range r.Findings {
			named = append(named, fmt.Sprintf("%s %s %s", f.From, f.To, f.Field))
		}
	}
	return named
}

// leavesOf returns the ways to the leaves of a schema, by fields, with [] for items and {} for the entries of maps.
func leavesOf(p *apiextensionsv1.JSONSchemaProps, way []string) [][]string {
	to := func(step string) []string { return append(slices.Clone(way), step) }
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		if inner := p.Properties[name]; len(way) > 0 || name != "apiVersion" && name != "kind" && name != "metadata" {
			all = append(all, leavesOf(&inner, to(name))...)
		}
	}
	if p.Items != nil && p.Items.Schema != nil {
		all = append(all, leavesOf(p.Items.Schema, to("[]"))...)
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		all = append(all, leavesOf(p.AdditionalProperties.Schema, to("{}"))...)
	}
	if all == nil {
		return [][]string{way}
	}
	return all
}

// valueFor makes a value with what is required and what is on a way. What is behind it is a number, so that items differ.
func valueFor(p *apiextensionsv1.JSONSchemaProps, way []string, number int) any {
	switch {
	case len(p.Enum) > 0:
		return valueOf(p.Enum[len(p.Enum)-1])
	case p.XIntOrString:
		return int64(3)
	}
	switch p.Type {
	case "boolean":
		return p.Default == nil || string(p.Default.Raw) != "true"
	case "integer":
		if p.Minimum != nil && *p.Minimum > 3 {
			return int64(*p.Minimum)
		} else if p.Maximum != nil && *p.Maximum < 3 {
			return int64(*p.Maximum)
		}
		return int64(3)
	case "number":
		return 1.5
	case "string":
		return textFor(p, number)
	case "array":
		list := []any{}
		for i := range max(int(value(p.MinItems)), min(len(way), 1)) {
			if p.Items != nil && p.Items.Schema != nil {
				list = append(list, valueFor(p.Items.Schema, rest(way), i))
			}
		}
		return list
	}
	made := map[string]any{}
	for name, inner := range p.Properties {
		switch onWay := len(way) > 0 && way[0] == name; {
		case onWay:
			made[name] = valueFor(&inner, way[1:], number)
		case slices.Contains(p.Required, name):
			made[name] = valueFor(&inner, nil, number)
		}
	}
	if len(way) > 0 && way[0] == "{}" {
		made["key"] = valueFor(p.AdditionalProperties.Schema, way[1:], number)
	}
	if value(p.XPreserveUnknownFields) && len(p.Properties) == 0 || p.AdditionalProperties != nil && p.AdditionalProperties.Allows && p.AdditionalProperties.Schema == nil {
		made["key"] = "value"
	}
	if p.XEmbeddedResource {
		made["apiVersion"], made["kind"], made["metadata"] = "v1", "ConfigMap", map[string]any{"name": "embedded"}
	}
	return made
}

func rest(way []string) []string { return way[min(len(way), 1):] }

func value[T any](pointer *T) (v T) {
	if pointer != nil {
		v = *pointer
	}
	return v
}

func valueOf(raw apiextensionsv1.JSON) any {
	var text string
	if _, err := fmt.Sscanf(string(raw.Raw), "%q", &text); err == nil {
		return text
	}
	var number int64
	if _, err := fmt.Sscan(string(raw.Raw), &number); err == nil {
		return number
	}
	return string(raw.Raw) == "true"
}

// textFor is the first of some strings that the pattern and the length of a schema allow, and that its format looks like.
func textFor(p *apiextensionsv1.JSONSchemaProps, number int) string {
	given := map[string]string{"date-time": "2024-05-01T12:00:00Z", "duration": "90s", "byte": "YWJj", "uri": "https://example.com/a", "ipv4": "192.0.2.1", "cidr": "192.0.2.0/24", "uuid": "550e8400-e29b-41d4-a716-446655440000"}
	candidates := []string{
		given[p.Format], fmt.Sprintf("name-%d", number), fmt.Sprintf("Name%d", number), fmt.Sprintf("%d.example.com", number), "90s", "5m", "100m", "50%", "https://example.com/a", "/a/b", "example.com/a", "10.0.0.0/24",
		"192.0.2.1", "a", "A", "1", "example.com:80", "0 3 * * 1", "v1", "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "2024-05-01T12:00:00Z",
	}
	for _, candidate := range candidates {
		if candidate == "" || int64(len(candidate)) < value(p.MinLength) || p.MaxLength != nil && int64(len(candidate)) > *p.MaxLength {
			continue
		}
		if matched, err := regexp.MatchString(p.Pattern, candidate); p.Pattern == "" || err == nil && matched {
			return candidate
		}
	}
	return strings.Repeat("x", int(value(p.MinLength)))
}
