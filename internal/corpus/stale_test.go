package corpus

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// staleCases are differences between an earlier and a newer schema of a spec, with what is to be made of each: what changed, and the spec
// of the object, as it was stored and, where that differs, as it is read.
func staleCases() map[string]struct {
	old, now string
	want     []string
} {
	return map[string]struct {
		old, now string
		want     []string
	}{
		"enum value": {`mode: {type: string, enum: [A, B, Legacy]}`, `mode: {type: string, enum: [A, B]}`, []string{
			`spec.mode: the value "Legacy" is no longer allowed [refused] {"mode":"Legacy"}`,
		}},
		"enum from none": {`mode: {type: string}`, `mode: {type: string, enum: [A, B]}`, []string{
			`spec.mode: only these values are allowed now: "A", "B" [refused] {"mode":"winter"}`,
		}},
		"enum and limits": {`mode: {type: string, enum: [A, Bc], maxLength: 1}`, `mode: {type: string, enum: [A], maxLength: 1}`, nil},
		"boolean": {`flag: {type: boolean}`, `flag: {type: boolean, enum: [true]}`, []string{
			`spec.flag: the value false is no longer allowed [refused] {"flag":false}`,
		}},
		"pattern": {`p: {type: string, pattern: "^[a-z.-]+$"}`, `p: {type: string, pattern: "^[a-z]([a-z.-]*[a-z])?$"}`, []string{
			`spec.p: it must match ^[a-z]([a-z.-]*[a-z])?$ now, and not only ^[a-z.-]+$ [refused] {"p":"-"}`,
		}},
		"looser pattern": {`p: {type: string, pattern: "^[a-z]{1,8}$"}`, `p: {type: string, pattern: "^[a-z0-9]+$"}`, nil},
		"pattern from none": {`p: {type: string}`, `p: {type: string, pattern: "^([0-9]+(ms|s|m|h))+$"}`, []string{
			`spec.p: it must match ^([0-9]+(ms|s|m|h))+$ now [refused] {"p":"winter"}`,
		}},
		"pattern of enum": {`p: {type: string, enum: [a, bc]}`, `p: {type: string, enum: [a, bc], pattern: "^[a-z]+$"}`, nil},
		"minLength": {`p: {type: string, minLength: 1}`, `p: {type: string, minLength: 3}`, []string{
			`spec.p: it must be at least 3 characters long now, and not 1 [refused] {"p":"wi"}`,
		}},
		"maxLength": {`p: {type: string, pattern: "^[a-z]+$"}`, `p: {type: string, pattern: "^[a-z]+$", maxLength: 63}`, []string{
			`spec.p: it must be at most 63 characters long now [refused] {"p":"appxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`,
		}},
		"format": {`p: {type: string}`, `p: {type: string, format: date-time}`, []string{
			`spec.p: it must have the format date-time now [refused] {"p":"winter"}`,
		}},
		"minimum": {`num: {type: integer, minimum: 0}`, `num: {type: integer, minimum: 1}`, []string{
			`spec.num: it must be at least 1 now [refused] {"num":0}`,
		}},
		"minimum from none": {`num: {type: integer}`, `num: {type: integer, minimum: 0}`, []string{
			`spec.num: it must be at least 0 now [refused] {"num":-1}`,
		}},
		"maximum": {`num: {type: integer, maximum: 100}`, `num: {type: integer, maximum: 10}`, []string{
			`spec.num: it must be at most 10 now [refused] {"num":11}`,
		}},
		"exclusive": {`num: {type: number, maximum: 10}`, `num: {type: number, maximum: 10, exclusiveMaximum: true}`, []string{
			`spec.num: it must be less than 10 now [refused] {"num":10}`,
		}},
		"multipleOf": {`num: {type: integer}`, `num: {type: integer, multipleOf: 5}`, []string{
			`spec.num: it must be a multiple of 5 now [refused] {"num":1}`,
		}},
		"int32": {`num: {type: integer, format: int64}`, `num: {type: integer, format: int32}`, []string{
			`spec.num: it must fit into 32 bits now [refused] {"num":-2147483649}`,
		}},
		"fraction": {`num: {type: number}`, `num: {type: integer}`, []string{
			`spec.num: it was a number and must be an integer now [refused] {"num":12.75}`,
		}},
		"required": {`a: {type: object, properties: {b: {type: string}}}`, `a: {type: object, required: [b], properties: {b: {type: string}}}`, []string{
			`spec.a.b: the field is required now [refused] {"a":{}}`,
		}},
		"required, default": {`a: {type: object, properties: {b: {type: string}}}`, `a: {type: object, required: [b], properties: {b: {type: string, default: x}}}`, nil},
		"new and required": {`a: {type: object, properties: {b: {type: string}}}`, `a: {type: object, required: [c], properties: {b: {type: string}, c: {type: string}}}`, []string{
			`spec.a.c: the field is required now [refused] {"a":{}}`,
		}},
		"default": {`num: {type: integer, default: 1}`, `num: {type: integer, default: 2}`, []string{
			`spec.num: the default was 1 and is 2 now [kept] {"num":1}`,
		}},
		"no default": {`num: {type: integer, default: 1}`, `num: {type: integer}`, []string{
			`spec.num: the default was 1, and there is none now [kept] {"num":1}`,
		}},
		"added default": {`num: {type: integer}`, `num: {type: integer, default: 1}`, nil},
		"removed": {`a: {type: object, properties: {b: {type: string}, c: {type: string}}}`, `a: {type: object, properties: {c: {type: string}}}`, []string{
			`spec.a.b: the field is no longer in the schema, so API servers drop it [dropped] {"a":{"b":"winter"}} -> {"a":{}}`,
		}},
		"moved": {`b: {type: string}`, `a: {type: object, properties: {b: {type: string}}}`, []string{
			`spec.b: the field is no longer in the schema, so API servers drop it; spec.a.b is new and has the same name [dropped] {"b":"winter"} -> {}`,
		}},
		"set": {`l: {type: array, items: {type: string}}`, `l: {type: array, items: {type: string}, x-kubernetes-list-type: set}`, []string{
			`spec.l: its items must be distinct now (x-kubernetes-list-type: set) [refused] {"l":["winter","winter"]}`,
		}},
		"map": {`l: {type: array, items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string}}}}`, `l: {type: array, items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}`, []string{
			`spec.l: its items must differ in k now (x-kubernetes-list-type: map) [refused] {"l":[{"k":"winter"},{"k":"winter"}]}`,
		}},
		"fewer keys": {`l: {type: array, items: {type: object, required: [k, j], properties: {k: {type: string}, j: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, j]}`, `l: {type: array, items: {type: object, required: [k, j], properties: {k: {type: string}, j: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k]}`, []string{
			`spec.l: its items must differ in k now (x-kubernetes-list-type: map) [refused] {"l":[{"j":"winter","k":"copper-willow"},{"j":"","k":"copper-willow"}]}`,
		}},
		"minItems": {`l: {type: array, items: {type: string}}`, `l: {type: array, items: {type: string}, minItems: 2}`, []string{
			`spec.l: it must have at least 2 items now [refused] {"l":[]}`,
		}},
		"maxItems": {`l: {type: array, items: {type: string}, x-kubernetes-list-type: set}`, `l: {type: array, items: {type: string}, maxItems: 4, x-kubernetes-list-type: set}`, []string{
			`spec.l: it must have at most 4 items now [refused] {"l":["garnet-nickel-0","ember-1","lemon-2","velvet-jasper-3","olive-willow-4"]}`,
		}},
		"minProperties": {`m: {type: object, additionalProperties: {type: string}}`, `m: {type: object, additionalProperties: {type: string}, minProperties: 2}`, []string{
			`spec.m: it must have at least 2 fields now [refused] {"m":{}}`,
		}},
		"maxProperties": {`m: {type: object, additionalProperties: {type: string}}`, `m: {type: object, additionalProperties: {type: string}, maxProperties: 3}`, []string{
			`spec.m: it must have at most 3 fields now [refused] {"m":{"alpha-0":"garnet-nickel","amber-1":"garnet","anchor-2":"coral","apple-3":"willow-river"}}`,
		}},
		"one of the fields": {`m: {type: object, properties: {a: {type: string}, b: {type: string}}}`, `m: {type: object, maxProperties: 1, properties: {a: {type: string}, b: {type: string}}}`, []string{
			`spec.m: it must have at most 1 field now [refused] {"m":{"a":"garnet","b":"coral"}}`,
		}},
		"null": {`s: {type: string, nullable: true}`, `s: {type: string}`, []string{
			`spec.s: null is no longer allowed, so API servers drop it [dropped] {"s":null} -> {}`,
		}},
		"null, default": {`s: {type: string, nullable: true}`, `s: {type: string, default: x}`, []string{
			`spec.s: null is no longer allowed, so API servers put the default "x" in its place [dropped] {"s":null} -> {"s":"x"}`,
		}},
		"null in a list": {`l: {type: array, items: {type: string, nullable: true}}`, `l: {type: array, items: {type: string}}`, []string{
			`spec.l[*]: null is no longer allowed [refused] {"l":[null]}`,
		}},
		"null in a map": {`m: {type: object, additionalProperties: {type: string, nullable: true}}`, `m: {type: object, additionalProperties: {type: string}}`, []string{
			`spec.m.<key>: null is no longer allowed, so API servers drop it [dropped] {"m":{"willow":null}} -> {"m":{}}`,
		}},
		"type": {`s: {type: string}`, `s: {type: integer}`, []string{
			`spec.s: it was a string and must be an integer now [refused] {"s":"winter"}`,
		}},
		"object to list": {`s: {type: object, properties: {a: {type: string}}}`, `s: {type: array, items: {type: string}}`, []string{
			`spec.s: it was an object and must be a list now [refused] {"s":{}}`,
		}},
		"int-or-string": {`p: {x-kubernetes-int-or-string: true}`, `p: {type: integer}`, []string{
			`spec.p: it was an integer or a string and must be an integer now [refused] {"p":"0%"}`,
		}},
		"string of both": {`p: {x-kubernetes-int-or-string: true}`, `p: {type: string}`, []string{
			`spec.p: it was an integer or a string and must be a string now [refused] {"p":75}`,
		}},
		"to int-or-string": {`p: {type: string}`, `p: {x-kubernetes-int-or-string: true}`, nil},
		"anything": {`a: {x-kubernetes-preserve-unknown-fields: true}`, `a: {type: object, properties: {b: {type: string}}}`, []string{
			`spec.a: it was any value and must be an object now [refused] {"a":"winter"}`,
			`spec.a.b: the schema did not name the field, and it must be a string now [refused] {"a":{"b":75}}`,
			`spec.a: API servers drop fields that the schema does not name now (x-kubernetes-preserve-unknown-fields is gone) [dropped] {"a":{"text":"winter"}} -> {"a":{}}`,
		}},
		"to anything": {`a: {type: object, properties: {b: {type: string}}}`, `a: {x-kubernetes-preserve-unknown-fields: true}`, nil},
		"no more unknown": {`a: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: string}}}`, `a: {type: object, properties: {b: {type: string}}}`, []string{
			`spec.a: API servers drop fields that the schema does not name now (x-kubernetes-preserve-unknown-fields is gone) [dropped] {"a":{"unstructured":{}}} -> {"a":{}}`,
		}},
		"named": {`a: {type: object, x-kubernetes-preserve-unknown-fields: true}`, `a: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: string}}}`, []string{
			`spec.a.b: the schema did not name the field, and it must be a string now [refused] {"a":{"b":62}}`,
		}},
		"entries": {`m: {type: object, additionalProperties: {type: integer}}`, `m: {type: object, additionalProperties: {type: integer, maximum: 3}}`, []string{
			`spec.m.<key>: it must be at most 3 now [refused] {"m":{"meadow":4}}`,
		}},
		"any entries": {`m: {type: object, additionalProperties: true}`, `m: {type: object, additionalProperties: {type: string}}`, []string{
			`spec.m.<key>: it was any value and must be a string now [refused] {"m":{"fern":62}}`,
		}},
		"map to fields": {`m: {type: object, additionalProperties: {type: string}}`, `m: {type: object, properties: {b: {type: integer}}}`, []string{
			`spec.m.b: the schema did not name the field, and it must be an integer now [refused] {"m":{"b":"winter"}}`,
			`spec.m.<key>: arbitrary keys are no longer allowed, so API servers drop what the schema does not name [dropped] {"m":{"timber":"winter"}} -> {"m":{}}`,
		}},
		"fields to map": {`m: {type: object, properties: {b: {type: integer}}}`, `m: {type: object, additionalProperties: {type: string}}`, []string{
			`spec.m.b: it was an integer and must be a string now [refused] {"m":{"b":97}}`,
		}},
		"embedded": {`e: {type: object, x-kubernetes-preserve-unknown-fields: true}`, `e: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}`, []string{
			`spec.e: it must be a whole resource now, with apiVersion, kind and metadata [refused] {"e":{}}`,
		}},
		"no longer one": {`e: {type: object, x-kubernetes-embedded-resource: true, properties: {data: {type: string}}}`, `e: {type: object, properties: {data: {type: string}}}`, []string{
			`spec.e: it is no longer a whole resource, so API servers drop its metadata [dropped] {"e":{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}} -> {"e":{}}`,
		}},
		"oneOf": {`u: {type: object, properties: {a: {type: string}, b: {type: string}}}`, `u: {type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}`, []string{
			`spec.u: there is a oneOf now [refused] {"u":{"a":"willow-winter","b":"ocean"}}`,
		}},
		"looser oneOf": {`u: {type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}`, `u: {type: object, oneOf: [{required: [a]}, {required: [b]}, {required: [c]}], properties: {a: {type: string}, b: {type: string}, c: {type: string}}}`, nil},
		"anyOf": {`s: {type: string}`, `s: {type: string, anyOf: [{pattern: "^a"}, {enum: [none]}]}`, []string{
			`spec.s: there is an anyOf now [refused] {"s":"winter"}`,
		}},
		"not": {`u: {type: object, properties: {a: {type: string}, b: {type: string}}}`, `u: {type: object, not: {required: [a, b]}, properties: {a: {type: string}, b: {type: string}}}`, []string{
			`spec.u: there is a not now [refused] {"u":{"a":"autumn","b":"amber"}}`,
		}},
		"not a member": {`s: {type: string}`, `s: {type: string, not: {enum: [none]}}`, []string{
			`spec.s: there is a not now [refused] {"s":"none"}`,
		}},
		"not a pattern": {`s: {type: string}`, `s: {type: string, not: {anyOf: [{pattern: "^kube-"}, {enum: [1]}]}}`, []string{
			`spec.s: there is a not now [refused] {"s":"kube-"}`,
		}},
		"allOf": {`s: {type: string}`, `s: {type: string, allOf: [{maxLength: 3}]}`, []string{
			`spec.s: it must be at most 3 characters long now [refused] {"s":"wint"}`,
		}},
		"rule": {`r: {type: object, properties: {min: {type: integer}, max: {type: integer}}}`, `r: {type: object, x-kubernetes-validations: [{rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: min must not be more than max}], properties: {min: {type: integer}, max: {type: integer}}}`, []string{
			`spec.r: a rule must hold now: min must not be more than max (!has(self.min) || !has(self.max) || self.min <= self.max) [refused] {"r":{"max":82,"min":84}}`,
		}},
		"rule of a string": {`s: {type: string, maxLength: 50}`, `s: {type: string, maxLength: 50, x-kubernetes-validations: [{rule: "self.startsWith('app-')"}]}`, []string{
			`spec.s: a rule must hold now: self.startsWith('app-') [refused] {"s":"garnet-nickel"}`,
		}},
		"transition rule": {`s: {type: string}`, `s: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf"}]}`, nil},
		"rule of all": {`l: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}`, `l: {type: array, maxItems: 9, items: {type: string, maxLength: 9}, x-kubernetes-validations: [{rule: "self.all(x, x != 'bad')", fieldPath: ""}]}`, []string{
			`spec.l: a rule must hold now: self.all(x, x != 'bad') [refused] {"l":["bad"]}`,
		}},
		"new branch needed": {`u: {type: object, required: [kind], properties: {kind: {type: string, enum: [A, B]}, a: {type: string}}}`, `u: {type: object, required: [kind], properties: {kind: {type: string, enum: [A]}, a: {type: string}, z: {type: string, minLength: 1}}}`, []string{
			`spec.u.kind: the value "B" is no longer allowed [refused] {"u":{"kind":"B"}}`,
		}},
		"two at once": {`a: {type: string, enum: [u, v]}, b: {type: string}`, `a: {type: string, enum: [u]}, b: {type: string, maxLength: 2}`, []string{
			`spec.a: the value "v" is no longer allowed [refused] {"a":"v"}`,
			`spec.b: it must be at most 2 characters long now [refused] {"b":"anc"}`,
		}},
	}
}

func TestEarlier(t *testing.T) {
	t.Parallel()
	for name, test := range staleCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, now := defined(t, widget(spec(test.old))), defined(t, widget(spec(test.now)))
			stale, gaps := now.Generator("v1", 1, nil).Earlier(old)
			var got []string
			for _, s := range stale {
				text := fmt.Sprintf("%s [%s] %s", s, s.Effect, encoded(s.Stored.Object["spec"]))
				if read := encoded(s.Object.Object["spec"]); read != encoded(s.Stored.Object["spec"]) {
					text += " -> " + read
				}
				got = append(got, text)
			}
			for _, gap := range gaps {
				got = append(got, "gap: "+gap.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestEarlierIsSound holds every object to what it is said to be: allowed by the earlier schema, as an API server would store it, and, where
// that is said, refused by the newer one for nothing but the difference.
func TestEarlierIsSound(t *testing.T) {
	t.Parallel()
	for name, test := range staleCases() {
		old, now := defined(t, widget(spec(test.old))), defined(t, widget(spec(test.now)))
		stale, _ := now.Generator("v1", 2, nil).Earlier(old)
		for _, s := range stale {
			sound(t, old.Schema("v1"), []*unstructured.Unstructured{s.Stored})
			read := s.Stored.DeepCopy()
			now.Schema("v1").Read(read.Object)
			if !reflect.DeepEqual(read, s.Object) {
				t.Errorf("%s: %s: reading gives %s, want %s", name, s, encoded(read.Object), encoded(s.Object.Object))
			}
			problems := now.Schema("v1").validated(t.Context(), s.Object.Object)
			if (len(problems) > 0) != (s.Effect == Refused) {
				t.Errorf("%s: %s is %s: %v", name, s, s.Effect, problems)
			}
			if s.Effect == Dropped && reflect.DeepEqual(s.Stored, s.Object) {
				t.Errorf("%s: %s: nothing is dropped", name, s)
			}
		}
		if again, _ := now.Generator("v1", 2, nil).Earlier(old); !reflect.DeepEqual(again, stale) {
			t.Errorf("%s: the same seed makes other objects", name)
		}
	}
}

// TestEarlierOfARealDefinition narrows every field of a real definition, and wants an object for each.
func TestEarlierOfARealDefinition(t *testing.T) {
	t.Parallel()
	old, now := services(t), services(t)
	narrowed := map[string]bool{}
	crd := now.CRD.DeepCopy()
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == "v1" {
			narrow(v.Schema.OpenAPIV3Schema, "", narrowed)
		}
	}
	now, err := NewDefinition(crd)
	if err != nil {
		t.Fatal(err)
	}
	stale, gaps := now.Generator("v1", 1, nil).Earlier(old)
	for _, s := range stale {
		delete(narrowed, s.Path)
		if problems := now.Schema("v1").Problems(s.Object.Object); len(problems) != 1 {
			t.Errorf("%s: it has the problems %v", s, problems)
		}
	}
	if len(stale) < 15 || len(narrowed)+len(gaps) > 0 {
		t.Errorf("there are %d objects and the gaps %v, and nothing shows %v", len(stale), gaps, slices.Sorted(maps.Keys(narrowed)))
	}
}

// narrow gives every scalar and list of a schema a limit that it does not have, and notes where.
func narrow(s *apiextensionsv1.JSONSchemaProps, path string, narrowed map[string]bool) {
	if path == "metadata" || path == "apiVersion" || path == "kind" {
		return
	}
	switch {
	case s.Default != nil, path == "spec.auth.type": // which must stay valid, and two values of which choices name
	case len(s.Enum) > 1:
		s.Enum = s.Enum[1:]
		narrowed[path] = true
	case s.Type == "string" && s.Format == "" && s.MaxLength == nil && s.Pattern == "" && len(s.Enum) == 0:
		s.MaxLength = new(int64(2))
		narrowed[path] = true
	case s.Type == "integer" && s.Maximum == nil:
		s.Maximum = new(float64(5))
		narrowed[path] = true
	case s.Type == "array" && s.MaxItems == nil:
		s.MaxItems = new(int64(2))
		narrowed[path] = true
	}
	for name, inner := range s.Properties {
		narrow(&inner, fieldpath.Child(path, name), narrowed)
		s.Properties[name] = inner
	}
	if s.Items != nil {
		narrow(s.Items.Schema, path+"[*]", narrowed)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		narrow(s.AdditionalProperties.Schema, path+".<key>", narrowed)
	}
}

// TestEarlierOfOtherVersions wants nothing of a version that only one of the definitions has.
func TestEarlierOfOtherVersions(t *testing.T) {
	t.Parallel()
	old := defined(t, strings.ReplaceAll(widget(spec(`a: {type: string}`)), "name: v1,", "name: v0,"))
	stale, gaps := defined(t, widget(spec(`a: {type: integer}`))).Generator("v1", 1, nil).Earlier(old)
	if len(stale)+len(gaps) > 0 {
		t.Errorf("got %v and the gaps %v", stale, gaps)
	}
}

func TestEarlierNames(t *testing.T) {
	t.Parallel()
	named := func(name string) *Definition {
		return defined(t, widget(strings.Replace(spec(`a: {type: string}`), "properties: {spec", "properties: {metadata: {type: object, properties: {name: {type: string, "+name+"}}}, spec", 1)))
	}
	stale, gaps := named("maxLength: 20").Generator("v1", 1, nil).Earlier(named("maxLength: 100"))
	if len(stale) != 1 || len(gaps) > 0 || len(stale[0].Stored.GetName()) <= 20 || stale[0].Path != "metadata.name" {
		t.Errorf("got %v and the gaps %v", stale, gaps)
	}
}

// TestEarlierFollows wants values that a webhook is known to take where nothing is different.
func TestEarlierFollows(t *testing.T) {
	t.Parallel()
	const every = `every: {type: string}, `
	old := defined(t, widget(strings.Replace(spec(every+`mode: {type: string, enum: [A, B]}`), "{spec: {type: object", "{spec: {type: object, required: [every]", 1)))
	now := defined(t, widget(strings.Replace(spec(every+`mode: {type: string, enum: [A]}`), "{spec: {type: object", "{spec: {type: object, required: [every]", 1)))
	g := now.Generator("v1", 1, nil)
	if !g.refuse("spec.every", nil) {
		t.Fatal("there is only one kind of strings")
	}
	stale, _ := g.Earlier(old)
	if len(stale) != 1 {
		t.Fatalf("got %v", stale)
	}
	given, _ := Value(stale[0].Object.Object, "spec.every")
	if _, err := time.ParseDuration(fmt.Sprint(given)); err != nil {
		t.Errorf("spec.every is %v, want a duration", given)
	}
}

func TestMend(t *testing.T) {
	t.Parallel()
	d := defined(t, widget(spec(`mode: {type: string, enum: [A]}, part: {type: object, required: [size], properties: {size: {type: integer, minimum: 1}, note: {type: string}}}`)))
	for _, test := range []struct{ spec, keeps string }{
		{`{"mode":"B","part":{"note":"kept","size":3}}`, "spec.part.size"},
		{`{"part":{"note":"kept"}}`, "spec.part.note"},
		{`{"mode":"A"}`, "spec.mode"},
	} {
		object := widgetOf(t, `{"name":"x"}`, test.spec)
		before := object.DeepCopy()
		mended := d.Generator("v1", 1, nil).Mend(object)
		if mended == nil {
			t.Fatalf("%s: there is nothing", test.spec)
		}
		if problems := d.Schema("v1").Problems(mended.Object); len(problems) > 0 {
			t.Errorf("%s became %s: %v", test.spec, encoded(mended.Object), problems)
		}
		was, _ := Value(object.Object, test.keeps)
		if is, _ := Value(mended.Object, test.keeps); !reflect.DeepEqual(was, is) || !reflect.DeepEqual(object, before) {
			t.Errorf("%s became %s", test.spec, encoded(mended.Object))
		}
	}
}

func TestBeyond(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		old, now string
		want     []string // the first of what was found; nil if there is nothing
		settled  bool
	}{
		{`^[a-z]+$`, `^[a-z0-9]+$`, nil, true},
		{`^[a-z0-9]+$`, `^[a-z]+$`, []string{"0"}, false},
		{`^(ab)*$`, `^(ab){0,3}$`, []string{"abababab"}, false},
		{`^[^:]*:[0-9]*$`, `:`, nil, true},
		{`(^([A-Za-z][A-Za-z0-9_,:]*[A-Za-z0-9_])?$)`, `^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$`, nil, true},
		{`^(?i)[a-z]$`, `^[a-z]$`, []string{"A"}, false},
		{`\bcat\b`, `cat$`, []string{"cat-", "cat.", "cat "}, false},
		{`^.$`, `^[[:print:]]$`, []string{"\u00e4"}, false},
		{`(?m)^a$`, `^a$`, []string{"a\n", "\na"}, false},
		{`^\p{L}+$`, `^\p{Lu}+$`, nil, false}, // too many characters to distinguish
	} {
		n := &node{kind: text, limits: limits{maxLength: unlimited, patterns: []*regexp.Regexp{regexp.MustCompile(test.old)}}}
		found, settled := beyond(n, regexp.MustCompile(test.now))
		ok := len(found) == 0 == (test.want == nil) && (settled || !test.settled)
		for _, one := range found {
			ok = ok && regexp.MustCompile(test.old).MatchString(one) && !regexp.MustCompile(test.now).MatchString(one)
		}
		if !ok || test.want != nil && !slices.Contains(test.want, found[0]) {
			t.Errorf("%s beyond %s: got %q, %t", test.old, test.now, found, settled)
		}
	}
}
