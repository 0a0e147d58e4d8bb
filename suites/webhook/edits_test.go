package webhook

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// valves have a state at v1 where v1alpha1 only says whether they are paused.
const valves = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: valves.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: valves, kind: Valve}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {STATUS}
    schema: {openAPIV3Schema: {type: object, properties: {PART: {type: object, properties: {state: {type: string, enum: [Running, Draining, Stopped]}, unit: {type: string}}}}}}
  - name: v1alpha1
    served: true
    storage: false
    subresources: {STATUS}
    schema: {openAPIV3Schema: {type: object, properties: {PART: {type: object, properties: {paused: {type: boolean}, unit: {type: string}}}}}}
`

// valve converts valves. It keeps the state in an annotation if keeps says so, and restores it if restores does.
func valve(part string, keeps func(state string) bool, restores func(state string, paused, current bool) bool) stranger {
	const key = "example.com/state"
	return stranger{converts: func(from, to string, object map[string]any) string {
		notes, fields := metadataOf(object, "annotations"), map[string]any{}
		if of, is := object[part].(map[string]any); is {
			fields = of
		}
		generation := fmt.Sprint(object["metadata"].(map[string]any)["generation"])
		switch {
		case from == "v1" && to == "v1alpha1":
			if state, is := fields["state"].(string); is {
				fields["paused"] = state != "Running"
				if keeps(state) {
					notes[key] = state + " " + generation
				}
			}
			delete(fields, "state")
		case from == "v1alpha1" && to == "v1":
			paused, is := fields["paused"].(bool)
			if is {
				fields["state"] = map[bool]string{true: "Stopped", false: "Running"}[paused]
			}
			note, _ := notes[key].(string)
			if state, at, noted := strings.Cut(note, " "); is && noted && restores(state, paused, at == generation) {
				fields["state"] = state
			}
			delete(fields, "paused")
			delete(notes, key)
		}
		return ""
	}}
}

// TestEditsRaiseGeneration has webhooks restore from an annotation, which is lawful while metadata.generation says that nothing was edited.
// With the status subresource it does not say that of the status.
func TestEditsRaiseGeneration(t *testing.T) {
	t.Parallel()
	always := func(string) bool { return true }
	whileCurrent := func(_ string, _, current bool) bool { return current }
	for name, test := range map[string]struct {
		part, status string
		keeps        func(state string) bool
		restores     func(state string, paused, current bool) bool
		want         requirement.Verdict
	}{
		"while the generation is the same":      {"spec", "", always, whileCurrent, requirement.Passed},
		"while it is, with a status":            {"spec", "status: {}", always, whileCurrent, requirement.Passed},
		"a status without the subresource":      {"status", "", always, whileCurrent, requirement.Passed},
		"a status with the subresource":         {"status", "status: {}", always, whileCurrent, requirement.Failed},
		"always":                                {"spec", "", always, func(string, bool, bool) bool { return true }, requirement.Failed},
		"always, for some":                      {"spec", "", func(state string) bool { return state == "Draining" }, func(string, bool, bool) bool { return true }, requirement.Failed},
		"when a pause is over":                  {"spec", "", always, func(state string, paused, _ bool) bool { return paused == (state != "Running") || !paused }, requirement.Failed},
		"when a pause begins":                   {"spec", "", always, func(state string, paused, _ bool) bool { return paused == (state != "Running") || paused }, requirement.Failed},
		"while what v1alpha1 shows is the same": {"spec", "", always, func(state string, paused, _ bool) bool { return paused == (state != "Running") }, requirement.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: valve(test.part, test.keeps, test.restores)}.of(t, strings.NewReplacer("PART", test.part, "STATUS", test.status).Replace(valves))
			subject.Objects = 12
			for seed := range int64(3) {
				for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionEdits) {
					if r.Verdict != test.want || r.Verdict == requirement.Failed && !strings.Contains(r.Reason, test.part+".paused") {
						t.Errorf("seed %d: %s is %s, want %s: %s", seed+1, r.Requirement, r.Verdict, test.want, r.Reason)
					}
				}
			}
		})
	}
}

// TestEditsOfWhatIsNotedAlone has a webhook keep the text of a duration that is not in seconds, beside a field that the other version lacks. Objects
// with many fields have a note about that one, and a duration that needs none.
func TestEditsOfWhatIsNotedAlone(t *testing.T) {
	t.Parallel()
	const key = "example.com/only"
	definition := strings.Replace(numbers(`{spec: {type: object, properties: {timeout: {type: string, pattern: '^[0-9]{1,4}(s|m)$', default: 30s}, owner: {type: string}}}}`), "schema: *schema}",
		`schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {seconds: {type: integer, minimum: 0, maximum: 9999}}}}}}}`, 1)
	webhook := func(isStale, stays bool) stranger {
		return stranger{converts: func(from, to string, object map[string]any) string {
			spec, is := object["spec"].(map[string]any)
			if !is || from == to {
				return ""
			}
			notes, kept := metadataOf(object, "annotations"), map[string]any{}
			text, _ := notes[key].(string)
			_ = json.Unmarshal([]byte(text), &kept)
			if from == "v1" {
				if !stays {
					kept = map[string]any{}
				}
				if owner, is := spec["owner"]; is {
					kept["owner"] = owner
				}
				if text, is := spec["timeout"].(string); is {
					seconds, _ := strconv.Atoi(text[:len(text)-1])
					if strings.HasSuffix(text, "m") {
						seconds *= 60
					}
					spec["seconds"] = seconds
					if kept["seconds"] = seconds; fmt.Sprintf("%ds", seconds) != text {
						kept["timeout"] = text
					}
				}
				delete(spec, "owner")
				delete(spec, "timeout")
				if text, _ := json.Marshal(kept); len(kept) > 0 {
					notes[key] = string(text)
				}
				return ""
			}
			if !stays {
				delete(notes, key)
			}
			if seconds, is := spec["seconds"]; is {
				spec["timeout"] = fmt.Sprintf("%vs", seconds)
				if was, is := kept["timeout"]; is && (isStale || fmt.Sprint(kept["seconds"]) == fmt.Sprint(seconds)) {
					spec["timeout"] = was
				}
			}
			if owner, is := kept["owner"]; is {
				spec["owner"] = owner
			}
			delete(spec, "seconds")
			return ""
		}}
	}
	for name, test := range map[string]struct {
		webhook stranger
		want    requirement.Verdict
	}{
		"as long as the number is the same": {webhook(false, false), requirement.Passed},
		"always":                            {webhook(true, false), requirement.Failed},
		"in a note that stays":              {webhook(false, true), requirement.Failed},
	} {
		for seed := range int64(3) {
			r := selected(t, served{handler: test.webhook}.of(t, definition), seed, requirement.WebhookConversionEdits)[0]
			if r.Verdict != test.want {
				t.Errorf("%s, seed %d: got %s: %s", name, seed, r.Verdict, r.Reason)
			}
			if r.Verdict == requirement.Failed {
				t.Log(r.Reason)
			}
		}
	}
}

// TestEditsThatOnlyNotesOutlast has a webhook take the whole spec from an annotation on the way back, and nothing from anywhere else. What is created at
// v2 is lost, and what is changed there is undone.
func TestEditsThatOnlyNotesOutlast(t *testing.T) {
	t.Parallel()
	const key = "example.com/spec"
	subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
		notes := metadataOf(object, "annotations")
		if from == "v1" && to == "v2" && object["spec"] != nil {
			kept, _ := json.Marshal(object["spec"])
			notes[key] = string(kept)
		}
		if from == "v2" && to == "v1" {
			text, _ := notes[key].(string)
			spec := map[string]any{}
			_ = json.Unmarshal([]byte(text), &spec)
			object["spec"] = spec
			delete(notes, key)
		}
		return ""
	}}}.of(t, numbers(`{spec: {type: object, properties: {text: {type: string}, count: {type: integer}}}}`))
	if r := selected(t, subject, 1, requirement.WebhookConversionEdits)[0]; r.Verdict != requirement.Failed || !strings.Contains(r.Reason, "v1 -> v2, changed there -> v1 -> v2") {
		t.Errorf("got %s: %s", r.Verdict, r.Reason)
	}
}
