package webhook

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/requirement"
)

// TestNotForOthers has webhooks that answer otherwise as time goes by, or refuse a batch once. Neither is said to be for the other objects.
func TestNotForOthers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var refused atomic.Bool
	for name, handler := range map[string]stranger{
		"as time goes by": {change: func(object map[string]any) {
			if spec := specOf(object); spec != nil && spec["first"] != nil {
				spec["first"] = strconv.FormatInt(asked.Add(1)/400, 10)
			}
		}},
		"once": {refuses: func(review map[string]any) int {
			request, _ := review["request"].(map[string]any)
			if objects, _ := request["objects"].([]any); len(objects) > batched && strings.Contains(fmt.Sprint(objects), "namespace:other") && refused.CompareAndSwap(false, true) {
				return http.StatusInternalServerError
			}
			return 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: handler}.of(t, assorted)
			subject.Objects = 60
			for _, r := range selected(t, subject, 1, requirement.WebhookBatchIndependent) {
				if r.Verdict == requirement.Failed {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
			if name == "once" && !refused.Load() {
				t.Error("no batch was refused")
			}
			if name == "as time goes by" && asked.Load() < 800 {
				t.Errorf("only %d were asked for", asked.Load())
			}
		})
	}
}

// TestGrown has an object with a longer text, and one with more items.
func TestGrown(t *testing.T) {
	t.Parallel()
	object := func(text string) *unstructured.Unstructured {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return &o
	}
	before := object(`{spec: {note: a, items: [{name: a, inner: [{key: a}]}]}}`)
	for after, want := range map[string]string{
		`{spec: {note: aaaa, items: [{name: a, inner: [{key: a}]}]}}`:                    "spec.note",
		`{spec: {note: a, items: [{name: aaaa, inner: [{key: a}]}]}}`:                    "spec.items[0].name",
		`{spec: {note: a, items: [{name: a, inner: [{key: a}]}, {name: bbbb}]}}`:         "spec.items",
		`{spec: {note: a, items: [{name: a, inner: [{key: a}, {key: b}, {key: ccc}]}]}}`: "spec.items[0].inner",
	} {
		if got := grown(before, object(after)); got != want {
			t.Errorf("%s: %s has grown, want %s", after, got, want)
		}
	}
}

// TestRefusalsNameWhatIsFree has a webhook break down over a field of objects that must have another one: that is in all, and not why.
func TestRefusalsNameWhatIsFree(t *testing.T) {
	t.Parallel()
	definition := numbers(`{spec: {type: object, required: [must], properties: {must: {type: string}, extra: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}, other: {type: string}}}}`)
	subject := served{handler: stranger{converts: func(_, _ string, object map[string]any) string {
		if extra, _ := specOf(object)["extra"].(map[string]any); extra["port"] != nil {
			return "runtime error: invalid memory address or nil pointer dereference"
		}
		return ""
	}}}.of(t, definition)
	subject.Objects = 30
	for _, r := range selected(t, subject, 1, requirement.WebhookFailureAvoided) {
		fields := map[string]bool{}
		for _, f := range r.Findings {
			fields[f.Field] = true
		}
		if want := map[string]bool{"spec.extra.port": true}; r.Verdict != requirement.Failed || !maps.Equal(fields, want) {
			t.Errorf("%s is %s, of %v: %s", r.Requirement, r.Verdict, fields, r.Reason)
		}
	}
}

// TestCircumstancesOfMany has a webhook lose all of an object that is being deleted, which is too much to ask for each field. All that were asked for
// take that, so the others do, too.
func TestCircumstancesOfMany(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: many fields are asked for")
	}
	var fields []string
	for i := range 150 {
		fields = append(fields, fmt.Sprintf("f%d: {type: string}", i))
	}
	subject := served{handler: stranger{change: func(object map[string]any) {
		if object["metadata"].(map[string]any)["deletionTimestamp"] != nil {
			delete(object, "spec")
		}
	}}}.of(t, numbers(`{spec: {type: object, properties: {`+strings.Join(fields, ", ")+`}}}`))
	subject.Objects = 60
	lost := 0
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip) {
		for _, f := range r.Findings {
			if lost++; f.When != "where metadata.deletionTimestamp is set" {
				t.Errorf("%s is %s %s", f.Field, f.Effect, f.When)
			}
		}
	}
	if lost < mostConfirming {
		t.Errorf("%d findings", lost)
	}
}

// TestInListOf has what a finding has in common with others of its list, and with nothing else.
func TestInListOf(t *testing.T) {
	t.Parallel()
	f := found{finding: finding{effect: effect{at: "spec.stages[1].steps[0].name"}}}
	for path, want := range map[string]bool{"spec.stages[0].other": true, "spec.stages": true, "spec.stagesToo[0]": false, "spec": false, "spec.stage": false} {
		if got := f.isInListOf(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
