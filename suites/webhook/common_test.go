package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// assorted is a definition with items, a switch, and texts, one of which has a default.
var assorted = numbers(`{spec: {type: object, properties: {
  paused: {type: boolean}, first: {type: string}, second: {type: string}, third: {type: string}, hint: {type: string}, mode: {type: string, enum: [Slow, Fast], default: Slow},
  items: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, note: {type: string}, port: {type: integer}}}},
  named: {type: object, additionalProperties: {type: object, properties: {note: {type: string}, port: {type: integer}}}},
  union: {type: object, properties: {
    one: {type: object, properties: {note: {type: string}, port: {type: integer}}}, two: {type: object, properties: {note: {type: string}, port: {type: integer}}},
    three: {type: object, properties: {note: {type: string}, port: {type: integer}}}}}}}}`)

// TestOneDefect has webhooks with a defect that shows in several places. What they take, or where their values are, is said of all.
func TestOneDefect(t *testing.T) {
	t.Parallel()
	type finding struct{ Effect, When, Instead string }
	for name, test := range map[string]struct {
		change func(spec map[string]any)
		want   []finding
	}{
		"other items": {func(spec map[string]any) {
			items, _ := spec["items"].([]any)
			for _, item := range items {
				if fields, is := item.(map[string]any); is && len(items) > 1 {
					delete(fields, "note")
				}
			}
		}, []finding{{"lost", "where spec.items has several items", ""}}},
		"other entries": {func(spec map[string]any) {
			entries, _ := spec["named"].(map[string]any)
			for _, entry := range entries {
				if fields, is := entry.(map[string]any); is && len(entries) > 1 {
					delete(fields, "note")
				}
			}
		}, []finding{{"lost", "where spec.named has several items", ""}}},
		"any item": {func(spec map[string]any) {
			items, _ := spec["items"].([]any)
			for _, item := range items {
				if fields, is := item.(map[string]any); is {
					delete(fields, "note")
				}
			}
		}, []finding{{"lost", "", ""}}},
		"a switch": {func(spec map[string]any) {
			if spec["paused"] == true {
				maps.DeleteFunc(spec, func(field string, _ any) bool {
					return field != "paused" && field != "hint" && field != "mode" && field != "items" && field != "named"
				})
			}
		}, []finding{{"lost", "where spec.paused is true", ""}}},
		"a field that is missing": {func(spec map[string]any) {
			if spec["hint"] == nil {
				maps.DeleteFunc(spec, func(field string, _ any) bool { return field == "first" || field == "second" || field == "third" })
			}
		}, []finding{{"lost", "without spec.hint", ""}}},
		"a switch of one field": {func(spec map[string]any) {
			if spec["paused"] == true {
				delete(spec, "first")
			}
		}, []finding{{"lost", "", ""}}},
		"members of a union": {func(spec map[string]any) {
			union, _ := spec["union"].(map[string]any)
			for _, first := range []string{"one", "two", "three"} {
				if union[first] != nil {
					maps.DeleteFunc(union, func(member string, _ any) bool { return member != first })
				}
			}
		}, []finding{{"lost", "where spec.union has several members", ""}}},
		"a member that is never kept": {func(spec map[string]any) {
			if union, _ := spec["union"].(map[string]any); union != nil {
				delete(union, "two")
			}
		}, []finding{{"lost", "", ""}}},
		"two fields change places": {func(spec map[string]any) {
			first, second := spec["first"], spec["second"]
			delete(spec, "first")
			delete(spec, "second")
			if first != nil {
				spec["second"] = first
			}
			if second != nil {
				spec["first"] = second
			}
		}, []finding{{"moved", "", "spec.first"}, {"moved", "", "spec.second"}}},
		"one function of several fields": {func(spec map[string]any) {
			for _, field := range []string{"first", "second", "third"} {
				if text, _ := spec[field].(string); text != "" {
					spec[field] = text + "."
				}
			}
		}, []finding{{"changed", `in the same way, such as from "0" to "0."`, ""}}},
		"a function of each field": {func(spec map[string]any) {
			for _, field := range []string{"first", "second", "third"} {
				if text, _ := spec[field].(string); text != "" {
					spec[field] = text + field
				}
			}
		}, []finding{{"changed", "", ""}}},
		"the default of a field that is there": {func(spec map[string]any) {
			if spec["mode"] == "Fast" {
				spec["mode"] = "Slow"
			}
		}, []finding{{"changed", "", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: changesAt("v2", test.change)}.of(t, assorted)
			subject.Objects = 60
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip) {
				var got []finding
				for _, f := range r.Findings {
					if one := (finding{f.Effect, f.When, f.Instead}); !slices.Contains(got, one) {
						got = append(got, one)
					}
				}
				slices.SortFunc(got, func(a, b finding) int { return strings.Compare(a.Instead, b.Instead) })
				if r.Verdict != requirement.Failed || !slices.Equal(got, test.want) {
					t.Errorf("%s is %s with %q, want %q: %s", r.Requirement, r.Verdict, got, test.want, r.Reason)
				}
				if said := strings.Contains(r.Reason, `got "Slow", the default at v1`); said != (name == "the default of a field that is there") {
					t.Errorf("that it is the default is said: %t: %s", said, r.Reason)
				}
			}
		})
	}
}

// TestEmptyBeside has a webhook lose three fields of an object in which any list or object is empty, as those do that keep them only if the object
// that they write is the one that they read. It is one cause.
func TestEmptyBeside(t *testing.T) {
	t.Parallel()
	subject := served{handler: changesAt("v2", func(spec map[string]any) {
		for _, value := range spec {
			if reflect.DeepEqual(value, []any{}) || reflect.DeepEqual(value, map[string]any{}) {
				maps.DeleteFunc(spec, func(field string, _ any) bool { return field == "first" || field == "second" || field == "third" })
			}
		}
	})}.of(t, assorted)
	subject.Objects = 60
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionZeroValues) {
		fields := map[string]string{}
		for _, f := range r.Findings {
			fields[f.Field] = f.When
		}
		const when = "where another field is an empty list or object"
		if want := map[string]string{"spec.first": when, "spec.second": when, "spec.third": when}; !maps.Equal(fields, want) {
			t.Errorf("%s: %q, want %q: %s", r.Requirement, fields, want, r.Reason)
		}
	}
}

// TestRetold has a webhook replace the name of a version wherever it stands in an object. It is one cause, for values, items of sets and keys.
func TestRetold(t *testing.T) {
	t.Parallel()
	subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
		text, err := json.Marshal(object)
		if err == nil {
			err = json.Unmarshal(bytes.ReplaceAll(text, []byte("example.com/"+from), []byte("example.com/"+to)), &object)
		}
		if err != nil {
			return err.Error()
		}
		return ""
	}}}.of(t, strings.Replace(assorted, "paused:", "names: {type: array, x-kubernetes-list-type: set, items: {type: string}}, paused:", 1))
	subject.Objects = 12
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip, requirement.WebhookConversionStrings) {
		fields := map[string]bool{}
		for _, f := range r.Findings {
			fields[f.Field] = true
			if f.When != "where text names a version of the API" {
				t.Errorf("%s: %s is %s %s: %s", r.Requirement, f.Field, f.Effect, f.When, f.Message)
			}
		}
		if r.Verdict != requirement.Failed || len(fields) < 3 {
			t.Errorf("%s is %s, of %v: %s", r.Requirement, r.Verdict, fields, r.Reason)
		}
	}
}

// TestOneBreakdown has a webhook break down over an object of either of two versions that lacks a field, which has another name at each. It is one
// cause, also on the way back from a third version, where nobody sees the field.
func TestOneBreakdown(t *testing.T) {
	t.Parallel()
	schema := func(of string) string {
		return `{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {` + of + `}}}}}`
	}
	definition := strings.Replace(numbers(`{spec: {type: object, properties: {deep: {type: object, properties: {level: {type: integer}, name: {type: string}}}}}}`),
		"  - {name: v2, served: true, storage: false, schema: *schema}",
		"  - {name: v2, served: true, storage: false, schema: "+schema("low: {type: object, properties: {grade: {type: integer}, name: {type: string}}}")+"}\n"+
			"  - {name: v3, served: true, storage: false, schema: "+schema("deep: {type: object, properties: {level: {type: integer}, name: {type: string}}}")+"}", 1)
	subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
		spec := specOf(object)
		if spec == nil {
			return ""
		}
		rename := func(field, other, inner, otherInner string) {
			deep, is := spec[field].(map[string]any)
			if !is {
				return
			}
			delete(spec, field)
			spec[other] = deep
			if level, has := deep[inner]; has {
				delete(deep, inner)
				deep[otherInner] = level
			}
		}
		if from == "v2" {
			rename("low", "deep", "grade", "level")
		}
		if deep, is := spec["deep"].(map[string]any); is && to == "v3" {
			if _, has := deep["level"]; !has {
				panic("there is no level")
			}
		}
		if to == "v2" {
			rename("deep", "low", "level", "grade")
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	whens, findings := map[string]bool{}, 0
	for _, r := range selected(t, subject, 1, requirement.WebhookFailureAvoided, requirement.WebhookConversionRoundTrip) {
		for _, f := range r.Findings {
			whens[f.When] = true
			findings++
		}
	}
	if len(whens) != 1 || findings < 2 || whens[""] {
		t.Errorf("%d findings have the causes %v, want one", findings, slices.Sorted(maps.Keys(whens)))
	}
}

// TestOneBreakdownOnTwoWays has a webhook break down over an object of one version without a spec, whichever the other is. It is one cause, also on
// the way back.
func TestOneBreakdownOnTwoWays(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, properties: {text: {type: string}}}}`) + "  - {name: v3, served: true, storage: false, schema: *schema}\n"
	subject := served{handler: stranger{converts: func(from, _ string, object map[string]any) string {
		if from == "v2" && object["spec"] == nil {
			panic("there is no spec")
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	for _, r := range selected(t, subject, 1, requirement.WebhookFailureAvoided, requirement.WebhookConversionRoundTrip) {
		for _, f := range r.Findings {
			if f.When != "without spec" {
				t.Errorf("%s: %s -> %s: the cause is %q: %s", r.Requirement, f.From, f.To, f.When, f.Message)
			}
		}
		if r.Verdict != requirement.Failed {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// TestOneBreakdownOverOneField has a webhook panic over a value of one version. On the way there from the other version, where the field has another
// name, it is about the same field.
func TestOneBreakdownOverOneField(t *testing.T) {
	t.Parallel()
	definition := strings.Replace(numbers(`{spec: {type: object, properties: {text: {type: string}}}}`), "schema: *schema}",
		`schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {words: {type: string}}}}}}}`, 1)
	subject := served{handler: stranger{converts: func(from, _ string, object map[string]any) string {
		field, other := "text", "words"
		if from == "v2" {
			field, other = other, field
		}
		spec := specOf(object)
		value, has := spec[field]
		if from == "v1" && has && strings.ToLower(fmt.Sprint(value)) != value {
			panic("no upper case")
		}
		if has {
			spec[other] = value
			delete(spec, field)
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	ways := map[string][]string{}
	for _, r := range selected(t, subject, 1, requirement.WebhookFailureAvoided, requirement.WebhookConversionRoundTrip, requirement.WebhookConversionStrings, requirement.WebhookConversionZeroValues, requirement.WebhookConversionEdits) {
		for _, f := range r.Findings {
			if way := f.From + " -> " + f.To; !slices.Contains(ways[way], f.Field+f.When) {
				ways[way] = append(ways[way], f.Field+f.When)
			}
		}
	}
	if diff := cmp.Diff(map[string][]string{"v1 -> v2": {"spec.text"}, "v2 -> v1": {"spec.text"}}, ways); diff != "" {
		t.Errorf("the fields by way (-want +got):\n%s", diff)
	}
}

// TestOneTurn has a webhook lose several fields where another one is there, or is not. Each has another name at each version, and it is one cause
// all the same.
func TestOneTurn(t *testing.T) {
	t.Parallel()
	names := map[string]string{"paused": "suspend", "first": "one", "second": "two", "hint": "clue"}
	definition := strings.Replace(numbers(`{spec: {type: object, properties: {paused: {type: boolean}, first: {type: string}, second: {type: string}, hint: {type: integer}}}}`), "schema: *schema}",
		`schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {suspend: {type: boolean}, one: {type: string}, two: {type: string}, clue: {type: integer}}}}}}}`, 1)
	for name, test := range map[string]struct {
		isOff func(spec map[string]any) bool
		want  []string // any of these
	}{
		"there":     {func(spec map[string]any) bool { return spec["paused"] == true }, []string{"where spec.paused is true", "where spec.suspend is true"}},
		"not there": {func(spec map[string]any) bool { return spec["hint"] == nil }, []string{"without spec.hint", "without spec.clue"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
				spec := specOf(object)
				into := map[string]any{}
				for field, other := range names {
					if from == "v2" {
						field, other = other, field
					}
					if value, has := spec[field]; has {
						into[other] = value
					}
				}
				if to == "v1" && test.isOff(into) {
					delete(into, "first")
					delete(into, "second")
				}
				if spec != nil {
					object["spec"] = into
				}
				return ""
			}}}.of(t, definition)
			subject.Objects = 12
			whens, fields := map[string]bool{}, map[string]bool{}
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip) {
				for _, f := range r.Findings {
					whens[f.When], fields[f.Field] = true, true
				}
			}
			if len(whens) != 1 || len(fields) != 4 || !slices.ContainsFunc(test.want, func(want string) bool { return whens[want] }) {
				t.Errorf("%v have the causes %v, want one of %v", slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(whens)), test.want)
			}
		})
	}
}

// TestTurnsOfVersions has a webhook lose, on the way back from each other version, the fields that begin with a letter where a switch of that letter is
// true. What it takes to find out about one leaves enough for the next.
func TestTurnsOfVersions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: several seconds")
	}
	letters, want := map[string]string{}, map[string]bool{}
	var fields, versions strings.Builder
	for i, letter := range []string{"a", "b", "c", "d", "e"} {
		version := fmt.Sprintf("v%d", i+2)
		letters[version], want["where spec."+letter+" is true"] = letter, true
		fmt.Fprintf(&fields, "%s: {type: boolean}, ", letter)
		for n := range 4 {
			fmt.Fprintf(&fields, "%s%d: {type: string}, ", letter, n)
		}
		if version != "v2" {
			fmt.Fprintf(&versions, "  - {name: %s, served: true, storage: false, schema: *schema}\n", version)
		}
	}
	definition := numbers(`{spec: {type: object, properties: {` + fields.String() + `}}}`)
	definition = strings.Replace(definition, "  - {name: v2,", versions.String()+"  - {name: v2,", 1)
	subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
		spec := specOf(object)
		if letter := letters[from]; to == "v1" && spec[letter] == true {
			maps.DeleteFunc(spec, func(field string, _ any) bool { return field != letter && strings.HasPrefix(field, letter) })
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	whens := map[string]bool{}
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip) {
		for _, f := range r.Findings {
			whens[f.When] = true
		}
	}
	if !maps.Equal(whens, want) {
		t.Errorf("the causes are %q, want %q", slices.Sorted(maps.Keys(whens)), slices.Sorted(maps.Keys(want)))
	}
}

// TestTurnsOfOneVersion has a webhook lose fields by three switches on the way between two versions: each is named, since one that is found says nothing of
// what the other fields take.
func TestTurnsOfOneVersion(t *testing.T) {
	t.Parallel()
	letters, want := []string{"a", "b", "c"}, map[string]bool{}
	var fields strings.Builder
	for _, letter := range letters {
		want["where spec."+letter+" is true"] = true
		fmt.Fprintf(&fields, "%s: {type: boolean}, %[1]s0: {type: string}, %[1]s1: {type: string}, %[1]s2: {type: string}, ", letter)
	}
	subject := served{handler: changesAt("v2", func(spec map[string]any) {
		for _, letter := range letters {
			if spec[letter] == true {
				maps.DeleteFunc(spec, func(field string, _ any) bool { return field != letter && strings.HasPrefix(field, letter) })
			}
		}
	})}.of(t, numbers(`{spec: {type: object, properties: {`+fields.String()+`}}}`))
	subject.Objects = 12
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip) {
		for _, f := range r.Findings {
			delete(want, f.When)
		}
		if len(want) > 0 {
			t.Errorf("%q are not named: %s", slices.Sorted(maps.Keys(want)), r.Reason)
		}
	}
}

// TestOrderByChance has a webhook list what it has in a map, in whichever order. What is in the metadata of an object has nothing to do with that, also if
// the order happens to be another one without it.
func TestOrderByChance(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		chance := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // the same each time
		var one sync.Mutex
		subject := served{handler: changesAt("v2", func(spec map[string]any) {
			one.Lock()
			defer one.Unlock()
			items, _ := spec["items"].([]any)
			chance.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		})}.of(t, assorted)
		subject.Objects = 12
		for _, r := range selected(t, subject, int64(seed), requirement.WebhookConversionRoundTrip) {
			for _, f := range r.Findings {
				if strings.Contains(f.When, "metadata") {
					t.Errorf("%s is %s %s: %s", f.Field, f.Effect, f.When, f.Message)
				}
			}
			if r.Verdict != requirement.Failed {
				t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
			}
		}
	}
}

// TestHomes has a webhook lose the same at two versions, where it has other names. It is said under which name the stored version has it.
func TestHomes(t *testing.T) {
	t.Parallel()
	definition := strings.Replace(numbers(`{spec: {type: object, properties: {text: {type: string}, count: {type: integer}}}}`), "schema: *schema}",
		`schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {words: {type: string}, count: {type: integer}}}}}}}`, 1)
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		if spec := specOf(object); spec != nil {
			from, into := "text", "words"
			if to == "v1" {
				from, into = into, from
			}
			if text, is := spec[from].(string); is {
				delete(spec, from)
				spec[into] = strings.TrimSpace(text)
			}
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	fields := map[string]string{}
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionStrings) {
		for _, f := range r.Findings {
			fields[f.From+" "+f.Field] = f.Home
		}
	}
	if want := map[string]string{"v1 spec.text": "spec.text", "v2 spec.words": "spec.text"}; !maps.Equal(fields, want) {
		t.Errorf("the fields are at %v, want %v", fields, want)
	}
}

// TestUndoneByAnnotation has a webhook bring back from an annotation what was removed, and says so.
func TestUndoneByAnnotation(t *testing.T) {
	t.Parallel()
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string { stale(to, object, false); return "" }}}.of(t, lacking(t, shops))
	subject.Objects = 12
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionEdits) {
		if r.Verdict != requirement.Failed || slices.ContainsFunc(r.Findings, func(f reports.FieldFinding) bool { return !f.Annotation }) {
			t.Errorf("%s is %s with %v: %s", r.Requirement, r.Verdict, r.Findings, r.Reason)
		}
	}
}
