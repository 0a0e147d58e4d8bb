package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/requirement"
)

// unless is the reference webhook for requests that nothing speaks against; on others it closes the connection, or fails.
func unless(against func(contract.Request) bool, closes bool) http.Handler {
	failing, _ := webhook.FaultNamed("fails-valid-objects")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		request, err := contract.ParseRequest(body)
		switch {
		case err != nil || !against(request):
			webhook.Handler().ServeHTTP(w, r)
		case closes:
			panic(http.ErrAbortHandler)
		default:
			webhook.Handler(failing).ServeHTTP(w, r)
		}
	})
}

// TestWebhooksThatBreakDown has webhooks judged that convert everything but what one spec alone sends.
func TestWebhooksThatBreakDown(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.Handler
		want    requirement.ID
	}{
		"over text that is not ASCII": {unless(func(r contract.Request) bool {
			return slices.ContainsFunc(r.Objects, func(object json.RawMessage) bool {
				var free map[string]any
				if json.Unmarshal(object, &free) != nil {
					return false
				}
				for _, patterned := range []string{"hostPort", "host", "port"} {
					delete(free, patterned) // what a pattern makes is not plain in any object
				}
				return bytes.ContainsFunc(corpus.JSON(&unstructured.Unstructured{Object: free})[0], func(c rune) bool { return c > 0x7f })
			})
		}, true), requirement.WebhookConversionStrings},
		"over false": {unless(func(r contract.Request) bool {
			return slices.ContainsFunc(r.Objects, func(object json.RawMessage) bool { return bytes.Contains(object, []byte(`"verbose":false`)) })
		}, true), requirement.WebhookConversionZeroValues},
		"over many different objects": {unless(func(r contract.Request) bool {
			different := map[string]bool{}
			for _, object := range r.Objects {
				var o struct {
					Host     string `json:"host"`
					HostPort string `json:"hostPort"`
				}
				if json.Unmarshal(object, &o) == nil {
					different[o.Host+o.HostPort] = true
				}
			}
			return len(different) > batched
		}, false), requirement.WebhookBatchIndependent},
	} {
		t.Run(name, func(t *testing.T) {
			subject := served{handler: test.handler}.start(t)
			subject.Objects = 12
			for _, r := range judgeSubject(t, subject) {
				if failed := r.Verdict == requirement.Failed; failed != (r.Requirement == test.want) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
		})
	}
}

// TestTwoBreakdowns has a webhook judged that breaks down over one of two values, and over objects without a spec, which clients cannot
// create: the first must not hide the second.
func TestTwoBreakdowns(t *testing.T) {
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: numbers.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: numbers, kind: Number}
  versions:
  - name: v1
    served: true
    storage: true
    schema: &schema {openAPIV3Schema: {type: object, required: [spec], properties: {spec: {type: object, required: [parity], properties: {parity: {type: string, enum: [even, odd]}}}}}}
  - {name: v2, served: true, storage: false, schema: *schema}
`
	breaks := stranger{change: func(o map[string]any) {
		if spec := specOf(o); spec == nil || spec["parity"] == "odd" {
			panic(http.ErrAbortHandler)
		}
	}}
	want := []requirement.ID{requirement.WebhookFailureAvoided, requirement.WebhookRequestPartialObjects}
	for _, r := range judgeSubject(t, served{handler: breaks}.of(t, definition)) {
		if failed := r.Verdict == requirement.Failed; failed != slices.Contains(want, r.Requirement) {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// numbers is a definition with two versions of one schema, which has these properties.
func numbers(properties string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: numbers.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: numbers, kind: Number}
  versions:
  - name: v1
    served: true
    storage: true
    schema: &schema {openAPIV3Schema: {type: object, properties: ` + properties + `}}
  - {name: v2, served: true, storage: false, schema: *schema}
`
}

// TestRefusalsAreNotForNulls has a webhook refuse words where it wants a duration, in objects that also have null: null is not why.
func TestRefusalsAreNotForNulls(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, properties: {every: {type: string, default: 1h}, names: {type: array, items: {type: string, nullable: true}}, note: {type: string, nullable: true}}}}`)
	wantsDuration := func(_, _ string, object map[string]any) string {
		if every, is := specOf(object)["every"].(string); is {
			if _, err := time.ParseDuration(every); err != nil {
				return err.Error()
			}
		}
		return ""
	}
	wantsNoNull := func(_, _ string, object map[string]any) string {
		if names, _ := specOf(object)["names"].([]any); slices.Contains(names, nil) {
			return "null is no name"
		}
		return ""
	}
	for name, test := range map[string]struct {
		converts func(from, to string, object map[string]any) string
		want     requirement.Verdict
	}{"words": {wantsDuration, requirement.Passed}, "null in a list": {wantsNoNull, requirement.Failed}} {
		for _, r := range judgeSubject(t, served{handler: stranger{converts: test.converts}}.of(t, definition)) {
			if r.Requirement == requirement.WebhookConversionNulls && r.Verdict != test.want {
				t.Errorf("%s: %s is %s: %s", name, r.Requirement, r.Verdict, r.Reason)
			}
		}
	}
}

// TestLostBesideZeros has a webhook lose a text where a flag is false and there: no object with zeros alone shows that, and none without.
func TestLostBesideZeros(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, properties: {flag: {type: boolean}, count: {type: integer, minimum: 1}, note: {type: string, pattern: '^[a-z]+$'}}}}`)
	converts := func(_, _ string, object map[string]any) string {
		if spec := specOf(object); spec["flag"] == false {
			delete(spec, "note")
		}
		return ""
	}
	for _, r := range judgeSubject(t, served{handler: stranger{converts: converts}}.of(t, definition)) {
		if r.Requirement == requirement.WebhookConversionZeroValues && (r.Verdict != requirement.Failed || !strings.Contains(r.Reason, "spec.note")) {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// TestZeroIsNoLargeInteger has a webhook that takes 0 for nothing and puts a default there: that has nothing to do with how integers are
// held, though 0 is the lowest that the schema allows.
func TestZeroIsNoLargeInteger(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, properties: {count: {type: integer, minimum: 0}}}}`)
	converts := func(_, _ string, object map[string]any) string {
		if spec := specOf(object); fmt.Sprint(spec["count"]) == "0" {
			spec["count"] = 7
		}
		return ""
	}
	want := map[requirement.ID]requirement.Verdict{requirement.WebhookConversionZeroValues: requirement.Failed, requirement.WebhookConversionIntegers: requirement.Passed}
	for _, r := range judgeSubject(t, served{handler: stranger{converts: converts}}.of(t, definition)) {
		if verdict, is := want[r.Requirement]; is && r.Verdict != verdict {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
		delete(want, r.Requirement)
	}
	if len(want) > 0 {
		t.Errorf("%v were not judged", want)
	}
}

// TestAdditionsToParts has a webhook fill in a field that objects must have: only parts of objects lack it, and the finding says so.
func TestAdditionsToParts(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, required: [bucket, path], properties: {bucket: {type: string}, path: {type: string}}}}`)
	converts := func(_, _ string, object map[string]any) string {
		if spec := specOf(object); spec != nil && spec["path"] == nil {
			spec["path"] = ""
		}
		return ""
	}
	judged := false
	for _, r := range judgeSubject(t, served{handler: stranger{converts: converts}}.of(t, definition)) {
		if r.Requirement != requirement.WebhookConversionAdditions {
			continue
		}
		judged = true
		if r.Verdict != requirement.Tolerated || !strings.Contains(r.Reason, "(in a part of an object, as server-side apply has them converted)") {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
	if !judged {
		t.Error("it was not judged")
	}
}

// TestOrderThatChanges has a webhook answer with the items of a list in any order. Where the list is a map nothing
// is lost, and still the same object converts to two.
func TestOrderThatChanges(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, properties: {zones: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}}}}}`)
	converts := func(_, _ string, object map[string]any) string {
		zones, _ := specOf(object)["zones"].([]any)
		rand.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
		return ""
	}
	for _, r := range judgeSubject(t, served{handler: stranger{converts: converts}}.of(t, definition)) {
		pure := r.Requirement == requirement.WebhookConversionPure
		if (r.Verdict == requirement.Failed) != pure || pure && !strings.Contains(r.Reason, "spec.zones") {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// TestRefusalsOfLargeIntegers has a webhook refuse what int32 does not hold, which the schema allows.
func TestRefusalsOfLargeIntegers(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, properties: {note: {type: string}}}, status: {type: object, properties: {ready: {type: integer}}}}`)
	converts := func(_, _ string, object map[string]any) string {
		status, _ := object["status"].(map[string]any)
		if ready, is := status["ready"].(json.Number); is && len(ready) > 10 {
			return "json: cannot unmarshal number " + ready.String() + " into Go struct field Status.status.ready of type int32"
		}
		return ""
	}
	for _, r := range judgeSubject(t, served{handler: stranger{converts: converts}}.of(t, definition)) {
		if r.Requirement == requirement.WebhookFailureAvoided && (r.Verdict != requirement.Tolerated || !strings.Contains(r.Reason, "a large integer at status.ready")) {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// TestNothingToConvert has no object at hand: nothing may pass for want of one.
func TestNothingToConvert(t *testing.T) {
	const impossible = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: riddles.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: riddles, kind: Riddle}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: &schema {type: object, required: [answer], properties: {answer: {type: string, pattern: '^a$', minLength: 9}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`
	for _, r := range judgeSubject(t, served{}.of(t, impossible)) {
		handshakes := strings.HasPrefix(string(r.Requirement), "webhook.transport.")
		if r.Verdict != requirement.NotApplicable && (!handshakes || r.Verdict != requirement.Passed) || r.Verdict == requirement.NotApplicable && r.Reason == "" {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// TestPartialObjectsRefused has a webhook reject in good order what lacks a field that the schema requires. Server-side apply sends such
// objects, and fails with them.
func TestPartialObjectsRefused(t *testing.T) {
	t.Parallel()
	definition := strings.ReplaceAll(numbers(`{spec: {type: object, required: [repository], properties: {repository: {type: string}, tag: {type: string}}}}`), "type: object, properties: {spec", "type: object, required: [spec], properties: {spec")
	handler := stranger{converts: func(_, _ string, o map[string]any) string {
		if specOf(o)["repository"] == nil {
			return "a required field is missing: repository"
		}
		return ""
	}}
	for _, r := range selected(t, served{handler: handler}.of(t, definition), 1, requirement.WebhookRequestPartialObjects, requirement.WebhookFailureAvoided) {
		want, says := requirement.Passed, ""
		if r.Requirement == requirement.WebhookRequestPartialObjects {
			want, says = requirement.Failed, "a required field is missing: repository"
		}
		if r.Verdict != want || !strings.Contains(r.Reason, says) {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}
