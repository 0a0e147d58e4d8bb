package engine

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestUnknownKinds has definitions of which no file says which webhook converts them: one that the webhook rejects altogether is left out
// with what it says, and no run is good that leaves one out, as a webhook may have forgotten to register it.
func TestUnknownKinds(t *testing.T) {
	t.Parallel()
	bare := bare(t)
	gadgets := strings.NewReplacer("CronTab", "Gadget", "crontab", "gadget").Replace(bare)
	jobs := strings.NewReplacer("CronTab", "Job", "crontab", "job").Replace(bare)
	status, said, picky := 0, "", false
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if !strings.Contains(string(body), `"kind":"CronTab"`) && strings.Contains(string(body), `"kind":`) && strings.Contains(string(body), `"objects":[{`) && (!picky || strings.Contains(string(body), `"spec":`)) {
			request, err := contract.ParseRequest(body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			if status != 0 {
				http.Error(w, said, status)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":%q,"result":{"status":"Failed","message":"no such kind here"}}}`, request.UID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	})
	c := config.Config{Filter: []string{string(requirement.WebhookResponseUID)}, CRDs: []string{put(t, gadgets), put(t, bare)}}
	report := checked(t, Description{Config: c, Handler: handler})
	const note = "gadgets.example.com was left out: no file says that this webhook converts it, and the webhook rejects its objects at every version: no such kind here"
	const why = "the webhook rejects every object of gadgets.example.com, and no file says whether it is to convert them"
	if report.Outcome != reports.Unjudged || !strings.HasPrefix(report.Error, why) || report.Counts[requirement.Passed] != 1 || len(report.Results) != 1 || report.Results[0].Subject != "crontabs.example.com" || !slices.Contains(report.Notes, note) {
		t.Errorf("%s with %v, %q: %s", report.Outcome, report.Counts, report.Notes, report.Error)
	}
	both := Description{Config: c, Handler: handler}
	for said = range map[string]bool{"no kind Gadget here": true, "it broke": false} {
		status = http.StatusInternalServerError
		report = checked(t, both)
		left := strings.Contains(strings.Join(report.Notes, "\n"), `HTTP status 500, "no kind Gadget here`)
		if left != strings.Contains(said, "Gadget") || len(report.Results) != map[bool]int{true: 1, false: 2}[left] {
			t.Errorf("500 with %q: %v, %q", said, report.Counts, report.Notes)
		}
	}
	both.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(string(body), `"apiextensions.k8s.io/v1"`) {
			http.Error(w, "no such ConversionReview", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
	if report = checked(t, both); !slices.ContainsFunc(report.Results, func(r reports.Result) bool { return r.Subject == "crontabs.example.com" }) {
		t.Errorf("by a webhook that knows only ConversionReview v1beta1: %v, %q", report.Counts, report.Notes)
	}
	status = 0
	c.CRDs = []string{put(t, gadgets), put(t, jobs)}
	if report = checked(t, Description{Config: c, Handler: handler}); report.Outcome != reports.Unjudged || !strings.Contains(report.Error, "the webhook rejects every object of every definition") {
		t.Errorf("%s with %v: %s", report.Outcome, report.Counts, report.Error)
	}
	picky = true
	if report = checked(t, Description{Config: c, Handler: handler}); len(report.Results) != 2 {
		t.Errorf("by a webhook that rejects what the schema does not say is wrong: %s with %v, %q", report.Outcome, report.Counts, report.Notes)
	}
	picky = false
	c.CRDs = []string{put(t, gadgets)}
	if report = checked(t, Description{Config: c, Handler: handler}); len(report.Results) != 1 {
		t.Errorf("a definition alone: %s with %v: %s", report.Outcome, report.Counts, report.Error)
	}
}

// TestKustomizations has a kustomization give the webhook to one of two definitions. Read without it, both are assumed to have it.
func TestKustomizations(t *testing.T) {
	t.Parallel()
	crons := bare(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"crd/kustomization.yaml":     "resources: [bases/crontabs.yaml, bases/gadgets.yaml, namespace.yaml]\npatches: [{path: patch.yaml}]\n",
		"crd/namespace.yaml":         "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n",
		"crd/patch.yaml":             "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: crontabs.example.com}\nspec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost/'}}}}\n",
		"crd/bases/crontabs.yaml":    crons,
		"crd/bases/gadgets.yaml":     strings.NewReplacer("CronTab", "Gadget", "crontab", "gadget").Replace(crons),
		"remote/kustomization.yaml":  "resources: ['https://192.0.2.1/crd.yaml']\n",
		"samples/kustomization.yaml": "resources: [one.yaml]\n",
		"samples/one.yaml":           "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: one}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crd := filepath.Join(dir, "crd")
	for name, test := range map[string]struct {
		crds []string
		want []string
		note string
	}{
		"its folder":    {[]string{crd}, []string{"crontabs.example.com"}, "gadgets.example.com has no conversion webhook, unlike others, and was left out"},
		"its file":      {[]string{filepath.Join(crd, "kustomization.yaml")}, []string{"crontabs.example.com"}, "objects in " + crd + "/kustomization.yaml other than CustomResourceDefinitions were left out: 1"},
		"without it":    {[]string{filepath.Join(crd, "bases")}, []string{"crontabs.example.com", "gadgets.example.com"}, "the definitions in " + crd + "/bases were read without " + crd + "/kustomization.yaml, which may add the webhook; give " + crd + " to check what that builds"},
		"not all of it": {[]string{filepath.Join(crd, "*.yaml")}, []string{"crontabs.example.com"}, "gadgets.example.com has no conversion webhook, unlike others, and was left out"},
	} {
		plan, err := Description{Config: config.Config{CRDs: test.crds, Samples: []string{filepath.Join(dir, "samples")}}, Handler: webhook.Handler()}.Prepare()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := plan.Definitions(); !slices.Equal(got, test.want) || !slices.Contains(plan.notes, test.note) || len(plan.kinds[0].Objects("v1")) != 1 {
			t.Errorf("%s: got %q, with the notes %q", name, got, plan.notes)
		}
	}
	_, err := Description{Config: config.Config{CRDs: []string{filepath.Join(dir, "remote")}}, Handler: webhook.Handler()}.Prepare()
	if err == nil || !strings.Contains(err.Error(), "nothing is downloaded; get a copy of it, or run kustomize build and give the output") {
		t.Errorf("of what is elsewhere it says: %v", err)
	}
}

// TestUnservedVersions has versions that are not served, and at which objects may be stored: the conversion from there is checked.
func TestUnservedVersions(t *testing.T) {
	t.Parallel()
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: SERVED, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	const webhooks = "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}\n"
	prepare := func(text string) (*Plan, error) {
		return Description{Config: config.Config{CRDs: []string{put(t, text)}}, Handler: webhook.Handler()}.Prepare()
	}
	const note = "widgets.example.com: objects may be stored at v1alpha1, which is not served, so the conversion from there is checked"
	for status, noted := range map[string]bool{"": true, "status: {storedVersions: [v1]}\n": false, "status: {storedVersions: [v1alpha1, v1]}\n": true} {
		plan, err := prepare(strings.Replace(definition, "SERVED", "true", 1) + status)
		if err != nil || slices.Contains(plan.notes, note) != noted || slices.Contains(plan.kinds[0].Unserved, "v1alpha1") != noted {
			t.Errorf("%s: got %v, %v", status, plan, err)
		}
	}
	// One version that is served is enough if the file says that a webhook converts from the others.
	one := strings.Replace(definition, "SERVED", "false", 1)
	plan, err := prepare(one + webhooks)
	if want := []corpus.Pair{{From: "v1alpha1", To: "v1"}, {From: "v1beta1", To: "v1"}}; err != nil || !slices.Equal(plan.kinds[0].Pairs(), want) {
		t.Errorf("with one version that is served: got %v, %v", plan, err)
	}
	if _, err = prepare(one); err == nil || !strings.Contains(err.Error(), "only one version, and a conversion needs two, or spec.conversion with a webhook for versions that are not served") {
		t.Errorf("with one version that is served, and no webhook: %v", err)
	}
}

// TestAssumedConversion says what the file has in place of the conversion webhook that is assumed.
func TestAssumedConversion(t *testing.T) {
	t.Parallel()
	for stanza, has := range map[string]string{"": "no spec.conversion", "  conversion: {strategy: None}\n": "spec.conversion.strategy None"} {
		definition := strings.Replace(bare(t), "  versions:\n", stanza+"  versions:\n", 1)
		c := config.Config{Webhook: config.Webhook{URL: "https://localhost:1/convert"}, CRDs: []string{put(t, definition)}}
		plan, err := Description{Config: c}.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		if want := "crontabs.example.com has " + has + " in the file; it is assumed to name this webhook"; !slices.Contains(plan.notes, want) {
			t.Errorf("the notes are %q, want %q", plan.notes, want)
		}
	}
}

// bare is the definition of the reference webhook without a word about the webhook.
func bare(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(crontabs)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(data), "  conversion:\n")
	_, versions, found := strings.Cut(rest, "  versions:\n")
	if !found {
		t.Fatal("the definition has another form than it had")
	}
	return head + "  versions:\n" + versions
}
