package webhook

import (
	"compress/gzip"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

const widgets = `
apiVersion: example.org/v1
kind: Widget
metadata: {name: plain, namespace: default}
spec: {replicas: 3, paused: false, note: "", sizes: [], labels: {}}
---
apiVersion: example.org/v2
kind: Widget
metadata: {name: labelled, namespace: default, labels: {app: widget}, annotations: {example.org/owner: somebody}}
spec: {replicas: 3, paused: true, ratio: 0.5, nothing: null, list: [{name: a}, {name: b}]}
`

// widgetSamples are widgets as a corpus.
func widgetSamples(t *testing.T) corpus.Corpus {
	t.Helper()
	samples, err := corpus.ReadSamples("widgets.yaml", []byte(widgets))
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.FromSamples(samples)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stranger is a webhook that is not the reference one. It changes the apiVersion of objects, and whatever else the test wants.
type stranger struct {
	change  func(object map[string]any)
	refuses func(review map[string]any) int // an HTTP status, 0 for none
	hangs   func(object map[string]any) bool
	writes  func(w http.ResponseWriter, body []byte)

	// converts is like change, for webhooks that distinguish versions; what it returns is why it fails.
	converts func(from, to string, object map[string]any) string
}

// changesAt is a webhook that changes the spec of objects that it converts to one version.
func changesAt(version string, change func(spec map[string]any)) stranger {
	return stranger{converts: func(_, to string, object map[string]any) string {
		if spec := specOf(object); spec != nil && to == version {
			change(spec)
		}
		return ""
	}}
}

func (s stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request, _ := review["request"].(map[string]any)
	objects, _ := request["objects"].([]any)
	known := review["apiVersion"] == "apiextensions.k8s.io/v1" || review["apiVersion"] == "apiextensions.k8s.io/v1beta1"
	if review["kind"] != "ConversionReview" || !known || request == nil {
		http.Error(w, "no ConversionReview", http.StatusBadRequest)
		return
	}
	if s.refuses != nil && s.refuses(review) != 0 {
		http.Error(w, "no", s.refuses(review))
		return
	}
	result := map[string]any{"status": "Success"}
	converted := []any{}
	for _, each := range objects {
		object, ok := each.(map[string]any)
		if !ok || object["metadata"] == nil {
			result = map[string]any{"status": "Failed", "message": "that is no object"}
			continue
		}
		if s.hangs != nil && s.hangs(object) {
			<-r.Context().Done()
			return
		}
		if strings.HasSuffix(request["desiredAPIVersion"].(string), "v0nosuchversion") {
			result = map[string]any{"status": "Failed", "message": "there is no such version"}
		}
		from, to := path.Base(object["apiVersion"].(string)), path.Base(request["desiredAPIVersion"].(string))
		object["apiVersion"] = request["desiredAPIVersion"]
		if s.converts != nil {
			if why := s.converts(from, to, object); why != "" {
				result = map[string]any{"status": "Failed", "message": why}
			}
		}
		if s.change != nil {
			s.change(object)
		}
		converted = append(converted, object)
	}
	if result["status"] == "Failed" {
		converted = nil
	}
	delete(review, "request")
	review["response"] = map[string]any{"uid": request["uid"], "result": result, "convertedObjects": converted}
	body, err := json.MarshalIndent(review, "", "    ")
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if s.writes != nil {
		s.writes(w, body)
		return
	}
	w.Write(body)
}

func metadataOf(object map[string]any, key string) map[string]any {
	metadata := object["metadata"].(map[string]any)
	if metadata[key] == nil {
		metadata[key] = map[string]any{}
	}
	return metadata[key].(map[string]any)
}

func specOf(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	return spec
}

// dropEmpty does what encoders of structs do whose fields are all marked with omitempty.
func dropEmpty(object map[string]any) {
	maps.DeleteFunc(specOf(object), func(_ string, value any) bool {
		list, isList := value.([]any)
		fields, isMap := value.(map[string]any)
		return value == nil || value == false || value == "" || isList && len(list) == 0 || isMap && len(fields) == 0
	})
}

// TestLawfulStrangers has webhooks judged that do what webhooks may do. Nothing may be held against them but what is
// listed as tolerated.
func TestLawfulStrangers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: all specs run for each of a dozen webhooks")
	}
	reviews := func(refused string, status int) func(map[string]any) int {
		return func(review map[string]any) int {
			if strings.HasSuffix(review["apiVersion"].(string), "/"+refused) {
				return status
			}
			return 0
		}
	}
	for name, test := range map[string]struct {
		webhook   stranger
		tolerated []requirement.ID
	}{
		"nothing but apiVersion": {},
		"leaves a note":          {webhook: stranger{change: func(o map[string]any) { metadataOf(o, "annotations")["example.org/stash"] = "{}" }}},
		"adds a label":           {webhook: stranger{change: func(o map[string]any) { metadataOf(o, "labels")["converted"] = "yes" }}},
		"empty labels":           {webhook: stranger{change: func(o map[string]any) { metadataOf(o, "labels") }}},
		"empty status":           {webhook: stranger{change: func(o map[string]any) { o["status"] = map[string]any{} }}},
		"null creationTimestamp": {webhook: stranger{change: func(o map[string]any) { o["metadata"].(map[string]any)["managedFields"] = nil }}},
		"a default": {webhook: stranger{change: func(o map[string]any) {
			if spec := specOf(o); spec != nil {
				spec["policy"] = "IfNotPresent"
			}
		}}},
		"without what is empty": {webhook: stranger{change: dropEmpty}, tolerated: []requirement.ID{requirement.WebhookConversionRoundTrip}},
		"knows v1 only":         {webhook: stranger{refuses: reviews("v1beta1", http.StatusBadRequest)}},
		"knows v1beta1 only":    {webhook: stranger{refuses: reviews("v1", http.StatusUnprocessableEntity)}},
		"in pieces": {webhook: stranger{writes: func(w http.ResponseWriter, body []byte) {
			for piece := range slices.Chunk(body, 1000) {
				w.Write(piece)
				http.NewResponseController(w).Flush()
			}
		}}},
		"closes connections": {webhook: stranger{writes: func(w http.ResponseWriter, body []byte) {
			w.Header().Set("Connection", "close")
			w.Write(body)
		}}},
		"compressed": {webhook: stranger{writes: func(w http.ResponseWriter, body []byte) {
			w.Header().Set("Content-Encoding", "gzip")
			compressed := gzip.NewWriter(w)
			compressed.Write(body)
			compressed.Close()
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, result := range judgeStranger(t, test.webhook, 1) {
				if result.Verdict == requirement.Tolerated && slices.Contains(test.tolerated, result.Requirement) {
					t.Logf("%s: %s", result.Requirement, result.Reason)
					continue
				}
				if result.Verdict != requirement.Passed && result.Verdict != requirement.NotApplicable {
					t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
				}
			}
		})
	}
}

// TestUnlawfulStrangers judges them in one order.
func TestUnlawfulStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: all specs run for each webhook")
	}
	unlawful(t, 1)
}

// unlawful has webhooks judged that break something in a way of their own. The verdicts must be the same whatever the order of the specs,
// which the seed makes.
func unlawful(t *testing.T, seeds int64) {
	t.Helper()
	for name, test := range map[string]struct {
		webhook stranger
		want    []requirement.ID
	}{
		"hangs on objects without a spec": {
			stranger{hangs: func(o map[string]any) bool { return o["spec"] == nil }},
			[]requirement.ID{requirement.WebhookRequestPartialObjects},
		},
		"fails every request in v1": {
			stranger{refuses: func(review map[string]any) int {
				if review["apiVersion"] == "apiextensions.k8s.io/v1" {
					return http.StatusInternalServerError
				}
				return 0
			}},
			[]requirement.ID{requirement.WebhookResponseHTTPStatus, requirement.WebhookFailureStatus},
		},
		"loses a field": {
			stranger{change: func(o map[string]any) { delete(specOf(o), "replicas") }},
			[]requirement.ID{requirement.WebhookConversionRoundTrip},
		},
		"turns numbers into text": {
			stranger{change: func(o map[string]any) {
				if spec := specOf(o); spec["ratio"] != nil {
					spec["ratio"] = "0.5"
				}
			}},
			[]requirement.ID{requirement.WebhookConversionRoundTrip},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				var failed []requirement.ID
				for _, result := range judgeStranger(t, test.webhook, seed+1) {
					if result.Verdict != requirement.Passed && result.Verdict != requirement.NotApplicable {
						t.Logf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
						failed = append(failed, result.Requirement)
					}
				}
				if !slices.Equal(failed, test.want) {
					t.Errorf("seed %d: found by %v, want %v", seed+1, failed, test.want)
				}
			}
		})
	}
}

func judgeStranger(t *testing.T, s stranger, seed int64) []suites.Result {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if s.hangs != nil {
		client = patient(t, client, 5*time.Second)
	}
	samples := widgetSamples(t)
	env := spectest.Env(t, suites.Options{Subject: &suites.Subject{Client: client, Corpus: samples}, Seed: seed})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{Area}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}

// isOldest matches objects at v1alpha1, and no others that name it in a text.
var isOldest = regexp.MustCompile(`"apiVersion":\s*"[^"]*/v1alpha1"`)

// TestBrokenAltogether has webhooks judged of which nothing good comes any more, or never did. One requirement fails, and whatever else
// cannot be judged says which.
func TestBrokenAltogether(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	for name, test := range map[string]struct {
		handler http.Handler
		want    requirement.ID // none if it is that of whichever spec is running
		says    string
		most    int64 // requests
	}{
		"answers zeros": {
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Write(make([]byte, 1<<10))
			}), requirement.WebhookResponseBody, "expected a JSON document", 10,
		},
		"answers no more": {
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Load() > 40 {
					panic(http.ErrAbortHandler)
				}
				webhook.Handler().ServeHTTP(w, r)
			}), "", "it does not answer any more, not even what it answered before", 100,
		},
		"does not know a version": {
			unless(func(r contract.Request) bool {
				return strings.HasSuffix(r.DesiredAPIVersion, "/v1alpha1") || len(r.Objects) > 0 && isOldest.Match(r.Objects[0])
			}, false), requirement.WebhookFailureAvoided, "v1beta1 -> v1alpha1: every object is refused, whatever is in it", 4000,
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			subject := served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				test.handler.ServeHTTP(w, r)
			})}.start(t)
			subject.Objects = 12
			d, err := corpus.NewDefinition(fixtures.Reference.New())
			if err != nil {
				t.Fatal(err)
			}
			if subject.Corpus, err = corpus.New(d, nil); err != nil {
				t.Fatal(err)
			}
			failed := requirement.ID("")
			for _, r := range judgeSubject(t, subject) {
				if r.Verdict == requirement.Failed {
					if failed != "" || test.want != "" && r.Requirement != test.want || !strings.Contains(r.Reason, test.says) {
						t.Errorf("%s fails: %s", r.Requirement, r.Reason)
					}
					failed = r.Requirement
				}
				if r.Verdict == requirement.Failed && test.want == requirement.WebhookFailureAvoided && !slices.ContainsFunc(r.Attachments, func(a suites.Attachment) bool { return a.Name == "object.yaml" }) {
					t.Errorf("%s comes without an object", r.Requirement)
				}
				if r.Verdict == requirement.Errored || r.Verdict == requirement.Tolerated {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
			if failed == "" || asked.Load() > test.most {
				t.Errorf("failed is %q, after %d requests", failed, asked.Load())
			}
		})
	}
}

// TestMadeUpContent loses a field and everything below x-kubernetes-preserve-unknown-fields: the field is what is shown, and of the rest it
// is said that it was made up.
func TestMadeUpContent(t *testing.T) {
	t.Parallel()
	const loose = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: &schema {type: object, properties: {spec: {type: object, properties: {config: {type: object, x-kubernetes-preserve-unknown-fields: true}, note: {type: string}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: *schema}}
`
	subject := served{handler: stranger{change: func(o map[string]any) {
		if config, ok := specOf(o)["config"].(map[string]any); ok {
			clear(config)
		}
		delete(specOf(o), "note")
	}}}.of(t, loose)
	for _, r := range judgeSubject(t, subject) {
		if r.Requirement != requirement.WebhookConversionRoundTrip {
			continue
		}
		lines := strings.Split(r.Reason, "\n")
		if r.Verdict != requirement.Failed || !strings.Contains(lines[0], "spec.note: expected") || strings.HasSuffix(lines[1], corpus.MadeUpNote) || !strings.HasSuffix(lines[2], corpus.MadeUpNote) {
			t.Errorf("it is %s: %s", r.Verdict, r.Reason)
		}
	}
}
