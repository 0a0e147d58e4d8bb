package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// senders hold more at v1 than at v2: v2 has no mode, no region, no notes on shelves, and of the targets those that are mail.
const senders = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: senders.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: senders, kind: Sender}
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
              size: {type: integer}
              type: {type: string, enum: [Disk, Cloud]}
              region: {type: string}
              store: {type: object, properties: {path: {type: string}, mode: {type: string}}}
              shelves: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, width: {type: integer}, note: {type: string}}}}
              targets: {type: array, items: {type: object, required: [kind, name], properties: {kind: {type: string, enum: [Mail, Chat]}, name: {type: string}}}}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              type: {type: string, enum: [Disk, Cloud]}
              store: {type: object, properties: {path: {type: string}}}
              shelves: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, width: {type: integer}}}}
              mails: {type: array, items: {type: string}}
`

// sender converts senders, and keeps in an annotation what v2 does not hold. What it forgets is asked of the spec as v2 showed it, and as it
// does now.
func sender(forgets func(shown, now map[string]any, part string) bool) stranger {
	const key = "example.com/v1"
	plain := func(value any) string { text, _ := json.Marshal(value); return string(text) }
	shows := func(spec map[string]any) map[string]any {
		var shown map[string]any
		_ = json.Unmarshal([]byte(plain(spec)), &shown)
		delete(shown, "region")
		if store, is := shown["store"].(map[string]any); is {
			delete(store, "mode")
		}
		shelves, _ := shown["shelves"].([]any)
		for _, each := range shelves {
			delete(each.(map[string]any), "note")
		}
		if targets, is := shown["targets"].([]any); is {
			mails := []any{}
			for _, each := range targets {
				if target := each.(map[string]any); target["kind"] == "Mail" {
					mails = append(mails, target["name"])
				}
			}
			delete(shown, "targets")
			shown["mails"] = mails
		}
		return shown
	}
	return stranger{converts: func(from, to string, object map[string]any) string {
		spec, notes := specOf(object), metadataOf(object, "annotations")
		if spec == nil {
			return ""
		}
		if from == "v1" && to == "v2" {
			notes[key] = plain(spec)
			object["spec"] = shows(spec)
			return ""
		}
		if from != "v2" || to != "v1" {
			return ""
		}
		var was map[string]any
		if text, is := notes[key].(string); is {
			_ = json.Unmarshal([]byte(text), &was)
		}
		delete(notes, key)
		var now map[string]any
		_ = json.Unmarshal([]byte(plain(spec)), &now)
		shown := shows(was)
		keeps := func(part string) bool { return was != nil && !forgets(shown, now, part) }
		if keeps("region") && was["region"] != nil {
			spec["region"] = was["region"]
		}
		store, _ := was["store"].(map[string]any)
		if here, is := spec["store"].(map[string]any); is && keeps("mode") && store["mode"] != nil {
			here["mode"] = store["mode"]
		}
		shelves, _ := spec["shelves"].([]any)
		before, _ := was["shelves"].([]any)
		for _, each := range shelves {
			shelf := each.(map[string]any)
			same := func(other any) bool { return other.(map[string]any)["name"] == shelf["name"] }
			if i := slices.IndexFunc(before, same); i >= 0 && keeps("note") {
				if note := before[i].(map[string]any)["note"]; note != nil {
					shelf["note"] = note
				}
			}
		}
		mails, hasMails := spec["mails"].([]any)
		delete(spec, "mails")
		targets := []any{}
		for _, mail := range mails {
			targets = append(targets, map[string]any{"kind": "Mail", "name": mail})
		}
		others, hadTargets := was["targets"].([]any)
		for i, each := range others {
			if each.(map[string]any)["kind"] != "Mail" && keeps("chats") {
				targets = slices.Insert(targets, min(i, len(targets)), each)
			}
		}
		if hasMails || hadTargets {
			spec["targets"] = targets
		}
		return ""
	}}
}

// TestForgotten has webhooks forget what v2 does not show when something is edited there. That a value belongs to what is edited is lawful.
func TestForgotten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: chapters run with five seeds")
	}
	same := func(a, b any) bool {
		one, _ := json.Marshal(a)
		other, _ := json.Marshal(b)
		return string(one) == string(other)
	}
	for name, test := range map[string]struct {
		forgets func(shown, now map[string]any, part string) bool
		want    string // the field, none if nothing is wrong
	}{
		"nothing": {func(_, _ map[string]any, _ string) bool { return false }, ""},
		"a member of a struct when its neighbour is edited": {func(shown, now map[string]any, part string) bool {
			return part == "mode" && !same(shown["store"], now["store"])
		}, "spec.store.mode"},
		"hidden items when another field is edited": {func(shown, now map[string]any, part string) bool {
			return part == "chats" && !same(shown["size"], now["size"])
		}, "spec.targets"},
		"hidden items when an item of another list is edited": {func(shown, now map[string]any, part string) bool {
			return part == "chats" && !same(shown["shelves"], now["shelves"])
		}, "spec.targets"},
		"hidden items when another item is edited": {func(shown, now map[string]any, part string) bool {
			return part == "chats" && !same(shown["mails"], now["mails"])
		}, ""}, // not judged: a webhook may replace the whole of a list
		"everything when anything is edited": {func(shown, now map[string]any, _ string) bool { return !same(shown, now) }, "spec.region"},
		"notes of all shelves when one is edited": {func(shown, now map[string]any, part string) bool {
			return part == "note" && !same(shown["shelves"], now["shelves"]) && len(now["shelves"].([]any)) > 0
		}, ""}, // not judged: a webhook may know the item by what was edited
		"a region where the type has none": {func(_, now map[string]any, part string) bool { return part == "region" && now["type"] == "Disk" }, "also without any edit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range int64(5) {
				subject := served{handler: sender(test.forgets)}.of(t, senders)
				subject.Objects = 20
				for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionEdits) {
					switch {
					case test.want == "" || test.want == "also without any edit":
						if r.Verdict != requirement.Passed {
							t.Errorf("seed %d: %s is %s: %s", seed+1, r.Requirement, r.Verdict, r.Reason)
						}
					case r.Verdict != requirement.Failed || !strings.Contains(r.Reason, test.want):
						t.Errorf("seed %d: %s is %s, want %s: %s", seed+1, r.Requirement, r.Verdict, test.want, r.Reason)
					}
				}
			}
		})
	}
}

// TestShownIsNotForgotten has a webhook keep a subnet in an annotation, which v2 shows as a range of addresses, until a client of v2 edits
// what is there: then v1 has the range too, which holds all that the subnet did.
func TestShownIsNotForgotten(t *testing.T) {
	t.Parallel()
	const note = "example.com/subnet"
	definition := strings.NewReplacer("ref: {type: object, properties: {name: {type: string}, uid: {type: string}}}", "subnet: {type: string, pattern: '^[a-z]{1,9}$'}, range: {type: string}, prefix: {type: integer, minimum: 1}",
		"target: {type: object, properties: {name: {type: string}}}", "range: {type: string}, prefix: {type: integer, minimum: 1}").Replace(renamed)
	shown := func(spec map[string]any) string { return plainText([]any{spec["range"], spec["prefix"]}) }
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		spec, notes := specOf(object), metadataOf(object, "annotations")
		if spec == nil {
			return ""
		}
		delete(spec, "old")
		rename(spec, map[string]string{"v1": "usage", "v2": "uses"}[to], map[string]string{"v1": "uses", "v2": "usage"}[to])
		if subnet, is := spec["subnet"].(string); is && to == "v2" {
			was := plainText(spec["range"])
			delete(spec, "subnet")
			spec["range"] = "all of " + subnet
			notes[note] = plainText([]any{subnet, was, shown(spec)})
		}
		if text, is := notes[note].(string); is && to == "v1" {
			var kept [3]string
			if err := json.Unmarshal([]byte(text), &kept); err != nil {
				return err.Error()
			}
			if delete(notes, note); kept[2] == shown(spec) {
				spec["subnet"] = kept[0]
				delete(spec, "range")
				if kept[1] != "null" {
					spec["range"] = strings.Trim(kept[1], `"`)
				}
			}
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 20
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionEdits) {
		if r.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

func plainText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// TestPartsOfWhatIsReplaced has v1 hold in one text what v2 has in parts, or as it is. The parts that are beside the text at v2 are kept in an
// annotation, until the text is another one.
func TestPartsOfWhatIsReplaced(t *testing.T) {
	t.Parallel()
	const key = "example.com/was"
	definition := strings.Replace(numbers(`{spec: {type: object, properties: {at: {type: string}, note: {type: string}}}}`), "schema: *schema}",
		`schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {note: {type: string}, at: {type: object, properties: {raw: {type: string}, hour: {type: integer, minimum: 0, maximum: 99}}}}}}}}}`, 1)
	parsed := func(text string) map[string]any {
		if hour, err := strconv.ParseInt(text, 10, 8); err == nil && strconv.FormatInt(hour, 10) == text && hour >= 0 && hour < 100 {
			return map[string]any{"hour": hour}
		}
		return map[string]any{"raw": text}
	}
	webhook := func(forgets bool) stranger {
		return stranger{converts: func(from, to string, object map[string]any) string {
			spec, notes := specOf(object), metadataOf(object, "annotations")
			was, _ := notes[key].(string)
			if delete(notes, key); spec == nil || from == to {
				return ""
			}
			if at, is := spec["at"].(map[string]any); is {
				text, isRaw := at["raw"].(string)
				if hour, is := at["hour"]; is && !isRaw {
					text = fmt.Sprint(hour)
				}
				if spec["at"] = text; fmt.Sprint(parsed(text)) != fmt.Sprint(at) {
					kept, _ := json.Marshal(map[string]any{"text": text, "note": spec["note"], "at": at})
					notes[key] = string(kept)
				}
			} else if text, is := spec["at"].(string); is {
				var kept struct {
					Text string         `json:"text"`
					Note any            `json:"note"`
					At   map[string]any `json:"at"`
				}
				spec["at"] = parsed(text)
				if json.Unmarshal([]byte(was), &kept) == nil && kept.Text == text && (!forgets || kept.Note == spec["note"]) {
					spec["at"] = kept.At
				}
			}
			return ""
		}}
	}
	for forgets, want := range map[bool]requirement.Verdict{false: requirement.Passed, true: requirement.Failed} {
		for seed := range int64(3) {
			if r := selected(t, served{handler: webhook(forgets)}.of(t, definition), seed, requirement.WebhookConversionEdits)[0]; r.Verdict != want {
				t.Errorf("forgets with another note: %t, seed %d: got %s, want %s: %s", forgets, seed, r.Verdict, want, r.Reason)
			}
		}
	}
}
