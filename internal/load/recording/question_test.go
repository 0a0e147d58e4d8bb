package recording_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
)

func TestQuestions(t *testing.T) {
	t.Parallel()
	questions := about(t, 12)
	if again := about(t, 12); len(again) != len(questions) || !slices.EqualFunc(again, questions, func(a, b recording.Question) bool { return bytes.Equal(a.Body, b.Body) }) {
		t.Error("the same seed makes other questions")
	}
	singles := map[string]int{}
	for _, version := range crontabs().Versions {
		generator := crontabs().Definition.Generator(version, 1, crontabs().Objects(version))
		singles["example.com/"+version] = asked(generator)
	}
	perPair, uids := map[string]int{}, map[string]bool{}
	for _, q := range questions {
		request, err := contract.ParseRequest(q.Body)
		if err != nil || request.UID != q.Request.UID || len(request.Objects) != 1 || uids[request.UID] {
			t.Fatalf("%s: %v", q.Body, err)
		}
		uids[request.UID] = true
		var object struct {
			APIVersion string `json:"apiVersion"`
		}
		if err := json.Unmarshal(request.Objects[0], &object); err != nil {
			t.Fatal(err)
		}
		perPair[object.APIVersion+" "+request.DesiredAPIVersion]++
	}
	for _, pair := range crontabs().Pairs() {
		from := "example.com/" + pair.From
		if got, want := perPair[from+" example.com/"+pair.To], 3+12+singles[from]; got != want || singles[from] == 0 {
			t.Errorf("%s: %d questions, want %d: 3 samples, 12 generated objects and %d singles", pair, got, want, singles[from])
		}
	}
	if len(about(t, 0)) != 3*6 {
		t.Errorf("%d questions about samples alone", len(about(t, 0)))
	}
}

// asked returns how many objects with one field there are that are not large, since no question is about those.
func asked(g *corpus.Generator) int {
	n := 0
	for _, single := range g.Singles() {
		if single.Style != corpus.Large {
			n++
		}
	}
	return n
}

// corpusOf is the corpus of a definition without samples.
func corpusOf(t *testing.T, definition string) corpus.Corpus {
	t.Helper()
	read, _, err := corpus.ReadDefinitions("file.yaml", []byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(read[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// jobs is a definition without anything that may be null.
const jobs = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: jobs.example.com}
spec:
  group: example.com
  names: {kind: Job, plural: jobs}
  scope: Namespaced
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://localhost/"}}}
  versions:
  - &version
    name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              path: {type: string, description: "A place, such as \"a/b/c\"."}
              steps: {type: array, items: {type: string}}
  - {<<: *version, name: v1beta1, storage: false}
`

// TestQuestionsOfAllStyles wants as many objects as were asked for, though there are none with nulls.
func TestQuestionsOfAllStyles(t *testing.T) {
	t.Parallel()
	c := corpusOf(t, jobs)
	singles := asked(c.Definition.Generator("v1", 1, nil))
	for _, n := range []int{1, 4, 5, 7, 50} {
		questions, err := recording.About(t.Context(), c, "v1", n, 1)
		if got, want := len(questions), 2*(n+singles); err != nil || got != want {
			t.Errorf("%d objects: %d questions, want %d for two versions with %d singles each; %v", n, got, want, singles, err)
		}
	}
}

// TestSingles wants differences found that show in objects with one field only, of a certain value or length.
func TestSingles(t *testing.T) {
	t.Parallel()
	c := corpusOf(t, jobs)
	questions, err := recording.About(t.Context(), c, "v1", 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(spec map[string]any)
		want   string
	}{
		"a part of a path": {func(spec map[string]any) {
			if path, ok := spec["path"].(string); ok {
				spec["path"], _, _ = strings.Cut(path, "/")
			}
		}, "spec.path"},
		"the end of a list": {func(spec map[string]any) {
			if steps, _ := spec["steps"].([]any); len(steps) > 100 {
				spec["steps"] = steps[:100]
			}
		}, "spec.steps"},
	} {
		b := connect(t, webhook.Changing(func(object map[string]any) {
			if spec, ok := object["spec"].(map[string]any); ok {
				test.change(spec)
			}
		}))
		r := recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, webhook.Handler()), B: b, Schema: schemaOf(c)})
		if len(r.Differences) != 1 || r.Differences[0].Path != test.want {
			t.Errorf("%s: got %q, want %s; %+v", name, places(r.Differences), test.want, r.Failures)
		}
	}
}
