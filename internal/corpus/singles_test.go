package corpus

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// objectsOf are the objects of singles.
func objectsOf(singles []Single) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(singles))
	for _, single := range singles {
		objects = append(objects, single.Object)
	}
	return objects
}

// abouts are what singles are about, with the spec each has.
func abouts(singles []Single) []string {
	var all []string
	for _, single := range singles {
		all = append(all, fmt.Sprintf("%s %s: %s", single.Path, single.About, encoded(single.Object.Object["spec"])))
	}
	return all
}

func TestSingles(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec(`flag: {type: boolean, default: true}, mode: {type: string, enum: [A, B, ""], default: A}, port: {x-kubernetes-int-or-string: true},
		part: {type: object, properties: {size: {type: integer, default: 7}}}, list: {type: array, items: {type: object, required: [name], properties: {name: {type: string, enum: [x]}, deep: {type: boolean}}}},
		map: {type: object, additionalProperties: {type: integer, enum: [3]}}, nothing: {type: string, enum: [only], default: only}`)))
	g := d.Generator("v1", 1, nil)
	singles := g.Singles()
	sound(t, d.Schema("v1"), objectsOf(singles))
	got := strings.Join(abouts(singles), "\n")
	const defaults = `"flag":true,"mode":"A","nothing":"only"`
	for _, want := range []string{
		`spec.flag a value: {"flag":false,"mode":"A","nothing":"only"}`,
		`spec.mode the value "B": {"flag":true,"mode":"B","nothing":"only"}`,
		`spec.mode the value "": {"flag":true,"mode":"","nothing":"only"}`,
		`spec.port an integer: {` + strings.Replace(defaults, "only\"", "only\",\"port\":", 1),
		`spec.part to be empty: {` + defaults + `,"part":{"size":7}}`,
		`spec.list[*].name the value "x": {"flag":true,"list":[{"name":"x"}],"mode":"A","nothing":"only"}`,
		`spec.list[*].deep a value: {"flag":true,"list":[{"deep":true,"name":"x"}],"mode":"A","nothing":"only"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	texts := 0
	for _, single := range singles {
		if port, there := Value(single.Object.Object, "spec.port"); there {
			if _, isText := port.(string); isText != (single.About == "a string") {
				t.Errorf("%s: the port is %v", single.About, port)
			}
			texts++
		}
		if size, there := Value(single.Object.Object, "spec.part.size"); there && single.Path == "spec.part.size" && (size == int64(7) || size == int64(0)) {
			t.Errorf("the size is %v", size)
		}
	}
	if texts != 6 { // an integer and a string, and 443, 80, 22 and 8443
		t.Errorf("the port is in %d", texts)
	}
	if again := d.Generator("v1", 1, nil).Singles(); !reflect.DeepEqual(again, singles) {
		t.Error("the same seed makes other objects")
	}
	if len(g.Gaps()) != 0 {
		t.Errorf("gaps: %v", g.Gaps())
	}
}

// Each leaf of a real definition is in an object about it, alone.
func TestSinglesOfARealDefinition(t *testing.T) {
	t.Parallel()
	d := services(t)
	g := d.Generator("v1", 1, nil)
	singles := g.Singles()
	sound(t, d.Schema("v1"), objectsOf(singles))
	minimal := len(Leaves(g.Minimal()))
	for path, nodes := range g.byPath {
		if path == "" || isMeta(fieldpath.Split(path)[0].Key) || !nodes[0].isLeaf() || strings.HasPrefix(path, "spec.manifest.") {
			continue
		}
		at := slices.IndexFunc(singles, func(s Single) bool { return s.Path == path })
		if at < 0 {
			t.Errorf("nothing is about %s", path)
			continue
		}
		object := singles[at].Object
		if !reaches(object.Object, fieldpath.Split(path)) {
			t.Errorf("%s is not in the object about it: %v", path, object.Object)
		}
		if n := len(Leaves(object)); n > minimal+12 {
			t.Errorf("the object about %s has %d leaves, and the minimal one %d: %v", path, n, minimal, object.Object)
		}
		if len(object.GetLabels())+len(object.GetAnnotations()) > 0 {
			t.Errorf("the object about %s has %v", path, object.Object["metadata"])
		}
	}
	if len(g.Gaps()) > 0 {
		t.Errorf("gaps: %v", g.Gaps())
	}
}

// A union has each of its members with the discriminator that names it, and the discriminator without.
func TestSinglesOfUnions(t *testing.T) {
	t.Parallel()
	union := func(rules string) string {
		return `{type: object, required: [type], properties: {type: {type: string, enum: [None, URL, HeaderChange]}, url: {type: object, properties: {host: {type: string}}},
			headerChange: {type: object, required: [name], properties: {name: {type: string}}}}` + rules + `}`
	}
	free := defined(t, widget(spec("to: "+union(""))))
	got := strings.Join(abouts(free.Generator("v1", 1, nil).Singles()), "\n")
	for _, want := range []string{
		`spec.to.type the value "URL": {"to":{"type":"URL"}}`,
		`spec.to.url to be empty with type "URL": {"to":{"type":"URL","url":{}}}`,
		`spec.to.url.host a value: {"to":{"type":"URL","url":{"host":"`,
		`spec.to.headerChange.name a value: {"to":{"headerChange":{"name":"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	strict := defined(t, widget(spec("to: "+union(", x-kubernetes-validations: [{rule: '(self.type == \"URL\") == has(self.url)'}, {rule: '(self.type == \"HeaderChange\") == has(self.headerChange)'}]"))))
	g := strict.Generator("v1", 1, nil)
	singles := g.Singles()
	sound(t, strict.Schema("v1"), objectsOf(singles))
	for _, path := range []string{"spec.to.url.host", "spec.to.headerChange.name", "spec.to.type"} {
		if !slices.ContainsFunc(singles, func(s Single) bool { return s.Path == path }) {
			t.Errorf("nothing is about %s; the gaps are %v", path, g.Gaps())
		}
	}
}

func TestSinglesOfChoices(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec("to: {type: object, properties: {a: {type: object, properties: {x: {type: integer}}}, b: {type: string}, c: {type: boolean}}, oneOf: [{required: [a]}, {required: [b]}, {required: [c]}]}")))
	g := d.Generator("v1", 1, nil)
	singles := g.Singles()
	sound(t, d.Schema("v1"), objectsOf(singles))
	got := strings.Join(abouts(singles), "\n")
	for _, want := range []string{`spec.to.a.x a value: {"to":{"a":{"x":`, `spec.to.b a value: {"to":{"b":"`, `spec.to.c a value: {"to":{"c":true}}`} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

// Lists and maps have an object with many items, distinct where they must be, and strings one with a long value.
func TestSinglesThatAreLarge(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec(`text: {type: string}, short: {type: string, maxLength: 63}, named: {type: string, maxLength: 253, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$'},
		list: {type: array, items: {type: string}}, few: {type: array, maxItems: 3, items: {type: string}}, capped: {type: array, maxItems: 20, items: {type: boolean}},
		set: {type: array, x-kubernetes-list-type: set, items: {type: string, pattern: '^[a-z][a-z0-9-]{0,9}$'}}, modes: {type: array, x-kubernetes-list-type: set, items: {type: string, enum: [A, B]}},
		keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string, default: x}}}},
		map: {type: object, additionalProperties: {type: integer}}`)))
	singles := d.Generator("v1", 1, nil).Singles()
	sound(t, d.Schema("v1"), objectsOf(singles))
	sizes := map[string]int{}
	for _, single := range singles {
		if single.About != "many items" && single.About != "a long value" {
			continue
		}
		switch value, _ := Value(single.Object.Object, single.Path); value := value.(type) {
		case string:
			sizes[single.Path] = len(value)
		case []any:
			sizes[single.Path] = len(value)
		case map[string]any:
			sizes[single.Path] = len(value)
		}
	}
	want := map[string]int{"spec.text": longLength, "spec.named": longestName, "spec.list": manyItems, "spec.capped": 20, "spec.set": manyItems, "spec.keyed": manyItems, "spec.map": manyItems}
	for path, size := range want {
		if sizes[path] != size {
			t.Errorf("%s: got %d, want %d", path, sizes[path], size)
		}
	}
	for path := range sizes {
		if _, wanted := want[path]; !wanted && !strings.HasSuffix(path, "]") && !strings.HasSuffix(path, ".name") {
			t.Errorf("%s is large", path)
		}
	}
}

// TestSinglesOfUntypedFields wants values of each type where the schema names none.
func TestSinglesOfUntypedFields(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec("values: {x-kubernetes-preserve-unknown-fields: true}, few: {type: array, maxItems: 1, items: {x-kubernetes-preserve-unknown-fields: true}}")))
	singles := d.Generator("v1", 1, nil).Singles()
	sound(t, d.Schema("v1"), objectsOf(singles))
	sorts := map[string]map[string]bool{"spec.values": {}, "spec.few[*]": {}}
	for _, single := range singles {
		if of := sorts[single.Path]; of != nil {
			d.Schema("v1").anyAt(single.Path, single.Object.Object, func(value any) bool {
				of[fmt.Sprintf("%T", value)] = true
				return false
			})
		}
	}
	for path, got := range sorts {
		for _, want := range []string{"string", "[]interface {}", "map[string]interface {}", "int64", "float64", "bool"} {
			if !got[want] {
				t.Errorf("%s never is a %s: %v", path, want, got)
			}
		}
	}
}

func TestSinglesThatCannotBe(t *testing.T) {
	slow(t)
	t.Parallel()
	never := defined(t, widget(spec("a: {type: integer, x-kubernetes-validations: [{rule: 'self == 7 && self == 8'}]}, b: {type: boolean}, c: {type: integer, minimum: 0, maximum: 0}")))
	g := never.Generator("v1", 1, nil)
	singles := g.Singles()
	if slices.ContainsFunc(singles, func(s Single) bool { return s.Path == "spec.a" || s.Path == "spec.c" }) ||
		!hasGap(g, "spec.a", "no values were found that match the schema") || !hasGap(g, "spec.c", "no value was found but empty ones") {
		t.Errorf("got %v, %v", abouts(singles), g.Gaps())
	}
	var fields []string
	for i := range mostSingles + 10 {
		fields = append(fields, fmt.Sprintf("f%04d: {type: boolean}", i))
	}
	g = defined(t, widget(spec(strings.Join(fields, ", ")))).Generator("v1", 1, nil)
	if singles = g.Singles(); len(singles) != mostSingles || len(g.Gaps()) != 11 {
		t.Errorf("%d objects, %d gaps", len(singles), len(g.Gaps()))
	}
}

// Every single of hundreds of random schemas is valid and has what it is about.
func TestSinglesOfRandomSchemas(t *testing.T) {
	t.Parallel()
	definitions := uint64(60 / portion)
	if testing.Short() && portion > 1 {
		t.Log("only a few of the definitions: -short")
		definitions /= 3
	}
	total, missing := 0, 0
	for number := range definitions {
		d := randomDefinition(t, number)
		g := d.Generator("v1", int64(number), nil)
		singles := g.Singles()
		sound(t, d.Schema("v1"), objectsOf(singles))
		for _, single := range singles {
			if single.Path != "" && !d.Schema("v1").anyAt(single.Path, single.Object.Object, func(any) bool { return true }) {
				t.Errorf("schema %d: %s is not in %s", number, single.Path, encoded(single.Object.Object))
			}
		}
		total += len(singles)
		for _, gap := range g.Gaps() {
			if strings.Contains(gap.Reason, "must have at most") || strings.Contains(gap.Reason, "but empty ones") || strings.Contains(gap.Reason, "API servers reject every") {
				continue // these schemas allow none
			}
			missing++
			t.Logf("schema %d: %v", number, gap)
		}
	}
	t.Logf("%d objects, %d gaps", total, missing)
	if missing > total/50 {
		t.Error("too many cannot be made")
	}
}

func BenchmarkSingles(b *testing.B) {
	g := large(b).Generator("v1", 1, nil)
	made := 0
	for b.Loop() {
		made += len(g.Singles())
	}
	b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "objects/s")
}

// TestSpecialSingles wants each field to have what is special about values by itself, also below a rule about another field.
func TestSpecialSingles(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec(`name: {type: string}, short: {type: string, maxLength: 5}, every: {type: string, default: 1h}, part: {type: object, x-kubernetes-validations: [{rule: "!has(self.least) || self.least < 1000"}],
		properties: {least: {type: integer, format: int32}, share: {type: integer, minimum: 0, maximum: 50}, list: {type: array, items: {type: object, properties: {text: {type: string}}}}}}`)))
	singles := d.Generator("v1", 1, nil).Singles()
	sound(t, d.Schema("v1"), objectsOf(singles))
	got, edges := map[string]bool{}, map[string]int{}
	for _, single := range singles {
		if strings.HasPrefix(single.About, "the text ") {
			edges[single.Path]++
		} else if single.Style != Plain {
			got[fmt.Sprintf("%s %s %s", single.Style, single.Path, single.About)] = true
		}
		if single.About == "many items" {
			got[single.Path+" has many items"] = true
		}
	}
	want := map[string]bool{
		"text spec.name text": true, "text spec.part.list[*].text text": true, "zeros spec.every no time": true,
		"integers spec.part.least the number -2147483648": true, "spec.part.list has many items": true,
		"large spec.part.list more items than a byte counts": true,
		"large spec.name a text of more than 64 KiB":         true, "large spec.part.list[*].text a text of more than 64 KiB": true,
	}
	if all := 1 + len(telling()); edges["spec.name"] != all || edges["spec.part.list[*].text"] != all || len(edges) != 2 {
		t.Errorf("of the %d texts that programs take apart there are %v", all, edges)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLongTextsAreShared has the objects with more than 64 KiB in a field have the same text, whichever the field.
func TestLongTextsAreShared(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec(`one: {type: string}, two: {type: string}, three: {type: object, properties: {four: {type: string}}}`)))
	texts := map[*byte]bool{}
	objects := 0
	for _, single := range d.Generator("v1", 1, nil).Singles() {
		if value, _ := Value(single.Object.Object, single.Path); single.Style == Large {
			text, _ := value.(string)
			texts[unsafe.StringData(text)] = true
			objects++
		}
	}
	if objects != 3 || len(texts) != 1 {
		t.Errorf("%d objects have %d texts", objects, len(texts))
	}
}
