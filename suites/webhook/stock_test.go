package webhook

import (
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
	spectest "github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// TestOwned has parts of objects for each field of them, and none twice: of a list whose items have thousands of fields, there would be thousands of
// copies of the same item otherwise.
func TestOwned(t *testing.T) {
	t.Parallel()
	subject := boxed(t, func(map[string]any) {})
	env := spectest.Env(t, suites.Options{Subject: subject, Seed: 1, Select: func(id requirement.ID) bool { return id == requirement.WebhookConversionAdditions }})
	var all, owned []*unstructured.Unstructured
	registered := suites.Area{Name: "webhook", Register: func(env *suites.Env) {
		var ch *chapter
		AfterEach(func(ctx SpecContext) { all, owned = ch.stock.all(ctx, "v1"), ch.stock.owned(ctx, "v1") })
		ch = register(env, 0)
	}}
	if _, err := suites.Run(t.Context(), env, []suites.Area{registered}, spectest.Quiet{}); err != nil {
		t.Fatal(err)
	}
	times, of, kinds := map[string]int{}, map[string]bool{}, map[string]bool{}
	for i, text := range corpus.JSON(owned...) {
		if times[string(text)]++; times[string(text)] == 2 {
			t.Errorf("there is another one like %s", text)
		}
		var places []string
		for _, path := range corpus.Leaves(owned[i]) {
			places = append(places, fieldpath.Generalize(path))
			of[fieldpath.Generalize(path)] = true
		}
		kinds[strings.Join(places, " ")] = true // with other values it is one as well
	}
	for _, object := range all {
		for _, path := range corpus.Leaves(object) {
			if place := fieldpath.Generalize(path); !of[place] {
				t.Errorf("there is none for %s", place)
			}
		}
	}
	if len(of) < 10 || len(kinds) >= len(of) {
		t.Errorf("there are %d for %d places", len(kinds), len(of))
	}
}

// TestOwnedWhole has a webhook refuse a map that lacks something. Where the map is atomic, no manager of server-side apply has less than all of it.
func TestOwnedWhole(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]requirement.Verdict{"granular": requirement.Failed, "atomic": requirement.Passed} {
		subject := served{handler: stranger{converts: func(_, _ string, object map[string]any) string {
			if at, is := specOf(object)["at"].(map[string]any); is && len(at) < 2 {
				return "it lacks the hour or the minute"
			}
			return ""
		}}}.of(t, numbers(`{spec: {type: object, properties: {at: {type: object, x-kubernetes-map-type: `+kind+`, required: [hour, minute], properties: {hour: {type: integer}, minute: {type: integer}}}, note: {type: string}}}}`))
		if r := selected(t, subject, 1, requirement.WebhookRequestPartialObjects)[0]; r.Verdict != want {
			t.Errorf("%s: got %s, want %s: %s", kind, r.Verdict, want, r.Reason)
		}
	}
}
