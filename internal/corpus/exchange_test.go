package corpus

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// timers has a field that takes any string by its schema, beside ones with a default.
const timers = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: timers.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: timers, kind: Timer}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              every: {type: string}
              paused: {type: boolean, default: false}
              labels: {type: object, additionalProperties: {type: string}}
              steps:
                type: array
                items: {type: object, properties: {name: {type: string}, note: {type: string}}}
`

func timersDefinition(t *testing.T) *Definition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(timers), crd); err != nil {
		t.Fatal(err)
	}
	d, err := NewDefinition(crd)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func timer(spec string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := object.UnmarshalJSON([]byte(`{"apiVersion":"example.com/v1","kind":"Timer","metadata":{"name":"a"},"spec":` + spec + `}`)); err != nil {
		panic(err)
	}
	return object
}

// TestSuit learns a need of a webhook that the schema does not state, and nothing else with it: fields with defaults keep their
// values.
func TestSuit(t *testing.T) {
	g := timersDefinition(t).Generator("v1", 1, nil)
	adapted := g.Learn(t.Context(), 40, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		causes := make([]string, len(objects))
		for i, object := range objects {
			every, found, _ := unstructured.NestedString(object.Object, "spec", "every")
			if _, err := time.ParseDuration(every); found && err != nil {
				causes[i] = "no duration"
			}
		}
		return causes
	})
	objects, rejections := adapted.Objects, adapted.Rejections
	var durations, paused int
	for _, object := range objects {
		if every, found, _ := unstructured.NestedString(object.Object, "spec", "every"); found {
			if _, err := time.ParseDuration(every); err != nil {
				t.Errorf("%q is no duration", every)
			}
			durations++
		}
		if value, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); value {
			paused++
		}
	}
	if len(objects) != 40 || durations == 0 || paused == 0 {
		t.Errorf("%d objects, %d with a duration, %d paused", len(objects), durations, paused)
	}
	if len(rejections) == 0 {
		t.Fatal("nothing was learned")
	}
	for _, rejection := range rejections {
		if spec, _, _ := unstructured.NestedMap(rejection.Object.Object, "spec"); !rejection.Settled || len(spec) > 2 || spec["paused"] == true {
			t.Errorf("settled: %t, %v", rejection.Settled, spec)
		}
	}
}

// TestSuitGivesUp has everything refused.
func TestSuitGivesUp(t *testing.T) {
	g := timersDefinition(t).Generator("v1", 1, nil)
	adapted := g.Learn(t.Context(), 4, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		causes := make([]string, len(objects))
		for i := range causes {
			causes[i] = "no"
		}
		return causes
	})
	objects, rejections := adapted.Objects, adapted.Rejections
	if len(objects) != 0 || len(rejections) == 0 || rejections[len(rejections)-1].Settled {
		t.Errorf("%d objects, rejections %v", len(objects), rejections)
	}
}

// TestLearnSaysWhatIsDropped has a webhook refuse what cannot be learned, for two causes.
func TestLearnSaysWhatIsDropped(t *testing.T) {
	t.Parallel()
	g := timersDefinition(t).Generator("v1", 1, nil)
	asked := 0
	adapted := g.Learn(t.Context(), 40, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		causes := make([]string, len(objects))
		asked += len(objects)
		for i, object := range objects {
			switch number := strings.TrimPrefix(object.GetName(), "timer-plain-"); number {
			case "5":
				causes[i] = "five"
			case "8", "9":
				causes[i] = "more"
			}
		}
		return causes
	})
	if want := map[string]int{"five": 1, "more": 2}; !maps.Equal(adapted.Dropped, want) || len(adapted.Objects) != 37 || adapted.Asked != asked || adapted.Cut {
		t.Errorf("%d objects, dropped %v, asked %d of %d, cut %t", len(adapted.Objects), adapted.Dropped, adapted.Asked, asked, adapted.Cut)
	}
}

// TestLearnNarrows has a webhook refuse words in one of seven fields, in objects that rules and the schema let nothing be taken from: the
// others keep the values that they have, and nothing is left out.
func TestLearnNarrows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ fields, rules, place string }{
		"a rule wants all of them":       {"soft: {type: object, additionalProperties: {type: string}}, grace: {type: object, additionalProperties: {type: string}}", "has(self.family) && has(self.code) && has(self.a) && has(self.b) && has(self.soft) && has(self.grace) && self.soft.all(k, k in self.grace) && self.grace.all(k, k in self.soft)", "grace"},
		"the schema wants all of them":   {"soft: {type: string}, grace: {type: string}", "true", "grace"},
		"one member of an enum will do":  {"soft: {type: string}, grace: {type: string, enum: [x, 5m, y]}", "has(self.grace) == has(self.soft) && has(self.soft) == has(self.a)", "grace"},
		"one string of a pattern will":   {"soft: {type: string}, grace: {type: string, pattern: '^(now|5m|later)$'}", "has(self.grace) == has(self.soft) && has(self.soft) == has(self.a)", "grace"},
		"one of several lists has words": {"soft: {type: array, items: {type: string}}, grace: {type: array, items: {type: object, required: [every], properties: {every: {type: string}}}}", "has(self.soft) == has(self.grace) && has(self.family) && (!has(self.soft) || self.soft.size() == self.grace.size())", "grace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			required := ""
			if test.rules == "true" {
				required = "required: [family, code, a, b, soft, grace], "
			}
			d := defined(t, widget(fmt.Sprintf(`{type: object, properties: {spec: {type: object, %sx-kubernetes-validations: [{rule: %q}],
				properties: {family: {type: string, enum: [Ubuntu, Alpine]}, code: {type: string, pattern: '^[a-z]{3}$'}, a: {type: string}, b: {type: integer}, %s}}}}`, required, test.rules, test.fields)))
			g := d.Generator("v1", 1, nil)
			adapted := g.Learn(t.Context(), 30, func(_ context.Context, objects []*unstructured.Unstructured) []string {
				causes := make([]string, len(objects))
				for i, object := range objects {
					for _, path := range Leaves(object) {
						value, _ := Value(object.Object, path)
						if text, is := value.(string); is && strings.HasPrefix(path, "spec."+test.place) {
							if _, err := time.ParseDuration(text); err != nil {
								causes[i] = "no duration"
							}
						}
					}
				}
				return causes
			})
			for _, gap := range g.Gaps() {
				if !strings.HasPrefix(gap.Path, "spec."+test.place) || !strings.Contains(gap.Reason, `tried there: "`) {
					t.Errorf("left out: %s: %s", gap.Path, gap.Reason)
				}
			}
			if !slices.ContainsFunc(adapted.Objects, func(o *unstructured.Unstructured) bool { _, found := Value(o.Object, "spec."+test.place); return found }) {
				t.Error("no object has the field")
			}
			for path, nodes := range g.byPath {
				if place := g.places[nodes[0].id]; !strings.HasPrefix(path, "spec."+test.place) && (place.level > 0 || place.refused) {
					t.Errorf("%s has other values: %+v", path, place)
				}
			}
			if len(adapted.Objects) < 20 {
				t.Errorf("%d objects, dropped %v, cut %t", len(adapted.Objects), adapted.Dropped, adapted.Cut)
			}
		})
	}
}

// TestLearnKeepsApart has a webhook refuse lists in which two items have the same in some field, or nothing there: valid lists with several items that
// differ are made, large ones as well, and nothing is left out.
func TestLearnKeepsApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, field string }{
		"texts":           {"{type: array, items: {type: string}}", ""},
		"names":           {"{type: array, items: {type: object, properties: {name: {type: string}, size: {type: integer}}}}", "name"},
		"required names":  {"{type: array, items: {type: object, required: [name, size], properties: {name: {type: string}, size: {type: integer}}}}", "name"},
		"numbers in maps": {"{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}}", "size"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := defined(t, widget(spec("list: "+test.schema)))
			g := d.Generator("v1", 1, nil)
			listOf := func(object *unstructured.Unstructured) []any {
				items, _ := Value(object.Object, "spec.list")
				list, _ := items.([]any)
				return list
			}
			adapted := g.Learn(t.Context(), 300, func(_ context.Context, objects []*unstructured.Unstructured) []string {
				causes := make([]string, len(objects))
				for i, object := range objects {
					seen := map[any]bool{}
					for _, item := range listOf(object) {
						if part, is := item.(map[string]any); is {
							item = part[test.field]
						}
						if seen[item] {
							causes[i] = "there are two of a kind"
						}
						seen[item] = true
					}
				}
				return causes
			})
			if len(g.Gaps()) > 0 || len(adapted.Objects) < 300 || len(adapted.Rejections) == 0 {
				t.Errorf("%d objects, dropped %v, rejections %v, gaps %v", len(adapted.Objects), adapted.Dropped, adapted.Rejections, g.Gaps())
			}
			most := 0
			for _, single := range g.Singles() {
				most = max(most, len(listOf(single.Object)))
			}
			for _, object := range adapted.Objects {
				if problems := d.Schema("v1").Problems(object.Object); len(problems) > 0 {
					t.Errorf("%v: %v", object.Object, problems)
				}
			}
			if most < 100 || !slices.ContainsFunc(adapted.Objects, func(o *unstructured.Unstructured) bool { return len(listOf(o)) > 1 }) {
				t.Errorf("no object has several, or the longest list has only %d", most)
			}
		})
	}
}

// TestLearnAvoidsWhatIsRefused has many of the texts that a pattern allows refused. It takes a few rejections, and not one for each text.
func TestLearnAvoidsWhatIsRefused(t *testing.T) {
	t.Parallel()
	g := defined(t, widget(spec(`address: {type: string, pattern: '^(.|\n)+:[1-9][0-9]{0,3}$'}`))).Generator("v1", 1, nil)
	adapted := g.Learn(t.Context(), 100, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		causes := make([]string, len(objects))
		for i, object := range objects {
			value, _ := Value(object.Object, "spec.address")
			if address, is := value.(string); is && strings.Count(address, ":") > 1 {
				causes[i] = "it has two ports"
			}
		}
		return causes
	})
	if n := len(adapted.Rejections); n == 0 || n > 3 || len(adapted.Objects) < 100 {
		t.Errorf("%d objects after %d rejections: %v", len(adapted.Objects), n, adapted.Rejections)
	}
}

// TestLearnFindsWhatIsMissing has a webhook want fields that the schema does not require: all objects have them once that is learned,
// even if none but the sample was accepted.
func TestLearnFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec("inner: {type: object, properties: {key: {type: string}, other: {type: string}}}, name: {type: string}, must: {type: string}")))
	sample := widgetOf(t, `{"name":"sample"}`, `{"name":"a","must":"b","inner":{"key":"9","other":"c"}}`)
	for name, samples := range map[string][]*unstructured.Unstructured{"with a sample": {sample}, "without": nil} {
		g := d.Generator("v1", 1, samples)
		adapted := g.Learn(t.Context(), 30, func(_ context.Context, objects []*unstructured.Unstructured) []string {
			causes := make([]string, len(objects))
			for i, object := range objects {
				_, key := Value(object.Object, "spec.inner.key")
				_, must := Value(object.Object, "spec.must")
				if !key || !must || len(samples) > 0 && object.GetName() != "sample" && len(adaptedFields(g)) == 0 {
					causes[i] = "something is missing"
				}
			}
			return causes
		})
		if len(adapted.Objects) != 30 || len(adapted.Dropped) > 0 {
			t.Errorf("%s: %d objects, dropped %v", name, len(adapted.Objects), adapted.Dropped)
		}
		if !slices.ContainsFunc(adapted.Objects, func(o *unstructured.Unstructured) bool { _, found := Value(o.Object, "spec.name"); return !found }) {
			t.Errorf("%s: all objects have what need not be there", name)
		}
	}
}

// TestLearnFindsWhatIsNeeded has a webhook break down over one optional field that is missing beside another, in a list too: the field is
// named, all objects have it from then on, and nothing is left out.
func TestLearnFindsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec("done: {type: integer}, phase: {type: string}, list: {type: array, items: {type: object, required: [key], properties: {key: {type: string}, reason: {type: string}}}}")))
	for _, needs := range []string{"spec.phase", "spec.list[0].reason"} {
		g := d.Generator("v1", 1, nil)
		refused := func(_ context.Context, objects []*unstructured.Unstructured) []string {
			causes := make([]string, len(objects))
			for i, object := range objects {
				place := strings.TrimSuffix(strings.TrimSuffix(needs, ".phase"), "[0].reason")
				around, there := Value(object.Object, place)
				items, _ := around.([]any)
				if needs == "spec.phase" {
					items = []any{around}
				}
				for _, item := range items {
					fields, _ := item.(map[string]any)
					if there && fields["phase"] == nil && fields["reason"] == nil {
						causes[i] = "nil pointer"
					}
				}
			}
			return causes
		}
		adapted := g.Learn(t.Context(), 30, refused)
		if len(adapted.Rejections) != 1 || adapted.Rejections[0].Needs != needs || !adapted.Rejections[0].Settled {
			t.Fatalf("%s: got %+v", needs, adapted.Rejections)
		}
		if again := g.Needed(t.Context(), adapted.Rejections[0].Object, refused); again != needs {
			t.Errorf("%s: the object needs %q", needs, again)
		}
		if len(adapted.Objects) != 30 || len(g.Gaps()) > 0 || !slices.ContainsFunc(adapted.Objects, func(o *unstructured.Unstructured) bool { _, found := Value(o.Object, "spec.done"); return found }) {
			t.Errorf("%s: %d objects, gaps %v", needs, len(adapted.Objects), g.Gaps())
		}
	}
}

// adaptedFields are the paths of what is known to be wanted.
func adaptedFields(g *Generator) []string {
	var paths []string
	for path, nodes := range g.byPath {
		if g.places[nodes[0].id].wanted {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestLearnDependsOnNoClock has a slow webhook be learned from as a fast one.
func TestLearnDependsOnNoClock(t *testing.T) {
	t.Parallel()
	learn := func(slow time.Duration) string {
		adapted := timersDefinition(t).Generator("v1", 3, nil).Learn(t.Context(), 10, func(_ context.Context, objects []*unstructured.Unstructured) []string {
			<-time.After(slow)
			causes := make([]string, len(objects))
			for i, object := range objects {
				if every, found, _ := unstructured.NestedString(object.Object, "spec", "every"); found && !strings.HasSuffix(every, "Z") {
					causes[i] = "no time"
				}
			}
			return causes
		})
		return together(adapted.Objects) + strconv.Itoa(adapted.Asked)
	}
	if learn(0) != learn(2*time.Millisecond) {
		t.Error("a slow webhook is asked about other objects")
	}
}

// TestShrinkGoesToDefaults has a default count as nothing, though its spelling is longer.
func TestShrinkGoesToDefaults(t *testing.T) {
	s := timersDefinition(t).Schema("v1")
	small := s.Shrink(t.Context(), timer(`{"every":"alpha","paused":true,"labels":{"a":"b"}}`), func(_ context.Context, object *unstructured.Unstructured) bool {
		_, found, _ := unstructured.NestedString(object.Object, "spec", "every")
		return found
	})
	if got := small.Object["spec"]; !reflect.DeepEqual(got, map[string]any{"every": "", "paused": false}) {
		t.Errorf("got %v", got)
	}
}

func TestPlace(t *testing.T) {
	s := timersDefinition(t).Schema("v1")
	for path, want := range map[string]string{
		"spec.every":                   "spec.every",
		"spec.labels.any":              "spec.labels['*']",
		"spec.labels['example.com/a']": "spec.labels['*']",
		"spec.steps[3].name":           "spec.steps[*].name",
		"spec.unknown.deep[1]":         "spec.unknown.deep[*]",
		"metadata.labels.app":          "metadata.labels.app",
	} {
		if got := s.Place(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := (*Schema)(nil).Place("spec.labels.any[2]"); got != "spec.labels.any[*]" {
		t.Errorf("without a schema: got %s", got)
	}
}

func TestExchange(t *testing.T) {
	a, b := timer(`{"every":"1s","steps":[{"name":"x"}]}`), timer(`{"every":"2s","paused":true,"steps":[{"name":"y"}]}`)
	changed, ok := Exchange(a, b, "spec.steps[0].name")
	if value, found := Value(changed.Object, "spec.steps[0].name"); !ok || !found || value != "y" {
		t.Errorf("got %v, %t", changed, ok)
	}
	if value, _ := Value(a.Object, "spec.steps[0].name"); value != "x" {
		t.Errorf("the object itself was changed: %v", value)
	}
	for _, path := range []string{"spec.paused", "spec.nothing", "spec.steps[1].name", "kind"} {
		if _, ok := Exchange(a, b, path); ok {
			t.Errorf("%s was exchanged", path)
		}
	}
}

func TestOnly(t *testing.T) {
	object := timer(`{"every":"1s","labels":{"a":"b","c":"d"},"steps":[{"name":"x","note":"n"},{"name":"y"}]}`)
	for path, want := range map[string]map[string]any{
		"spec.every":         {"every": "1s"},
		"spec.labels.a":      {"labels": map[string]any{"a": "b"}},
		"spec.steps[1].name": {"steps": []any{map[string]any{"name": "y"}}},
		"spec.steps[0].note": {"steps": []any{map[string]any{"name": "x", "note": "n"}}},
	} {
		only := Only(object, path)
		if !reflect.DeepEqual(only.Object["spec"], any(want)) || only.GetName() != "a" {
			t.Errorf("%s: got %v", path, only.Object)
		}
	}
}

func TestDifferences(t *testing.T) {
	var s *Schema
	a, b := timer(`{"every":"1s"}`).Object, timer(`{"every":"1s","paused":true}`).Object
	if got := s.Differences(a, a); got != nil {
		t.Errorf("got %v", got)
	}
	if got := s.Differences(b, a); len(got) != 1 || got[0].String() != "spec.paused: expected true, got nothing" {
		t.Errorf("got %v", got)
	}
	if got := s.Differences(a, b); len(got) != 1 || got[0].String() != "spec.paused: expected nothing, got true" {
		t.Errorf("got %v", got)
	}
}

// TestListsByKeysThatAreEmpty has an item found whose key an encoder left out because it is empty.
func TestListsByKeysThatAreEmpty(t *testing.T) {
	crd := strings.Replace(timers, "type: array\n", "type: array\n                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [name]\n", 1)
	crd = strings.Replace(crd, "items: {type: object,", "items: {type: object, required: [name],", 1)
	definitions, _, err := ReadDefinitions("file.yaml", []byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	lost := definitions[0].Schema("v1").Losses(timer(`{"steps":[{"name":"","note":"n"}]}`).Object, timer(`{"steps":[{"note":"n"}]}`).Object)
	if len(lost) != 1 || lost[0].Path != "spec.steps[0].name" || !lost[0].Empty {
		t.Errorf("got %v", lost)
	}
}

// TestYAML renders what YAML cannot hold as it is, and what comes out reads back.
func TestYAML(t *testing.T) {
	for _, text := range []string{"plain", "a\u007fb", "\u0085\u009f", "\ufeffmark", "tab\tand\nline", "\u0001", "😀", "\ufffe"} {
		object := timer(`{}`)
		object.Object["spec"] = map[string]any{"every": text}
		var back map[string]any
		if err := yaml.Unmarshal(YAML(object), &back); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, _ := Value(back, "spec.every"); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
}

func TestMultiply(t *testing.T) {
	two := []*unstructured.Unstructured{timer(`{"every":"1s"}`), timer(`{"every":"2s"}`)}
	five := Multiply(two, 5)
	names, uids := map[string]bool{}, map[string]bool{}
	for i, object := range five {
		names[object.GetName()], uids[string(object.GetUID())] = true, true
		if got, _ := Value(object.Object, "spec.every"); got != []string{"1s", "2s"}[i%2] {
			t.Errorf("%d: got %v", i, got)
		}
	}
	if len(five) != 5 || len(names) != 5 || len(uids) != 5 || two[0].GetName() != "a" {
		t.Errorf("%d objects, %d names, %d UIDs", len(five), len(names), len(uids))
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	schema := timersDefinition(t).Schema("v1")
	for _, test := range []struct{ spec, want string }{
		{`{"labels":{"app":"web"},"every":"x"}`, `{"every":"x","labels":{"app":"web","word":"web"}}`},
		{`{"every":"x"}`, `{"every":"x"}`},
		{`{"labels":{}}`, `{"labels":{}}`},
	} {
		before := timer(test.spec)
		before.SetLabels(map[string]string{"own": "1"})
		marked := schema.Marked(before, "word")
		if got := encoded(marked.Object["spec"]); got != test.want {
			t.Errorf("marked %s: %s, want %s", test.spec, got, test.want)
		}
		if labels := marked.GetLabels(); labels["word"] == "" || labels["own"] != "1" || marked.GetAnnotations()["word"] == "" || len(before.GetLabels()) != 1 {
			t.Errorf("marked %s: labels %v, annotations %v, labels before %v", test.spec, labels, marked.GetAnnotations(), before.GetLabels())
		}
	}
}

func TestAltered(t *testing.T) {
	t.Parallel()
	schema := timersDefinition(t).Schema("v1")
	object := timer(`{"every":"10s","paused":false}`)
	for path, want := range map[string]string{"spec.every": "[other a x1 10sx]", "spec.paused": "[true]", "spec.labels": "[]"} {
		values := []any{}
		for _, variant := range schema.Altered(object, path) {
			value, _ := Value(variant.Object, path)
			values = append(values, value)
		}
		if got := fmt.Sprint(values); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}
