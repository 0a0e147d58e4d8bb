package corpus

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCronTabs(t *testing.T) {
	c := CronTabs("v1alpha1", "v1beta1", "v1")
	if c.Group != "example.com" || c.Kind != "CronTab" || !c.Documented {
		t.Errorf("got %+v", c)
	}
	for _, version := range c.Versions {
		objects := c.Objects(version)
		if len(objects) != 3 {
			t.Errorf("%s: %d objects", version, len(objects))
		}
		for _, o := range objects {
			_, split := o.Object["host"]
			if split != (version == "v1") || o.GetAPIVersion() != "example.com/"+version {
				t.Errorf("%s: %v", version, o.Object)
			}
			// The judge compares metadata, so there must be some.
			if o.GetUID() == "" || o.GetGeneration() == 0 || o.GetResourceVersion() == "" || len(o.GetLabels()) == 0 || len(o.GetAnnotations()) == 0 || len(o.GetFinalizers()) == 0 {
				t.Errorf("%s: the metadata is poor: %v", version, o.Object["metadata"])
			}
		}
	}
	objects := c.Objects("v1")
	objects[0].SetName("changed")
	if c.Objects("v1")[0].GetName() == "changed" {
		t.Error("the caller changed the corpus")
	}
}

func TestPairs(t *testing.T) {
	var got []string
	for _, pair := range CronTabs("v1alpha1", "v1beta1", "v1").Pairs() {
		got = append(got, pair.String())
	}
	want := []string{"v1alpha1 -> v1beta1", "v1alpha1 -> v1", "v1beta1 -> v1alpha1", "v1beta1 -> v1", "v1 -> v1alpha1", "v1 -> v1beta1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestUnserved wants conversions from versions that are not served to those that are, and none to them.
func TestUnserved(t *testing.T) {
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gauges, kind: Gauge}
  versions:
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: V1, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	const both = "v1beta1 -> v1, v1 -> v1beta1"
	for name, test := range map[string]struct{ definition, want string }{
		"no status":          {strings.Replace(definition, "V1", "true", 1), both + ", v1alpha1 -> v1beta1, v1alpha1 -> v1"},
		"stored":             {strings.Replace(definition, "V1", "true", 1) + "status: {storedVersions: [v1alpha1, v1]}", both + ", v1alpha1 -> v1beta1, v1alpha1 -> v1"},
		"not stored":         {strings.Replace(definition, "V1", "true", 1) + "status: {storedVersions: [v1]}", both},
		"storage not served": {strings.Replace(definition, "V1", "false", 1), both + ", v1alpha1 -> v1beta1"},
	} {
		definitions, _, err := ReadDefinitions("file.yaml", []byte(test.definition))
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(definitions[0], nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var pairs []string
		for _, pair := range c.Pairs() {
			pairs = append(pairs, pair.String())
			if c.OneWay(pair) != (pair.From == "v1alpha1") {
				t.Errorf("%s: OneWay(%s) is %t", name, pair, c.OneWay(pair))
			}
		}
		if got := strings.Join(pairs, ", "); got != test.want || !slices.Equal(c.Mutual(), []string{"v1beta1", "v1"}) {
			t.Errorf("%s: got %s between %v, want %s", name, got, c.Mutual(), test.want)
		}
	}
}

func TestBatch(t *testing.T) {
	c := CronTabs("v1beta1", "v1")
	batch := c.Batch("v1", 100)
	seen := map[string]bool{}
	for _, o := range batch {
		seen[string(o.GetUID())], seen[o.GetName()] = true, true
	}
	if len(batch) != 100 || len(seen) != 200 {
		t.Errorf("%d objects with %d names and UIDs", len(batch), len(seen))
	}
	first, second := JSON(batch...), JSON(c.Batch("v1", 100)...)
	for i := range first {
		if !bytes.Equal(first[i], second[i]) {
			t.Errorf("object %d is different each time", i)
		}
	}
}

const samples = `# two widgets
apiVersion: example.org/v1
kind: Widget
metadata:
  name: small
spec:
  size: 1
---
# nothing but a comment
---
apiVersion: example.org/v2
kind: Widget
metadata:
  name: large
  uid: given
spec:
  dimensions: {size: 9007199254740993}
`

// read makes a corpus of the samples of a file.
func read(data []byte) (Corpus, error) {
	samples, err := ReadSamples("file.yaml", data)
	if err != nil {
		return Corpus{}, err
	}
	return FromSamples(samples)
}

func TestRead(t *testing.T) {
	c, err := read([]byte(samples))
	if err != nil {
		t.Fatal(err)
	}
	if c.Group != "example.org" || c.Kind != "Widget" || c.Documented || !slices.Equal(c.Versions, []string{"v1", "v2"}) {
		t.Errorf("got %+v", c)
	}
	small, large := c.Objects("v1")[0], c.Objects("v2")[0]
	if small.GetUID() == "" || large.GetUID() != "given" {
		t.Errorf("UIDs %q and %q", small.GetUID(), large.GetUID())
	}
	if size, _, err := unstructured.NestedInt64(large.Object, "spec", "dimensions", "size"); err != nil || size != 9007199254740993 {
		t.Errorf("the size became %d, %v", size, err)
	}
	if _, err := read([]byte(`{"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "a"}}` + "\n---\n" +
		`{"apiVersion": "example.org/v2", "kind": "Widget", "metadata": {"name": "a"}}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
	// Lists are what kubectl get prints.
	c, err = read([]byte(`{apiVersion: v1, kind: List, items: [
		{apiVersion: example.org/v1, kind: Widget, metadata: {name: a}}, {apiVersion: example.org/v1, kind: Widget, metadata: {name: b}}]}
---
{apiVersion: example.org/v2, kind: WidgetList, items: [{apiVersion: example.org/v2, kind: Widget, metadata: {name: a}}]}`))
	if err != nil || len(c.Objects("v1")) != 2 || len(c.Objects("v2")) != 1 {
		t.Errorf("lists: %+v, %v", c, err)
	}
}

func TestSamplesThatMakeNoSense(t *testing.T) {
	object := func(apiVersion, kind, name string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\n"
	}
	for name, test := range map[string]struct{ text, want string }{
		"empty":         {"", "there are no objects"},
		"one version":   {object("example.org/v1", "Widget", "a") + "---\n" + object("example.org/v1", "Widget", "b"), "all objects are at v1"},
		"two kinds":     {object("example.org/v1", "Widget", "a") + "---\n" + object("example.org/v2", "Gadget", "a"), `"a": it is a Gadget`},
		"no group":      {object("v1", "Pod", "a"), ": it is not a custom resource"},
		"labels":        {"apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: a, labels: {x: y}}\n", `"a": a has labels that are not all strings`},
		"no name":       {"apiVersion: example.org/v1\nkind: Widget\n", ": it is not a custom resource"},
		"no kind":       {"apiVersion: example.org/v1\n", "file.yaml:1"},
		"empty list":    {"apiVersion: example.org/v1\nkind: WidgetList\nitems: []\n", "there are no objects"},
		"list of pods":  {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]\n", ": it is not a custom resource"},
		"list of texts": {"apiVersion: v1\nkind: List\nitems: [a, b]\n", "file.yaml:1"},
		"no YAML":       {"a: b: c", "file.yaml:1"},
		"not a mapping": {"just text", "file.yaml:1"},
	} {
		if _, err := read([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
}
