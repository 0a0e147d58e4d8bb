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
	"strings"
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
	whens := map[string]string{ // what of the request matters
		"the 101st is like the 100th":        "at position 100 of a request, whichever object is there",
		"the 501st is like the first":        "at position 500 of a request, whichever object is there",
		"the 1,001st is like the first":      "at position 1000 of a request, whichever object is there",
		"what the objects before have":       "beside another object",
		"sorted by name":                     "beside another object",
		"metadata by name, not by namespace": "beside another object with the same metadata.name",
	}
	for name, test := range map[string]struct {
		mixes func(request, objects []map[string]any)
		want  []requirement.ID // none if nothing is wrong
	}{
		"nothing":                     {func(_, _ []map[string]any) {}, nil},
		"the 101st is like the 100th": {func(_, objects []map[string]any) { from(objects, 100, 99) }, []requirement.ID{requirement.WebhookBatchIndependent}},
		"the 501st is like the first": {func(_, objects []map[string]any) { from(objects, 500, 0) }, []requirement.ID{requirement.WebhookBatchIndependent}},
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
		}, []requirement.ID{requirement.WebhookBatchIndependent}},
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
		}, []requirement.ID{requirement.WebhookBatchMixedVersions, requirement.WebhookConversionIdentity}},
		"sorted by name": {func(_, objects []map[string]any) {
			slices.SortStableFunc(objects, func(a, b map[string]any) int {
				return cmp.Compare(a["metadata"].(map[string]any)["name"].(string), b["metadata"].(map[string]any)["name"].(string))
			})
		}, []requirement.ID{requirement.WebhookBatchIndependent, requirement.WebhookBatchMixedVersions, requirement.WebhookConversionIdentity}},
		"the 1,001st is like the first": {func(_, objects []map[string]any) { from(objects, 1000, 0) }, []requirement.ID{requirement.WebhookBatchIndependent}},
		"what has the desired version comes first": {func(request, objects []map[string]any) {
			var first, last []map[string]any
			for i, object := range objects {
				if request[i]["apiVersion"] == object["apiVersion"] {
					first = append(first, object)
				} else {
					last = append(last, object)
				}
			}
			copy(objects, slices.Concat(first, last))
		}, []requirement.ID{requirement.WebhookConversionIdentity}},
		"what the objects before have": {func(_, objects []map[string]any) {
			for i := 1; i < len(objects); i++ {
				if objects[i]["host"] != objects[0]["host"] {
					objects[i]["host"] = objects[0]["host"]
				}
			}
		}, []requirement.ID{requirement.WebhookBatchIndependent, requirement.WebhookBatchMixedVersions, requirement.WebhookConversionIdentity}},
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
			for _, r := range selected(t, subject, 1, requirement.WebhookBatchIndependent, requirement.WebhookBatchMixedVersions, requirement.WebhookConversionIdentity) {
				if failed := r.Verdict != requirement.Passed; failed != slices.Contains(test.want, r.Requirement) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
				for _, f := range r.Findings {
					if whens[name] != "" && (f.When != whens[name] || !strings.Contains(r.Reason, "it is so "+f.When)) {
						t.Errorf("%s is the cause of %s, want %s: %s", f.When, f.Field, whens[name], r.Reason)
					}
				}
				if failed := whens[name] != "" && r.Verdict == requirement.Failed; failed && len(r.Findings) == 0 {
					t.Errorf("%s has no findings", r.Requirement)
				}
			}
		})
	}
}

// TestLargeRequests has webhooks that take no request above a number of bytes. Requests of many objects are as large as API servers send.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: large batches are converted")
	}
	for name, test := range map[string]struct {
		most int64
		want requirement.Verdict
	}{
		"3 MiB":    {3 << 20, requirement.Failed},
		"7 MiB":    {7 << 20, requirement.Failed},
		"no limit": {1 << 30, requirement.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength > test.most {
					http.Error(w, "request entity too large", http.StatusRequestEntityTooLarge)
					return
				}
				stranger{}.ServeHTTP(w, r)
			})}.of(t, shots)
			subject.Objects = 10
			for _, r := range selected(t, subject, 1, requirement.WebhookBatchSizes) {
				if r.Verdict != test.want || r.Verdict == requirement.Failed && !strings.Contains(r.Reason, "HTTP status") {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
				t.Log(r.Reason)
			}
		})
	}
}

// TestBadObjects has webhooks that refuse an object alone, and not among others: they return it as it is, or with nothing but another
// apiVersion. What they refuse is valid by the schema, or a value that an enum excludes, or nothing.
func TestBadObjects(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: chapters run")
	}
	long := func(spec map[string]any) bool { text, _ := spec["driver"].(string); return len(text) > 9 }
	unknown := func(spec map[string]any) bool {
		text, is := spec["mode"].(string)
		return is && text != "fast" && text != "safe"
	}
	for name, test := range map[string]struct {
		bad     func(spec map[string]any) bool
		renames bool // the apiVersion of what is refused
		honest  bool // the request fails
		want    requirement.Verdict
	}{
		"a valid one, returned as it is":      {long, false, false, requirement.Failed},
		"a valid one, with the apiVersion":    {long, true, false, requirement.Failed},
		"an excluded one, returned as it is":  {unknown, false, false, requirement.Failed},
		"an excluded one, with an apiVersion": {unknown, true, false, requirement.Failed},
		"a valid one, and all fails":          {long, false, true, requirement.Passed},
		"an excluded one, and all fails":      {unknown, false, true, requirement.Passed},
		"none":                                {func(map[string]any) bool { return false }, false, true, requirement.NotApplicable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			honest := stranger{converts: func(_, _ string, object map[string]any) string {
				if spec := specOf(object); spec != nil && test.bad(spec) {
					return "no such thing"
				}
				return ""
			}}
			subject := served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				var review struct {
					Request struct {
						Objects []map[string]any `json:"objects"`
					} `json:"request"`
				}
				_ = json.Unmarshal(body, &review)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if test.honest || len(review.Request.Objects) < 2 {
					honest.ServeHTTP(w, r)
					return
				}
				recorder := httptest.NewRecorder()
				stranger{}.ServeHTTP(recorder, r)
				answer := map[string]any{}
				if json.Unmarshal(recorder.Body.Bytes(), &answer) == nil && !test.renames {
					converted, _ := answer["response"].(map[string]any)["convertedObjects"].([]any)
					for i, object := range review.Request.Objects {
						if spec := specOf(object); i < len(converted) && spec != nil && test.bad(spec) {
							converted[i] = object
						}
					}
				}
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Error(err)
				}
			})}.of(t, strings.ReplaceAll(shots, "wait: {type: string}", "mode: {type: string, enum: [fast, safe]}"))
			subject.Objects = 20
			for _, r := range selected(t, subject, 1, requirement.WebhookBatchBadObject) {
				if r.Verdict != test.want {
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
