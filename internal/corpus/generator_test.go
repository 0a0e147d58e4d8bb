package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// styles are all styles but Huge, of which few objects are enough.
func styles() []Style { return []Style{Plain, Text, Integers, Zeros, Nulls} }

// defined reads the only definition of a text.
func defined(tb testing.TB, text string) *Definition {
	tb.Helper()
	all, _, err := ReadDefinitions("file.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	if len(all) != 1 {
		tb.Fatalf("%d definitions", len(all))
	}
	return all[0]
}

// services is the definition in testdata.
func services(tb testing.TB) *Definition {
	tb.Helper()
	text, err := os.ReadFile("testdata/services.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return defined(tb, string(text))
}

// widget is a definition with two versions of one schema, which is YAML in one line.
func widget(schema string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {
		group: example.com, scope: Cluster, names: {plural: widgets, kind: Widget}, versions: [
		{name: v1, served: true, storage: true, schema: {openAPIV3Schema: ` + schema + `}},
		{name: v2, served: true, storage: false, schema: {openAPIV3Schema: ` + schema + `}}]}}`
}

// spec is a schema of objects with a spec of some properties.
func spec(properties string) string {
	return "{type: object, properties: {spec: {type: object, properties: {" + properties + "}}}}"
}

// sound holds that objects are as an API server would store them, and as they are decoded.
func sound(tb testing.TB, s *Schema, objects []*unstructured.Unstructured) {
	tb.Helper()
	for _, object := range objects {
		if problems := s.validated(tb.Context(), object.Object); len(problems) > 0 {
			tb.Fatalf("%s: %v\n%s", object.GetName(), problems, encoded(object.Object))
		}
		prepared := object.DeepCopy()
		s.Prepare(prepared.Object)
		if !reflect.DeepEqual(prepared.Object, object.Object) {
			tb.Fatalf("%s is otherwise when an API server has prepared it:\n%s\n%s", object.GetName(), encoded(object.Object), encoded(prepared.Object))
		}
		var decoded map[string]any
		if err := utiljson.Unmarshal([]byte(encoded(object.Object)), &decoded); err != nil || !reflect.DeepEqual(decoded, object.Object) {
			tb.Fatalf("%s is otherwise when it is decoded: %v\n%s\n%s", object.GetName(), err, encoded(object.Object), encoded(decoded))
		}
		if object.GetUID() == "" || object.GetResourceVersion() == "" || object.GetGeneration() == 0 || object.GetCreationTimestamp().Unix() <= 0 {
			tb.Fatalf("the metadata is poor: %v", object.Object["metadata"])
		}
	}
}

// together is objects as one text.
func together(objects []*unstructured.Unstructured) string {
	return string(bytes.Join(asBytes(JSON(objects...)), nil))
}

func asBytes(raw []json.RawMessage) [][]byte {
	all := make([][]byte, 0, len(raw))
	for _, one := range raw {
		all = append(all, one)
	}
	return all
}

func TestObjectsOfARealDefinition(t *testing.T) {
	t.Parallel()
	d := services(t)
	g := d.Generator("v1", 1, nil)
	for _, style := range styles() {
		objects := g.Objects(style, 40)
		if len(objects) < 36 {
			t.Errorf("%s: %d objects, %v", style, len(objects), g.Gaps())
		}
		sound(t, d.Schema("v1"), objects)
	}
	if gaps := g.Gaps(); len(gaps) > 0 {
		t.Errorf("gaps: %v", gaps)
	}
	minimal := g.Minimal()
	if minimal == nil {
		t.Fatal("there is no minimal object")
	}
	sound(t, d.Schema("v1"), []*unstructured.Unstructured{minimal})
	fields, _, _ := unstructured.NestedMap(minimal.Object, "spec")
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, []string{"image", "maxReplicas", "ports", "replicas", "strategy"}) {
		t.Errorf("the minimal object has %v", got)
	}
}

// Every field of a definition is in some object, or a webhook that loses one would not be found.
func TestPlainObjectsHaveEveryField(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*Definition{"real": services(t), "large": large(t)} {
		objects := d.Generator("v1", 1, nil).Objects(Plain, 60)
		for path := range d.Generator("v1", 1, nil).byPath {
			if all := fieldpath.Split(path); len(all) == 0 || isMeta(all[0].Key) {
				continue
			}
			if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return reaches(o.Object, fieldpath.Split(path)) }) {
				t.Errorf("%s: no object has %s", name, path)
			}
		}
	}
}

func TestStyles(t *testing.T) {
	t.Parallel()
	g := services(t).Generator("v1", 3, nil)
	for style, wanted := range map[Style][]string{
		Text:     {`\u2028`, "🦄", `\u0001`, "שלום", "e\u0301", `\\`},
		Integers: {"9223372036854775807", "-9223372036854775808", "9007199254740993", "2147483647", `"replicas":0`, "1e-7", "123456789.125"},
		Zeros:    {`"enabled":false`, `"generation":0`, `"strategy":""`, `"zones":[]`, `"rows":[]`, `"limits":{}`, `"secret":""`},
		Nulls:    {`"note":null`, `"window":null`, `"size":null`},
	} {
		all := together(g.Objects(style, 60))
		for _, one := range wanted {
			if !strings.Contains(all, one) {
				t.Errorf("%s: there is no %s", style, one)
			}
		}
	}
	for _, object := range g.Objects(Plain, 60) {
		for _, path := range Leaves(object) {
			if value, _ := fieldpath.Value(object.Object, fieldpath.Split(path)); value == nil || IsZero(value) && path != "spec.replicas" {
				t.Errorf("%s is %v in a plain object", path, value)
			}
		}
	}
}

// TestZerosBesideOthers has objects with zeros and other values: a webhook that takes one field for another like it is not found
// by objects in which both have the same value.
func TestZerosBesideOthers(t *testing.T) {
	t.Parallel()
	objects := defined(t, widget(spec("a: {type: boolean}, b: {type: boolean}, name: {type: string}, count: {type: integer}, items: {type: array, items: {type: object, properties: {short: {type: boolean}}}}"))).
		Generator("v1", 1, nil).Objects(Zeros, 30)
	for name, has := range map[string]func(spec map[string]any) bool{
		"one true, one false":  func(spec map[string]any) bool { return spec["a"] == true && spec["b"] == false },
		"the other way around": func(spec map[string]any) bool { return spec["a"] == false && spec["b"] == true },
		"a name, and no count": func(spec map[string]any) bool { return !IsEmpty(spec["name"]) && spec["count"] == int64(0) },
		"a false, and a count": func(spec map[string]any) bool { return spec["a"] == false && !IsEmpty(spec["count"]) },
		"nothing but zeros": func(spec map[string]any) bool {
			return spec["a"] == false && spec["b"] == false && spec["name"] == "" && spec["count"] == int64(0)
		},
		"items that differ": func(spec map[string]any) bool {
			text := fmt.Sprint(spec["items"])
			return strings.Contains(text, "short:true") && strings.Contains(text, "short:false")
		},
	} {
		if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
			spec, _ := o.Object["spec"].(map[string]any)
			return has(spec)
		}) {
			t.Errorf("%s: no object has that: %s", name, together(objects))
		}
	}
}

func TestHuge(t *testing.T) {
	t.Parallel()
	d := large(t)
	objects := d.Generator("v1", 1, nil).Objects(Huge, 2)
	if len(objects) != 2 {
		t.Errorf("%d objects", len(objects))
	}
	for _, object := range objects {
		if bytes := len(encoded(object.Object)); bytes < hugeLeast || bytes > hugeMost {
			t.Errorf("%d bytes", bytes)
		}
	}
	sound(t, d.Schema("v1"), objects)
	bounded := defined(t, widget(spec("a: {type: string, maxLength: 5}, b: {type: boolean}"))).Generator("v1", 1, nil)
	if objects = bounded.Objects(Huge, 1); len(objects) != 1 || !hasGap(bounded, "", "do not allow objects of 300 KiB") {
		t.Errorf("%d objects, %v", len(objects), bounded.Gaps())
	}
}

func hasGap(g *Generator, path, reason string) bool {
	return slices.ContainsFunc(g.Gaps(), func(gap Gap) bool { return gap.Path == path && strings.Contains(gap.Reason, reason) })
}

// The hash is of objects that were made in another process.
func TestTheSameSeedMakesTheSameObjects(t *testing.T) {
	t.Parallel()
	d := services(t)
	hash := sha256.New()
	g := d.Generator("v1", 42, nil)
	first := map[Style]string{}
	for _, style := range styles() {
		first[style] = together(g.Objects(style, 30))
		hash.Write([]byte(first[style]))
	}
	const golden = "65cc704b16058610bf845aed9c707e9a2df7823d3fd9f19a20507718c70463ee"
	if got := hex.EncodeToString(hash.Sum(nil)); got != golden {
		t.Errorf("got %s, want %s: the same seed must make the same objects, or a failure can't be seen again; when that is meant, change the hash", got, golden)
	}
	again := d.Generator("v1", 42, nil)
	var work sync.WaitGroup
	for _, style := range slices.Backward(styles()) {
		work.Go(func() {
			fewer, all := together(again.Objects(style, 11)), together(again.Objects(style, 30))
			if all != first[style] || !strings.HasPrefix(all, fewer) {
				t.Errorf("%s: other objects in another order", style)
			}
		})
	}
	work.Wait()
	if strings.HasPrefix(first[Plain], together(d.Generator("v1", 43, nil).Objects(Plain, 1))) {
		t.Error("another seed makes the same objects")
	}
}

func TestGeneratorsCanBeShared(t *testing.T) {
	t.Parallel()
	g := services(t).Generator("v1", 1, nil)
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			g.Objects(styles()[i], 5)
			g.refuse("spec.image", nil)
			g.Gaps()
			g.Minimal()
		})
	}
	work.Wait()
	sound(t, g.schema, g.Objects(Plain, 5))
}

func TestEveryFormatHasValues(t *testing.T) {
	t.Parallel()
	for format, values := range formats() {
		n := &node{kind: text, limits: limits{format: format, validated: true, maxLength: unlimited}}
		if len(values) < 2 {
			t.Errorf("%s has one value only", format)
		}
		for _, value := range values {
			if !n.acceptsText(value) {
				t.Errorf("%s: upstream refuses %q", format, value)
			}
		}
		if format != "password" && n.acceptsText("!! nothing of the sort !!") {
			t.Errorf("%s: upstream takes anything", format)
		}
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec("when: {type: string}, size: {type: integer}, list: {type: array, items: {type: object, required: [must], properties: {name: {type: string}, must: {type: string}}}}")))
	g := d.Generator("v1", 1, nil)
	// Refusing what is not a duration leads to durations.
	for refused := 0; ; refused++ {
		bad := false
		for _, object := range g.Objects(Plain, 20) {
			when, found, _ := unstructured.NestedString(object.Object, "spec", "when")
			if _, err := time.ParseDuration(when); found && err != nil {
				bad = true
			}
		}
		if !bad {
			break
		}
		if refused > 3 || !g.refuse("spec.when", nil) {
			t.Fatalf("refused %d times, and still no durations", refused)
		}
	}
	if !slices.ContainsFunc(g.Objects(Plain, 20), func(o *unstructured.Unstructured) bool { return reaches(o.Object, fieldpath.Split("spec.when")) }) {
		t.Error("it is left out")
	}
	largest := func() (most int64) {
		for _, object := range g.Objects(Integers, 40) {
			size, _, _ := unstructured.NestedInt64(object.Object, "spec", "size")
			most = max(most, size, -size)
		}
		return most
	}
	sizes := []int64{largest()}
	for g.refuse("spec.size", nil) {
		sizes = append(sizes, largest())
	}
	if !slices.Equal(sizes, []int64{math.MaxInt64, 1 << 31, 10, 0}) {
		t.Errorf("the sizes were %v", sizes)
	}
	if !hasGap(g, "spec.size", "the webhook rejected") {
		t.Errorf("gaps: %v", g.Gaps())
	}
	n := 0
	for g.refuse("spec.list[3].name", nil) {
		n++
	}
	if n != 10 {
		t.Errorf("there were %d changes of a string", n)
	}
	for g.refuse("spec.list[0].must", nil) {
		n++
	}
	must := fieldpath.Split("spec.list[*].must")
	if n != 19 || !slices.ContainsFunc(g.Objects(Plain, 20), func(o *unstructured.Unstructured) bool { return reaches(o.Object, must) }) {
		t.Errorf("what is required was left out, after %d changes", n)
	}
	for _, path := range []string{"", "spec.nothing", "spec.size", "spec.list[0].must"} {
		if g.refuse(path, nil) {
			t.Errorf("%q: there is something to change", path)
		}
	}
	if !g.refuse("spec.list[*]", nil) || g.refuse("spec.list[*]", nil) {
		t.Error("items can be left out once")
	}
	sound(t, d.Schema("v1"), g.Objects(Plain, 20))
}

func TestValuesOfSamplesAreUsed(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec("name: {type: string}, hard: {type: string, pattern: '^(a{999}|b{998}c)d{999}e{900}[^x]*$', maxLength: 12}, odd: {type: integer, maximum: 9}, x: {type: object, properties: {a: {type: integer}, b: {type: integer}}, x-kubernetes-validations: [{rule: 'has(self.a) && self.a * 7 == 539861 && has(self.b) && self.b * 3 == 299613'}]}")))
	sample := func(text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: parsed(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":`+text+`}`)}
	}
	g := d.Generator("v1", 1, []*unstructured.Unstructured{
		sample(`{"name":"from-a-sample","odd":5}`), sample(`{"name":7}`), sample(`{"x":{"a":77123,"b":99871}}`),
	})
	objects := g.Objects(Plain, 40)
	sound(t, d.Schema("v1"), objects)
	all := together(objects)
	for _, want := range []string{"from-a-sample", `"a":77123`} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is in no object", want)
		}
	}
	if !hasGap(g, "spec.hard", "no string was found") {
		t.Errorf("gaps: %v", g.Gaps())
	}
	without := d.Generator("v1", 1, nil)
	if objects = without.Objects(Plain, 10); len(objects) != 10 || !hasGap(without, "spec.x", "no value was found that matches the schema") {
		t.Errorf("%d objects, %v", len(objects), without.Gaps())
	}
}

// A type and the field that belongs to it are what many definitions have.
func TestUnions(t *testing.T) {
	t.Parallel()
	rules, fields := []string{}, []string{"type: {type: string, enum: [Mirror, Redirect, Rewrite, HeaderChange]}"}
	for _, name := range []string{"mirror", "redirect", "rewrite", "headerChange"} {
		value := strings.ToUpper(name[:1]) + name[1:]
		rules = append(rules, "{rule: 'self.type == \""+value+"\" ? has(self."+name+") : !has(self."+name+")'}")
		fields = append(fields, name+": {type: object, required: [to], properties: {to: {type: string}, code: {type: integer}}}")
	}
	union := "{type: object, required: [type], properties: {" + strings.Join(fields, ", ") + "}, x-kubernetes-validations: [" + strings.ReplaceAll(strings.Join(rules, ", "), `\"`, `"`) + "]}"
	d := defined(t, widget(spec("filters: {type: array, maxItems: 4, items: "+union+"}")))
	g := d.Generator("v1", 1, nil)
	objects := g.Objects(Plain, 40)
	sound(t, d.Schema("v1"), objects)
	if len(objects) != 40 || len(g.Gaps()) != 0 {
		t.Errorf("%d objects, %v", len(objects), g.Gaps())
	}
	for _, field := range []string{"mirror", "redirect", "rewrite", "headerChange"} {
		if !strings.Contains(together(objects), `"`+field+`":{`) {
			t.Errorf("no object has %s", field)
		}
	}
}

func TestWhatCannotBeGenerated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, path, reason string }{
		"required rule":    {"{type: object, required: [spec], properties: {spec: {type: integer, x-kubernetes-validations: [{rule: 'self == 7 && self == 8'}]}}}", "spec", "no values were found that match the schema"},
		"required pattern": {"{type: object, required: [spec], properties: {spec: {type: string, pattern: 'a^b'}}}", "spec", "no string was found"},
		"limits":           {"{type: object, required: [spec], properties: {spec: {type: integer, minimum: 5, maximum: 4}}}", "spec", "no number was found"},
		"lengths":          {"{type: object, required: [spec], properties: {spec: {type: string, minLength: 5, maxLength: 4}}}", "spec", "its minimum is more than its maximum"},
		"enum":             {"{type: object, required: [spec], properties: {spec: {type: string, maxLength: 1, enum: [aa, bb]}}}", "spec", "no value of its enum"},
		"set":              {"{type: object, required: [spec], properties: {spec: {type: array, minItems: 3, x-kubernetes-list-type: set, items: {type: boolean}}}}", "spec", "no values were found"},
	} {
		g := defined(t, widget(test.schema)).Generator("v1", 1, nil)
		if objects := g.Objects(Plain, 20); len(objects) != 0 || g.Minimal() != nil || !hasGap(g, test.path, test.reason) {
			t.Errorf("%s: %d objects, %v", name, len(objects), g.Gaps())
		}
	}
	g := defined(t, widget(spec("a: {type: boolean}"))).Generator("v1", 1, nil)
	for _, style := range []Style{Text, Integers, Nulls} {
		if objects := g.Objects(style, 3); len(objects) != 0 || !hasGap(g, "", "of the style "+string(style)) {
			t.Errorf("%s: %d objects, %v", style, len(objects), g.Gaps())
		}
	}
	if len(g.Objects(Plain, 0)) != 0 || len(g.Objects(Plain, -1)) != 0 {
		t.Error("there are objects that nobody asked for")
	}
}

// TestEmptyMetadataCounts has a label and an annotation that are empty be lost, other than an empty field.
func TestEmptyMetadataCounts(t *testing.T) {
	before := map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": ""}, "annotations": map[string]any{"b": ""}}, "c": ""}
	for _, lost := range (*Schema)(nil).Losses(before, map[string]any{"metadata": map[string]any{}}) {
		if lost.Empty != (lost.Path == "c") {
			t.Errorf("%s is empty: %t", lost.Path, lost.Empty)
		}
	}
	if n := len((*Schema)(nil).Losses(before, map[string]any{"metadata": map[string]any{}})); n != 3 {
		t.Errorf("%d are lost", n)
	}
}
