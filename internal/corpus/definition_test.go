package corpus

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
)

func TestReadDefinitions(t *testing.T) {
	t.Parallel()
	text := "# a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n" + widget("{type: object}") +
		"\n---\n{apiVersion: v1, kind: List, items: [" + strings.ReplaceAll(widget("{type: object}"), "widgets", "gadgets") + "]}"
	all, _, err := ReadDefinitions("file.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name() != "widgets.example.com" || all[1].Name() != "gadgets.example.com" {
		t.Errorf("got %v", all)
	}
	// Notepad and PowerShell write marks of the order of bytes.
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("\r\n" + widget("{type: object}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\ufeff" + widget("{type: object}"), utf16, "%YAML 1.1\n---\n" + widget("{type: object}") + "\n...\n"} {
		if one, _, err := ReadDefinitions("file.yaml", []byte(text)); err != nil || len(one) != 1 {
			t.Errorf("%q: got %v, %v", text[:9], one, err)
		}
	}
	if none, others, err := ReadDefinitions("file.yaml", []byte("apiVersion: v1\nkind: Pod\n")); err != nil || len(none) != 0 || others != 1 {
		t.Errorf("got %v, %v", none, err)
	}
}

func TestVersionsAreThoseServedOrStored(t *testing.T) {
	t.Parallel()
	if got := services(t).Versions(); !slices.Equal(got, []string{"v1beta1", "v1"}) {
		t.Errorf("got %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a version that is not there did not panic")
		}
	}()
	services(t).Schema("v7")
}

func TestDefinitionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"v2":              {strings.Replace(widget("{type: object}"), "k8s.io/v1", "k8s.io/v2", 1), "which does not exist; write apiextensions.k8s.io/v1"},
		"v1beta1":         {strings.Replace(widget("{type: object}"), "k8s.io/v1", "k8s.io/v1beta1", 1), "convert it to apiextensions.k8s.io/v1"},
		"no YAML":         {"a: b: c", "file.yaml:1: not YAML or JSON"},
		"a key twice, <<": {"a: &a {b: 1}\nc: {<<: *a, b: 2}\ne: {d: 1, d: 2}\n", "file.yaml:3: the key d is there twice; remove one"},
		"a key twice":     {"# a\n---\nspec:\n  group: a\n  group: b\n", "file.yaml:5: the key group is there twice; remove one"},
		"template":        {"# rendered by Helm\n---\n{{ .Values.crds }}\n", "file.yaml:3: this is a template, not YAML"},
		"not text":        {"a: \xff\n", "file.yaml:1: this is not text in UTF-8"},
		"aliases":         {"a: &a [" + strings.Repeat("x,", 9000) + "]\nb: [" + strings.Repeat("*a,", 9000) + "]\n", "file.yaml:1: its aliases stand for more"},
		"second":          {"apiVersion: v1\nkind: Pod\n---\n" + widget("{type: string}"), "file.yaml:4: definition widgets.example.com: version v1"},
		"wrong type":      {strings.Replace(widget("{type: object}"), "served: true", "served: perhaps", 1), `file.yaml:1: definition widgets.example.com: spec.versions[0].served: expected true or false, got the text "perhaps"`},
		"versions":        {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b}, spec: {group: b, names: {plural: a, kind: A}}}", "spec.versions is empty"},
		"group":           {strings.Replace(widget("{type: object}"), "group: example.com,", "", 1), "spec.group"},
		"no schema":       {strings.Replace(widget("{type: object}"), "schema: {openAPIV3Schema: {type: object}}", "", 1), "version v1: spec.versions[0].schema.openAPIV3Schema is missing"},
		"preserve":        {strings.Replace(widget("{type: object}"), "scope:", "preserveUnknownFields: true, scope:", 1), "spec.preserveUnknownFields is true"},
		"twice":           {strings.Replace(widget("{type: object}"), "name: v2", "name: v1", 1), "version v1 is duplicated"},
		"nothing served":  {strings.NewReplacer("served: true", "served: false", "storage: true", "storage: false").Replace(widget("{type: object}")), "no version is served or stored"},
		"no type":         {widget(spec("a: {description: x}")), "properties[spec].properties[a].type: must not be empty for specified object fields"},
		"not structural":  {widget(spec("a: {type: object, anyOf: [{type: object}]}")), "anyOf[0].type"},
		"items":           {widget(spec("a: {type: array}")), "properties[spec].properties[a].items"},
		"pattern":         {widget(spec("a: {type: string, pattern: '('}")), "pattern"},
		"rule":            {widget(spec("a: {type: string, x-kubernetes-validations: [{rule: 'self.foo >'}]}")), "x-kubernetes-validations[0].rule"},
		"default":         {widget(spec("a: {type: integer, default: many}")), "properties[spec].properties[a].default"},
		"reference":       {widget(spec("a: {$ref: '#/x'}")), "$ref"},
		"list keys":       {widget(spec("a: {type: array, x-kubernetes-list-type: map, items: {type: object}}")), "x-kubernetes-list-map-keys"},
	} {
		_, _, err := ReadDefinitions("file.yaml", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
}

func TestEveryDocumentedDefinitionIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, name := range fixtures.Definitions() {
		d, err := NewDefinition(name.New())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, version := range d.Versions() {
			objects := d.Generator(version, 1, nil).Objects(Plain, 10)
			sound(t, d.Schema(version), objects)
			if len(objects) < 8 {
				t.Errorf("%s at %s: %d objects, %v", name, version, len(objects), d.Generator(version, 1, nil).Gaps())
			}
		}
	}
}

func TestNewDefinitionLeavesTheDefinitionAsItIs(t *testing.T) {
	t.Parallel()
	crd := fixtures.Webhook.New()
	before := crd.DeepCopy()
	if _, err := NewDefinition(crd); err != nil || encoded(crd) != encoded(before) {
		t.Errorf("%v, %s", err, encoded(crd))
	}
	if _, err := NewDefinition(&apiextensionsv1.CustomResourceDefinition{}); err == nil {
		t.Error("an empty definition is one")
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	d := services(t)
	const good = `{apiVersion: shop.example.com/v1, kind: ShopService, metadata: {name: a}, spec: {replicas: 1, maxReplicas: 2, image: x, ports: [{port: 1, protocol: TCP}]}}`
	read := func(text string) (Corpus, error) {
		samples, err := ReadSamples("file.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return New(d, samples)
	}
	c, err := read(good)
	if err != nil {
		t.Fatal(err)
	}
	if c.Group != "shop.example.com" || c.Kind != "ShopService" || c.Definition != d || len(c.Objects("v1")) != 1 || len(c.Objects("v1beta1")) != 0 || !slices.Equal(c.Versions, []string{"v1beta1", "v1", "v1alpha1"}) || !slices.Equal(c.Mutual(), c.Versions[:2]) {
		t.Errorf("got %+v", c)
	}
	if c, err = read(""); err != nil || len(c.Mutual()) != 2 {
		t.Errorf("without samples: %+v, %v", c, err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"version":  {strings.Replace(good, "com/v1", "com/v1alpha2", 1), `sample shop.example.com/v1alpha2 "a": definition services.shop.example.com does not serve or store the version v1alpha2`},
		"kind":     {strings.Replace(good, "ShopService", "Other", 1), "it is a Other of shop.example.com"},
		"type":     {strings.Replace(good, "replicas: 1", "replicas: one", 1), `spec.replicas`},
		"unknown":  {strings.Replace(good, "image: x", "image: x, extra: y", 1), "spec.extra: API servers drop this"},
		"rule":     {strings.Replace(good, "replicas: 1", "replicas: 9", 1), "replicas must not exceed maxReplicas"},
		"required": {strings.Replace(good, "image: x,", "", 1), "spec.image"},
	} {
		if _, err = read(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
	single := fixtures.Stable.New()
	one, err := NewDefinition(single)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = New(one, nil); err == nil || !strings.Contains(err.Error(), "a conversion needs two") {
		t.Errorf("one version: %v", err)
	}
}

// FuzzNewDefinition holds that no schema makes it panic, and that what is understood can be generated from.
func FuzzNewDefinition(f *testing.F) {
	for _, seed := range []string{
		"{type: object}", spec("a: {type: string, nullable: true, default: x}"), spec("a: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}"),
		spec("a: {type: integer, minimum: 9e18, maximum: 1e300}"), spec("a: {type: string, minLength: 70000}"), spec("a: {type: array, minItems: 5, items: {type: boolean}, x-kubernetes-list-type: set}"),
		"{type: object, additionalProperties: true}", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: array}", "{}", "null", "{type: object, properties: {metadata: {type: object, properties: {name: {type: string, pattern: '^x+$'}}}}}",
		spec("a: {type: string, pattern: '^(?!x)'}"), spec("a: {type: object, maxProperties: 0, properties: {b: {type: string}}}"), spec("'': {type: string}, 'a.b/c': {type: string}"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		all, _, err := ReadDefinitions("file.yaml", []byte(widget(schema)))
		if err != nil || len(all) == 0 {
			return
		}
		g := all[0].Generator("v1", 1, nil)
		for _, style := range styles() {
			sound(t, all[0].Schema("v1"), g.Objects(style, 2))
		}
		g.Minimal()
	})
}
