package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// renamed has a part that v2 knows by another name, a list that it knows by another name, and a part that it lacks.
const renamed = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boxes, kind: Box}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      ref: {type: object, properties: {name: {type: string}, uid: {type: string}}},
      old: {type: object, properties: {a: {type: string}, b: {type: string}}},
      uses: {type: array, items: {type: object, properties: {name: {type: string}, size: {type: string}}}}}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      target: {type: object, properties: {name: {type: string}}},
      usage: {type: array, items: {type: object, properties: {name: {type: string}, size: {type: string}}}}}}}}}
`

// TestLostWhole wants a loss to be declared no wider than it is: what is kept beside it, under another name, may not get lost unseen.
func TestLostWhole(t *testing.T) {
	t.Parallel()
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		spec := specOf(object)
		if to == "v1" {
			rename(spec, "target", "ref")
			rename(spec, "usage", "uses")
			return ""
		}
		rename(spec, "ref", "target")
		rename(spec, "uses", "usage")
		delete(spec, "old")
		if target, is := spec["target"].(map[string]any); is {
			delete(target, "uid")
		}
		if usage, _ := spec["usage"].([]any); len(usage) > 1 {
			if second, is := usage[1].(map[string]any); is {
				delete(second, "size")
			}
		}
		return ""
	}}}.of(t, renamed)
	type lost struct {
		field string
		meant bool
	}
	found := map[lost]bool{}
	for _, f := range foundBy(t, subject, requirement.WebhookConversionRoundTrip) {
		if f.From == "v1" {
			found[lost{f.Field, f.Meant()}] = true
		}
	}
	want := map[lost]bool{{"spec.ref.uid", true}: true, {"spec.old", true}: true, {"spec.uses[*].size", false}: true}
	if !maps.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

// TestSpoiltElsewhere has a webhook convert nothing of an object with a value that it cannot decode: that value is not kept in what is lost
// beside it.
func TestSpoiltElsewhere(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(renamed, "  - name: v1\n")
	version := func(name, storage, more string) string {
		return "  - {name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [image], properties: {image: {type: string, minLength: 1}" + more + "}}}}}}\n"
	}
	definition := head + version("v1", "true", ", limit: {type: string}") + version("v2", "false", "")
	subject := served{handler: stranger{converts: func(_, _ string, object map[string]any) string {
		spec := specOf(object)
		if _, has := spec["limit"]; has {
			clear(spec)
		}
		return ""
	}}}.of(t, definition)
	found := map[string]string{}
	for _, f := range foundBy(t, subject, requirement.WebhookConversionRoundTrip) {
		found[f.Field] = f.Instead
	}
	if instead, lost := found["spec.limit"]; !lost || instead != "" {
		t.Errorf("found %v", found)
	}
}

// TestKeptElsewhere has webhooks lose what another version has no field for, by mistake: that version shows it in another field, a third
// version, which lacks it as well, brings it back, or that version brings it back to a third one. What is lost with nothing to show for it may be meant.
func TestKeptElsewhere(t *testing.T) {
	t.Parallel()
	version := func(name, storage, fields string) string {
		return "  - {name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + fields + "}}}}}}\n"
	}
	head, _, _ := strings.Cut(renamed, "  - name: v1\n")
	definition := head + version("v1", "true", "paused: {type: boolean}, note: {type: string}, memo: {type: string}, tag: {type: string}") +
		version("v2", "false", "active: {type: boolean, default: true}") + version("v3", "false", "active: {type: boolean, default: true}, tag: {type: string}")
	const kept, keptTag = "example.com/note", "example.com/tag"
	subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
		spec, notes := specOf(object), metadataOf(object, "annotations")
		if spec == nil {
			return ""
		}
		if paused, is := spec["paused"].(bool); is && to != "v1" && !paused {
			spec["active"] = true // and nothing if it is
		}
		if active, is := spec["active"].(bool); is && to == "v1" {
			spec["paused"] = !active
		}
		if note, is := spec["note"].(string); is && to == "v3" {
			notes[kept] = note
		}
		if note, is := notes[kept].(string); is && from == "v3" && to == "v1" {
			spec["note"] = note
			delete(notes, kept)
		}
		if tag, is := spec["tag"].(string); is && from == "v3" && to == "v2" {
			notes[keptTag] = tag
		}
		if tag, is := notes[keptTag].(string); is && from == "v2" && to == "v3" {
			spec["tag"] = tag
			delete(notes, keptTag)
		}
		if to == "v2" {
			delete(spec, "tag")
		}
		for _, field := range map[bool][]string{true: {"active"}, false: {"paused", "note", "memo"}}[to == "v1"] {
			delete(spec, field)
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	instead := map[string]string{}
	for _, f := range foundBy(t, subject, requirement.WebhookConversionRoundTrip) {
		if f.From == "v1" && f.To == "v2" {
			instead[f.Field] = fmt.Sprintf("%t %s|%s", f.Meant(), f.Instead, f.Place)
		}
	}
	want := map[string]string{
		"spec.note": "false no field of that name, and v1 -> v3 -> v1 keeps it, though v3 has none either|",
		"spec.tag":  "false no field of that name, and v3 -> v2 -> v3 keeps it|",
		"spec.memo": "true |", "spec.paused": "false spec.active in its place|spec.active",
	}
	if !maps.Equal(instead, want) {
		t.Errorf("found %v, want %v", instead, want)
	}
}

// TestDefaultIsNotKept has a webhook lose what the other version has no field for, of which the default alone comes back, since API servers
// fill it in.
func TestDefaultIsNotKept(t *testing.T) {
	t.Parallel()
	definition := strings.NewReplacer("ref: {type: object,", "open: {type: boolean, default: true}, ref: {type: object,").Replace(renamed)
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		if spec := specOf(object); to == "v2" {
			delete(spec, "open")
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	for _, f := range foundBy(t, subject, requirement.WebhookConversionZeroValues) {
		if f.Field == "spec.open" && f.Meant() {
			return
		}
		t.Logf("%+v", f)
	}
	t.Error("the loss of false should be one that may be meant")
}

// TestChangedUnderAnotherName has a webhook cut the values of a field that the other version has under another name. What comes back changed was
// somewhere, so that version has room for it.
func TestChangedUnderAnotherName(t *testing.T) {
	t.Parallel()
	definition := strings.NewReplacer("ref: {type: object,", "prefix: {type: string}, ref: {type: object,",
		"target: {type: object,", "folder: {type: string}, target: {type: object,").Replace(renamed)
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		names := map[string][2]string{"v1": {"folder", "prefix"}, "v2": {"prefix", "folder"}}[to]
		spec := specOf(object)
		if prefix, is := spec[names[0]].(string); is {
			delete(spec, names[0])
			spec[names[1]] = strings.TrimRight(prefix, "/")
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	changed := false
	for _, f := range foundBy(t, subject, requirement.WebhookConversionStrings) {
		if f.Field == "spec.prefix" && f.Effect == "changed" {
			changed = true
			if strings.Contains(f.Message, "no field of that name") {
				t.Errorf("found %q", f.Message)
			}
		}
	}
	if !changed {
		t.Error("no prefix is changed")
	}
}

// TestTraces has a webhook add to objects the labels of all that it has ever converted.
func TestTraces(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	known := map[string]any{}
	subject := served{handler: stranger{change: func(object map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		labels := metadataOf(object, "labels")
		maps.Copy(known, labels)
		if len(labels) > 0 {
			maps.Copy(labels, known)
		}
	}}}.of(t, boxes)
	subject.Objects = 12
	found := foundBy(t, subject, requirement.WebhookBatchIndependent)
	if !slices.ContainsFunc(found, func(f reports.FieldFinding) bool { return strings.HasPrefix(f.Field, "metadata.labels") }) {
		t.Errorf("found %v, want a label of another object", found)
	}
}

// TestEditsOfManyFields has a webhook restore one of many fields from a note, whatever clients of the other version make of it.
func TestEditsOfManyFields(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: hundreds of fields are changed")
	}
	const note = "example.com/last"
	var fields []string
	for i := range 300 {
		fields = append(fields, fmt.Sprintf("f%d: {type: string}", 100+i))
	}
	definition := strings.NewReplacer("ref: {type: object, properties: {name: {type: string}, uid: {type: string}}}", strings.Join(fields, ", "),
		"target: {type: object, properties: {name: {type: string}}}", strings.Join(fields, ", ")).Replace(renamed)
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		spec, notes := specOf(object), metadataOf(object, "annotations")
		if spec == nil {
			return ""
		}
		for from, other := range map[string]string{"uses": "usage", "old": "old"} {
			delete(spec, from)
			delete(spec, other)
		}
		if to == "v2" && spec["f399"] != nil {
			text, err := json.Marshal(spec["f399"])
			if err != nil {
				return err.Error()
			}
			notes[note] = string(text)
		} else if text, noted := notes[note].(string); noted && to == "v1" {
			var last string
			if err := json.Unmarshal([]byte(text), &last); err != nil {
				return err.Error()
			}
			spec["f399"] = last
			delete(notes, note)
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 12
	found := foundBy(t, subject, requirement.WebhookConversionEdits)
	if !slices.ContainsFunc(found, func(f reports.FieldFinding) bool { return f.Field == "spec.f399" }) {
		t.Errorf("found %v, want the edit of spec.f399 to be undone", found)
	}
}

// foundBy are the findings of the spec of a requirement.
func foundBy(t *testing.T, subject *suites.Subject, id requirement.ID) []reports.FieldFinding {
	t.Helper()
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: 1, Select: func(other requirement.ID) bool { return other == id }})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area(0)}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Results) != 1 {
		t.Fatalf("%d results, want one", len(outcome.Results))
	}
	if r := outcome.Results[0]; len(r.Findings) == 0 {
		t.Errorf("%s is %s without findings: %s", r.Requirement, r.Verdict, r.Reason)
	}
	return outcome.Results[0].Findings
}

// TestMarkerOfTwoNames has a webhook lose a member of a union in which there is nothing, and which has another name at the other version. That version
// shows it, which is found out with another member, since one must be there.
func TestMarkerOfTwoNames(t *testing.T) {
	t.Parallel()
	version := func(name, storage, member string) string {
		return "  - {name: " + name + ", served: true, storage: " + storage + ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {from: {type: object, properties: {git: {type: object, required: [url], properties: {url: {type: string}}}, " +
			member + ": {type: object}}, oneOf: [{required: [git]}, {required: [" + member + "]}]}}}}}}}\n"
	}
	head, _, _ := strings.Cut(renamed, "  - name: v1\n")
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		if from, is := specOf(object)["from"].(map[string]any); is && to == "v2" {
			rename(from, "inline", "embedded")
		} else if is {
			delete(from, "embedded")
		}
		return ""
	}}}.of(t, head+version("v1", "true", "inline")+version("v2", "false", "embedded"))
	subject.Objects = 12
	places := map[string]string{}
	for _, f := range foundBy(t, subject, requirement.WebhookConversionRoundTrip) {
		places[f.Field] = f.Place
	}
	if want := map[string]string{"spec.from.inline": "spec.from.embedded", "spec.from.embedded": ""}; !maps.Equal(places, want) {
		t.Errorf("found %v, want %v", places, want)
	}
}
