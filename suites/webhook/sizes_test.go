package webhook

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// runs have a log at v1beta1 that v1 lacks.
const runs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: runs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: runs, kind: Run}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {pipeline: {type: string, maxLength: 100}}}, status: {type: object, properties: {taskRuns: {type: object, maxProperties: 10, additionalProperties: {type: object, properties: {log: {type: string, maxLength: MOST}}}}}}}}}
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {pipeline: {type: string, maxLength: 100}}}, status: {type: object}}}}
`

// TestAnnotationsTooLong has webhooks keep a text in annotations, which is found by arithmetic where the schema lets it be too long for them:
// with any seed, the field and the size are named, and few large objects are sent.
func TestAnnotationsTooLong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: large objects are converted")
	}
	const note = "example.com/task-runs"
	keep := func(encode func([]byte) string, decode func(string) []byte, most int) func(from, to string, object map[string]any) string {
		return func(_, to string, object map[string]any) string {
			status, _ := object["status"].(map[string]any)
			notes := metadataOf(object, "annotations")
			if kept, is := notes[note].(string); is && to == "v1beta1" {
				var taskRuns any
				if err := json.Unmarshal(decode(kept), &taskRuns); err != nil {
					return err.Error()
				}
				delete(notes, note)
				if status == nil {
					status = map[string]any{}
					object["status"] = status
				}
				status["taskRuns"] = taskRuns
			}
			if taskRuns := status["taskRuns"]; taskRuns != nil && to == "v1" {
				text, err := json.Marshal(taskRuns)
				if err != nil || len(text) > most {
					return fmt.Sprintf("%d bytes are too many: %v", len(text), err)
				}
				delete(status, "taskRuns")
				notes[note] = encode(text)
			}
			return ""
		}
	}
	plain := func(most int) func(from, to string, object map[string]any) string {
		return keep(func(text []byte) string { return string(text) }, func(text string) []byte { return []byte(text) }, most)
	}
	for name, test := range map[string]struct {
		converts func(from, to string, object map[string]any) string
		most     string // length of a log
		want     requirement.Verdict
		says     []string
	}{
		"as JSON": {plain(1 << 30), "10000000", requirement.Tolerated, []string{".log: expected a text of 2", "Too long", "each byte adds 1 to"}},
		"in base64": {keep(base64.StdEncoding.EncodeToString, func(text string) []byte {
			decoded, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				panic(err)
			}
			return decoded
		}, 1<<30), "10000000", requirement.Tolerated, []string{".log: expected a text of 2", "Too long", "each byte adds 1.3 to"}},
		"refused by itself":     {plain(200_000), "10000000", requirement.Tolerated, []string{"are too many"}},
		"limited by the schema": {plain(1 << 30), "5000", requirement.Passed, nil},
		"kept in no annotation": {func(_, _ string, _ map[string]any) string { return "" }, "10000000", requirement.Passed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range int64(2) {
				var large atomic.Int64
				subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
					if text, err := json.Marshal(object); err != nil || len(text) > small {
						large.Add(1)
					}
					return test.converts(from, to, object)
				}}}.of(t, strings.ReplaceAll(runs, "MOST", test.most))
				subject.Objects = 12
				for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionHuge) {
					if r.Verdict != test.want {
						t.Errorf("seed %d: %s is %s: %s", seed+1, r.Requirement, r.Verdict, r.Reason)
					}
					for _, text := range test.says {
						if !strings.Contains(r.Reason, text) {
							t.Errorf("seed %d: %q is not said: %.600s", seed+1, text, r.Reason)
						}
					}
				}
				if n := large.Load(); n > 20 {
					t.Errorf("seed %d: %d large objects were sent", seed+1, n)
				}
			}
		})
	}
}
