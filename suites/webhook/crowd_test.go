package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/requirement"
)

// TestCrowds has webhooks mix up objects of large batches, of several versions, and of one name in two namespaces.
func TestCrowds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: large batches are converted")
	}
	// from gives an object the fields of another, but for its metadata.
	from := func(objects []map[string]any, to, of int) {
		if len(objects) <= max(to, of) {
			return
		}
		taken := maps.Clone(objects[of])
		taken["metadata"] = objects[to]["metadata"]
		objects[to] = taken
	}
	for name, test := range map[string]struct {
		mixes func(request, objects []map[string]any)
		want  requirement.ID // none if nothing is wrong
	}{
		"nothing":                     {func(_, _ []map[string]any) {}, ""},
		"the 101st is like the 100th": {func(_, objects []map[string]any) { from(objects, 100, 99) }, requirement.WebhookBatchIndependent},
		"the 501st is like the first": {func(_, objects []map[string]any) { from(objects, 500, 0) }, requirement.WebhookBatchIndependent},
		"metadata by name, not by namespace": {func(_, objects []map[string]any) {
			known := map[any]any{}
			for _, object := range objects {
				metadata := object["metadata"].(map[string]any)
				if first, is := known[metadata["name"]]; is {
					object["metadata"] = first
				} else {
					known[metadata["name"]] = metadata
				}
			}
		}, requirement.WebhookBatchIndependent},
		"sorted by version": {func(request, objects []map[string]any) {
			order := make([]int, len(objects))
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int {
				return cmp.Compare(request[a]["apiVersion"].(string), request[b]["apiVersion"].(string))
			})
			sorted := slices.Clone(objects)
			for i, at := range order {
				sorted[i] = objects[at]
			}
			copy(objects, sorted)
		}, requirement.WebhookBatchMixedVersions},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mixedUp(t, w, r, test.mixes)
			})}.start(t)
			d, err := corpus.NewDefinition(fixtures.Reference.New())
			if err != nil {
				t.Fatal(err)
			}
			if subject.Corpus, err = corpus.New(d, nil); err != nil {
				t.Fatal(err)
			}
			subject.Objects = 12
			for _, r := range selected(t, subject, 1, requirement.WebhookBatchIndependent, requirement.WebhookBatchMixedVersions) {
				if failed := r.Verdict == requirement.Failed; failed != (r.Requirement == test.want) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
		})
	}
}

// mixedUp answers as the reference webhook does, with objects that were mixed up.
func mixedUp(t *testing.T, w http.ResponseWriter, r *http.Request, mixes func(request, objects []map[string]any)) {
	t.Helper()
	recorder := httptest.NewRecorder()
	asked := &struct {
		Request struct {
			Objects []map[string]any `json:"objects"`
		} `json:"request"`
	}{}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	webhook.Handler().ServeHTTP(recorder, r)
	answer := recorder.Body.Bytes()
	var review map[string]any
	var response struct {
		Objects []map[string]any `json:"convertedObjects"`
	}
	if json.Unmarshal(body, asked) == nil && json.Unmarshal(answer, &review) == nil {
		inner, _ := review["response"].(map[string]any)
		text, err := json.Marshal(inner)
		if err == nil && json.Unmarshal(text, &response) == nil && len(response.Objects) > 1 && len(response.Objects) == len(asked.Request.Objects) {
			mixes(asked.Request.Objects, response.Objects)
			inner["convertedObjects"] = response.Objects
			if answer, err = json.Marshal(review); err != nil {
				t.Error(err)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(recorder.Code)
	w.Write(answer)
}
