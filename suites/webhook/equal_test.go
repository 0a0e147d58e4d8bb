package webhook

import (
	"cmp"
	"encoding/json"
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
)

var equalSeeds = flag.Int("equal-seeds", 1, "TestEqualFields and TestLawfulFields judge each webhook with so many seeds")

// relays have fields that a webhook may confuse, and some that differ between the versions.
const relays = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: relays.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: relays, kind: Relay}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: &schema
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [primary, first, strict, fast]
            properties:
              primary: {type: string, description: Name of the server that is asked.}
              standby: {type: string, description: Name of the server that is asked if the other does not answer.}
              first: {type: integer, minimum: 1}
              last: {type: integer}
              strict: {type: boolean}
              fast: {type: boolean}
              paused: {type: boolean}
              replicas: {type: integer, format: int32, default: 1}
              retries: {type: integer, minimum: 0}
              ratio: {type: number}
              policy: {type: string, enum: [Allow, Forbid, Replace]}
              mode: {type: string, enum: [Hot, Cold]}
              note: {type: string}
              period: {type: string}
              names: {type: array, items: {type: string}}
              zones: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              left: &end {type: object, properties: {host: {type: string}, port: {type: integer, minimum: 1, maximum: 65535}}}
              right: *end
              routes:
                type: array
                items: {type: object, required: [name], properties: {name: {type: string}, alias: {type: string}, weight: {type: integer}}}
              labels: {type: object, additionalProperties: {type: string}}
              notes: {type: object, additionalProperties: {type: string}}
          status:
            type: object
            properties: {replicas: {type: integer, format: int32}, ready: {type: boolean}, phase: {type: string, enum: [Allow, Forbid, Replace]}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`

// both is a webhook that does the same on both ways.
func both(change func(spec map[string]any)) func(from, to string, object map[string]any) {
	return func(_, _ string, object map[string]any) {
		if spec := specOf(object); spec != nil {
			change(spec)
		}
	}
}

// swap gives two fields each other's values.
func swap(a map[string]any, field string, b map[string]any, other string) {
	if a == nil || b == nil {
		return
	}
	one, isOne := a[field]
	two, isTwo := b[other]
	delete(a, field)
	delete(b, other)
	if isTwo {
		a[field] = two
	}
	if isOne {
		b[other] = one
	}
}

func sectionOf(fields map[string]any, name string) map[string]any {
	part, _ := fields[name].(map[string]any)
	return part
}

func swapped(one, other string) func(from, to string, object map[string]any) {
	return both(func(spec map[string]any) { swap(spec, one, spec, other) })
}

// calculated changes a number on the way to v2, and back.
func calculated(field string, forth, back func(float64) float64) func(from, to string, object map[string]any) {
	return func(_, to string, object map[string]any) {
		n, is := specOf(object)[field].(json.Number)
		if !is {
			return
		}
		value, err := n.Float64()
		if err != nil {
			return
		}
		if to == "v2" {
			value = forth(value)
		} else {
			value = back(value)
		}
		specOf(object)[field] = json.Number(strconv.FormatFloat(value, 'f', -1, 64))
	}
}

// spelled changes a text on the way to v2, and back.
func spelled(field string, forth, back func(string) string) func(from, to string, object map[string]any) {
	return func(_, to string, object map[string]any) {
		text, is := specOf(object)[field].(string)
		switch {
		case !is:
		case to == "v2":
			specOf(object)[field] = forth(text)
		default:
			specOf(object)[field] = back(text)
		}
	}
}

// permuted has each of some words become the next on the way to v2.
func permuted(field string, words ...string) func(from, to string, object map[string]any) {
	to := func(by int) func(string) string {
		return func(text string) string {
			if at := slices.Index(words, text); at >= 0 {
				return words[(at+by+len(words))%len(words)]
			}
			return text
		}
	}
	return spelled(field, to(1), to(-1))
}

func negated(field string) func(from, to string, object map[string]any) {
	return both(func(spec map[string]any) {
		if value, is := spec[field].(bool); is {
			spec[field] = !value
		}
	})
}

func reversed(field string) func(from, to string, object map[string]any) {
	return both(func(spec map[string]any) {
		if items, is := spec[field].([]any); is {
			slices.Reverse(items)
		}
	})
}

func letters(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

func plus(n float64) func(float64) float64 { return func(value float64) float64 { return value + n } }

func times(n float64) func(float64) float64 { return func(value float64) float64 { return value * n } }

// TestEqualFields has webhooks judged of which no round trip shows that they confuse fields or values: each must be found, by name.
func TestEqualFields(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the conversions of dozens of webhooks are judged")
	}
	failed, tolerated := requirement.Failed, requirement.Tolerated
	for name, test := range map[string]struct {
		change  func(from, to string, object map[string]any)
		verdict requirement.Verdict
		words   []string
	}{
		"text swapped, one required":      {swapped("primary", "standby"), failed, []string{"what is in spec.primary at v", "is in spec.standby at v", ", and the reverse, though both versions have both"}},
		"text swapped":                    {swapped("note", "period"), failed, []string{"spec.note at v", "is in spec.period"}},
		"numbers swapped":                 {swapped("replicas", "retries"), failed, []string{"spec.replicas", "spec.retries"}},
		"numbers swapped, one required":   {swapped("first", "last"), failed, []string{"spec.first", "spec.last"}},
		"booleans swapped, both required": {swapped("strict", "fast"), failed, []string{"spec.fast", "spec.strict"}},
		"booleans swapped, one required":  {swapped("strict", "paused"), failed, []string{"spec.paused", "spec.strict"}},
		"objects swapped":                 {swapped("left", "right"), failed, []string{"what is in spec.left at v", "is in spec.right at v"}},
		"parts of objects swapped": {both(func(spec map[string]any) {
			swap(sectionOf(spec, "left"), "host", sectionOf(spec, "right"), "host")
		}), failed, []string{"spec.left.host", "spec.right.host"}},
		"maps swapped": {swapped("labels", "notes"), failed, []string{"spec.labels", "spec.notes"}},
		"fields of items swapped": {both(func(spec map[string]any) {
			routes, _ := spec["routes"].([]any)
			for _, route := range routes {
				if fields := route.(map[string]any); fields["alias"] != nil {
					swap(fields, "name", fields, "alias")
				}
			}
		}), failed, []string{"spec.routes[*].alias", "spec.routes[*].name"}},
		"three fields in turn": {func(_, to string, object map[string]any) {
			spec := specOf(object)
			if to == "v2" {
				swap(spec, "primary", spec, "note")
				swap(spec, "note", spec, "standby")
			} else {
				swap(spec, "note", spec, "standby")
				swap(spec, "primary", spec, "note")
			}
		}, failed, []string{"spec.primary", "spec.note", "spec.standby"}},
		"status against spec": {func(_, _ string, object map[string]any) {
			status, _ := object["status"].(map[string]any)
			if status != nil && specOf(object) != nil {
				swap(specOf(object), "replicas", status, "replicas")
			}
		}, failed, []string{"spec.replicas", "status.replicas"}},
		"an enum of the status against one of the spec": {func(_, _ string, object map[string]any) {
			status, _ := object["status"].(map[string]any)
			if status != nil && specOf(object) != nil {
				swap(specOf(object), "policy", status, "phase")
			}
		}, failed, []string{"spec.policy", "status.phase"}},
		"enums of different types swapped": {swapped("policy", "note"), failed, []string{"spec.note", "spec.policy"}},
		"a required boolean negated":       {negated("strict"), failed, []string{"spec.strict", "true and false change places"}},
		"a boolean negated":                {negated("paused"), failed, []string{"spec.paused"}},
		"a boolean negated, false left out": {both(func(spec map[string]any) {
			if value, is := spec["paused"].(bool); is {
				if spec["paused"] = !value; value {
					delete(spec, "paused")
				}
			} else {
				spec["paused"] = true
			}
		}), failed, []string{"spec.paused"}},
		"a number negated":                       {calculated("last", times(-1), times(-1)), failed, []string{"spec.last", "changes its sign"}},
		"a fraction negated":                     {calculated("ratio", times(-1), times(-1)), failed, []string{"spec.ratio"}},
		"one more":                               {calculated("replicas", plus(1), plus(-1)), failed, []string{"spec.replicas", "every number changes by "}},
		"one less":                               {calculated("retries", plus(-1), plus(1)), failed, []string{"spec.retries", "every number changes by "}},
		"one more in a required field":           {calculated("first", plus(1), plus(-1)), failed, []string{"spec.first"}},
		"the rest to 100":                        {calculated("last", func(n float64) float64 { return 100 - n }, func(n float64) float64 { return 100 - n }), failed, []string{"spec.last"}},
		"two members of an enum permuted":        {permuted("policy", "Allow", "Forbid"), failed, []string{"spec.policy", "both versions allow the same values"}},
		"all members of an enum permuted":        {permuted("policy", "Allow", "Forbid", "Replace"), failed, []string{"spec.policy"}},
		"an enum of two permuted":                {permuted("mode", "Hot", "Cold"), failed, []string{"spec.mode"}},
		"a list reversed":                        {reversed("names"), failed, []string{"spec.names: expected the items in their order"}},
		"a list of objects reversed":             {reversed("routes"), failed, []string{"spec.routes: expected the items in their order"}},
		"seconds to milliseconds":                {calculated("last", times(1000), times(0.001)), tolerated, []string{"spec.last", "the same factor", "renamedValues"}},
		"minutes to seconds in a required field": {calculated("first", times(60), times(1.0/60)), tolerated, []string{"spec.first", "the same factor"}},
		"KiB to bytes":                           {calculated("retries", times(1024), times(1.0/1024)), tolerated, []string{"spec.retries"}},
		"a unit after text":                      {spelled("period", func(s string) string { return s + "s" }, func(s string) string { return strings.TrimSuffix(s, "s") }), tolerated, []string{"spec.period", "renamedValues"}},
		"text backwards":                         {spelled("note", letters, letters), tolerated, []string{"spec.note"}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range *equalSeeds {
				found := false
				for _, r := range equallyJudged(t, test.change, relays, int64(seed+1)) {
					found = found || r.Requirement == requirement.WebhookConversionEqualFields
					if r.Requirement != requirement.WebhookConversionEqualFields {
						continue
					}
					if r.Verdict != test.verdict {
						t.Errorf("seed %d: %s is %s, want %s: %s", seed+1, r.Requirement, r.Verdict, test.verdict, r.Reason)
					}
					for _, words := range test.words {
						if !strings.Contains(r.Reason, words) {
							t.Errorf("seed %d: %q is missing: %s", seed+1, words, r.Reason)
						}
					}
					t.Logf("%s", r.Reason)
				}
				if !found {
					t.Errorf("seed %d: it was not judged", seed+1)
				}
			}
		})
	}
}

// equallyJudged judges a webhook by what becomes of fields.
func equallyJudged(t *testing.T, change func(from, to string, object map[string]any), definition string, seed int64) []suites.Result {
	t.Helper()
	subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
		change(from, to, object)
		return ""
	}}}.of(t, definition)
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: seed, Select: func(id requirement.ID) bool {
		return id == requirement.WebhookConversionEqualFields || id == requirement.WebhookConversionRoundTrip
	}})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area(0)}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}

// TestLawfulFields has webhooks judged that do what webhooks may do to fields that two versions have: nothing is held against them.
func TestLawfulFields(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the conversions of a dozen webhooks are judged")
	}
	const kept = "example.com/kept"
	// lowered has a version that holds no more than something of a value, and an annotation for the rest.
	lowered := func(field string, lower func(any) any) func(from, to string, object map[string]any) {
		return func(_, to string, object map[string]any) {
			spec, notes := specOf(object), metadataOf(object, "annotations")
			if spec == nil {
				return
			}
			if to == "v2" {
				if value := spec[field]; value != nil && lower(value) != value {
					text, err := json.Marshal(value)
					if err != nil {
						panic(err)
					}
					notes[kept], spec[field] = string(text), lower(value)
				}
				return
			}
			var value any
			if text, is := notes[kept].(string); is {
				decoder := json.NewDecoder(strings.NewReader(text))
				decoder.UseNumber()
				if decoder.Decode(&value) == nil && lower(value) == spec[field] {
					spec[field] = value
				}
			}
			delete(notes, kept)
		}
	}
	const listsWithoutOrder = `{a: {type: string}, modes: {type: array, x-kubernetes-list-type: set, items: {type: string, enum: [One, Two, Three]}},
		servers: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}, tls: {type: boolean}}}}}`
	differing := func(v1, v2 string) string {
		return strings.Replace(numbers("{spec: {type: object, required: [a], properties: "+v1+"}}"), "schema: *schema}", "schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [a], properties: "+v2+"}}}}}", 1)
	}
	for name, test := range map[string]struct {
		change     func(from, to string, object map[string]any)
		definition string
	}{
		"changes nothing": {func(_, _ string, _ map[string]any) {}, relays},
		"holds lower case, and keeps the rest": {lowered("note", func(value any) any {
			text, _ := value.(string)
			return strings.ToLower(text)
		}), relays},
		"holds up to 5, and keeps the rest": {lowered("last", func(value any) any {
			if n, is := value.(json.Number); is {
				if i, err := n.Int64(); err != nil || i > 5 {
					return json.Number("5")
				}
			}
			return value
		}), relays},
		"one for all, and keeps which": {lowered("policy", func(any) any { return "Allow" }), relays},
		"sorts a set of few words, and items by name, at one version": {func(_, to string, object map[string]any) {
			if spec := specOf(object); to == "v1" && spec != nil {
				modes, _ := spec["modes"].([]any)
				slices.SortFunc(modes, func(a, b any) int { return cmp.Compare(a.(string), b.(string)) })
				servers, _ := spec["servers"].([]any)
				slices.SortFunc(servers, func(a, b any) int {
					return cmp.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
				})
			}
		}, differing(listsWithoutOrder, listsWithoutOrder)},
		"a set in another order": {func(_, _ string, object map[string]any) {
			if zones, is := specOf(object)["zones"].([]any); is {
				slices.Reverse(zones)
			}
		}, relays},
		"a field derived from another": {func(_, to string, object map[string]any) {
			spec := specOf(object)
			if spec == nil {
				return
			}
			if delete(spec, "b"); to == "v2" && spec["a"] != nil {
				spec["b"] = spec["a"]
			}
		}, differing("{a: {type: string}}", "{a: {type: string}, b: {type: string}}")},
		"a field renamed": {func(_, to string, object map[string]any) {
			if spec := specOf(object); to == "v2" {
				swap(spec, "b", spec, "c")
			} else {
				swap(spec, "c", spec, "b")
			}
		}, differing("{a: {type: string}, b: {type: string}}", "{a: {type: string}, c: {type: string}}")},
		"a field wrapped": {func(_, to string, object map[string]any) {
			spec := specOf(object)
			if spec == nil {
				return
			}
			if to == "v2" && spec["b"] != nil {
				spec["in"] = map[string]any{"b": spec["b"]}
				delete(spec, "b")
			} else if to == "v1" && spec["in"] != nil {
				spec["b"] = sectionOf(spec, "in")["b"]
				delete(spec, "in")
			}
		}, differing("{a: {type: string}, b: {type: string}}", "{a: {type: string}, in: {type: object, properties: {b: {type: string}}}}")},
		"a field of the same name that means something else": {func(_, to string, object map[string]any) {
			if spec := specOf(object); to == "v2" {
				swap(spec, "b", spec, "c")
			} else {
				swap(spec, "c", spec, "b")
			}
		}, differing("{a: {type: string}, b: {type: string, description: How many.}}", "{a: {type: string}, b: {type: string, description: How often.}, c: {type: string}}")},
		"zeros left out": {both(func(spec map[string]any) {
			for field, value := range spec {
				if value == false || value == "" || value == json.Number("0") {
					delete(spec, field)
				}
			}
		}), strings.ReplaceAll(relays, "required: [primary, first, strict, fast]", "required: []")},
		"members of an enum in capitals, and some renamed": {spelled("b", func(s string) string {
			return cmp.Or(map[string]string{"Warning": "WARN"}[s], strings.ToUpper(s))
		}, func(s string) string {
			return map[string]string{"ERROR": "Error", "WARN": "Warning", "INFO": "Info"}[s]
		}), differing("{a: {type: string}, b: {type: string, enum: [Error, Warning, Info]}}", "{a: {type: string}, b: {type: string, enum: [ERROR, WARN, INFO]}}")},
		"leaves one value out, and keeps it": {func(_, to string, object map[string]any) {
			spec, notes := specOf(object), metadataOf(object, "annotations")
			switch {
			case spec == nil:
			case to == "v2" && spec["policy"] == "Allow":
				notes[kept] = "Allow"
				delete(spec, "policy")
			case to == "v1" && notes[kept] != nil:
				spec["policy"] = "Allow"
				delete(notes, kept)
			}
		}, relays},
		"loses a field": {func(_, _ string, object map[string]any) { delete(specOf(object), "note") }, relays},
		"adds a field":  {both(func(spec map[string]any) { spec["note"] = "always" }), relays},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range *equalSeeds {
				for _, r := range equallyJudged(t, test.change, test.definition, int64(seed+1)) {
					if r.Requirement == requirement.WebhookConversionEqualFields && r.Verdict != requirement.Passed {
						t.Errorf("seed %d: %s is %s: %s", seed+1, r.Requirement, r.Verdict, r.Reason)
					}
				}
			}
		})
	}
}

// TestRespelledEnum has a webhook confuse members of an enum that the other version has in capitals.
func TestRespelledEnum(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the conversions of a webhook are judged")
	}
	definition := strings.Replace(relays, "{name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}", `name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {mode: {type: string, enum: [HOT, COLD]}}}}}}`, 1)
	confused := map[string]string{"Hot": "COLD", "Cold": "HOT", "HOT": "Cold", "COLD": "Hot"}
	confuse := func(text string) string { return confused[text] }
	found := false
	for _, r := range equallyJudged(t, spelled("mode", confuse, confuse), definition, 1) {
		if r.Requirement != requirement.WebhookConversionEqualFields {
			continue
		}
		found = true
		if r.Verdict != requirement.Failed || !strings.Contains(r.Reason, "both versions allow the same value, but for its case") || strings.Contains(r.Reason, "renamedValues") {
			t.Errorf("it is %s: %s", r.Verdict, r.Reason)
		}
	}
	if !found {
		t.Error("it was not judged")
	}
}
