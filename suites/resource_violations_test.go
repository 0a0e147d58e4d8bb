package suites_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// TestViolationsOnAServer has an API server refuse responses for what only the objects of a spec bring about. The finding names the requirement that
// each violates, as the API server's words do.
func TestViolationsOnAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a spec runs for each of several webhooks")
	}
	object := func(change func(o map[string]any)) func(response map[string]any) {
		return func(response map[string]any) {
			for _, o := range response["convertedObjects"].([]any) {
				change(o.(map[string]any))
			}
		}
	}
	metadata := func(field string, value any) func(response map[string]any) {
		return object(func(o map[string]any) { within(o, "metadata")[field] = value })
	}
	for id, change := range map[requirement.ID]func(response map[string]any){
		requirement.WebhookMetadataUID:         metadata("uid", "f0f0f0f0-0000-0000-0000-000000000000"),
		requirement.WebhookMetadataName:        metadata("name", "other"),
		requirement.WebhookMetadataNamespace:   metadata("namespace", "other"),
		requirement.WebhookMetadataLabelsValid: metadata("labels", map[string]any{"not a label": "yes"}),
		requirement.WebhookResponseKind:        object(func(o map[string]any) { o["kind"] = "Other" }),
		requirement.WebhookResponseAPIVersion:  object(func(o map[string]any) { o["apiVersion"] = "stable.example.com/v0" }),
		requirement.WebhookResponseUID:         func(response map[string]any) { response["uid"] = "f0f0f0f0-0000-0000-0000-000000000000" },
		requirement.WebhookResponseAllObjects:  func(response map[string]any) { response["convertedObjects"] = []any{} },
		"": func(response map[string]any) {
			response["result"] = map[string]any{"status": "Failure", "message": "no"}
		},
	} {
		t.Run(string(id), func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorded := httptest.NewRecorder()
				webhook.Handler().ServeHTTP(recorded, r)
				body := recorded.Body.Bytes()
				if strings.Contains(string(body), `"create-every-version-`) {
					var review map[string]any
					if err := json.Unmarshal(body, &review); err != nil {
						t.Error(err)
						return
					}
					change(review["response"].(map[string]any))
					body, _ = json.Marshal(review)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(body)
			})
			for _, r := range created(t, handler) {
				var violated requirement.ID
				for _, f := range r.Findings {
					violated = f.Violates
				}
				if r.Verdict != requirement.Failed || violated != id {
					t.Errorf("%s is %s for %q: %s", r.Requirement, r.Verdict, violated, r.Reason)
				}
			}
		})
	}
}

// TestNothingIsLeftToWhatPasses has a webhook spoil the objects of one spec alone, in a way that another one is there to report. That one finds
// nothing, so one of both fails, whichever runs first.
func TestNothingIsLeftToWhatPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs run several times")
	}
	handler := changing("", func(o map[string]any) {
		if name, _ := within(o, "metadata")["name"].(string); strings.HasPrefix(name, "patch-json-") {
			delete(within(o, "spec"), "image")
		}
	})
	for seed := range int64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			env := suitetest.Env(t, suites.Options{Cluster: apiServer.Cluster(t), Subject: subject(t, handler, sampled(t)), Seed: seed, Select: func(id requirement.ID) bool {
				return id == requirement.ResourceReadEveryVersion || id == requirement.ResourceWriteNoOp || id == requirement.ResourcePatchJSON
			}})
			outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for _, r := range outcome.Results {
				switch r.Verdict {
				case requirement.Failed:
					if failed++; !strings.Contains(r.Reason, "spec.image: expected ") || !strings.HasPrefix(r.Reason, "patch-json-") {
						t.Errorf("%s is Failed: %s", r.Requirement, r.Reason)
					}
				case requirement.Passed:
				default:
					if r.Requirement != requirement.ResourcePatchJSON || r.Verdict != requirement.NotApplicable {
						t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
					}
				}
			}
			if failed == 0 {
				t.Error("nothing failed")
			}
		})
	}
}

// TestObjectsHaveTheirNames has two managers apply the user's samples, and generated objects as well, each of which is created and not applied to what
// is there already.
func TestObjectsHaveTheirNames(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a spec runs")
	}
	var mu sync.Mutex
	created := map[string]map[string]bool{} // by what it is applied with
	handler := changing("", func(o map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		name, _ := within(o, "metadata")["name"].(string)
		if first, with, is := strings.Cut(name, "-with-"); is && strings.HasPrefix(name, "apply-managed-fields-v1-") && !strings.HasSuffix(first, "-again") {
			if created[with] == nil {
				created[with] = map[string]bool{}
			}
			created[with][name] = true
		}
	})
	env := suitetest.Env(t, suites.Options{Cluster: apiServer.Cluster(t), Subject: subject(t, handler, sampled(t)), Seed: 1, Select: func(id requirement.ID) bool {
		return id == requirement.ResourceApplyManagedFields
	}})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		if r.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
	for with, names := range created {
		if len(names) != 2 {
			t.Errorf("with %s, %v are created, want one of the samples and a generated one", with, names)
		}
	}
	if len(created) == 0 {
		t.Error("nothing was applied")
	}
}

// TestHomesOnAServer has a field lost on the way to a version that is not the stored one: the finding names the field of the stored version, by which
// it is one cause with what conversions show at other versions.
func TestHomesOnAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a spec runs")
	}
	handler := changing("v1alpha1", func(o map[string]any) { delete(within(o, "spec"), "image") })
	for _, r := range created(t, handler) {
		if r.Verdict != requirement.Failed || len(r.Findings) != 1 {
			t.Fatalf("%s is %s with %+v: %s", r.Requirement, r.Verdict, r.Findings, r.Reason)
		}
		if f := r.Findings[0]; f.Field != "spec.image" || f.From != "v1alpha1" || f.Home != "spec.image" {
			t.Errorf("%+v", f)
		}
	}
}

// created returns what comes of creating objects at every version beside a webhook.
func created(t *testing.T, handler http.Handler) []suites.Result {
	t.Helper()
	env := suitetest.Env(t, suites.Options{Cluster: apiServer.Cluster(t), Subject: subject(t, handler, sampled(t)), Seed: 1, Select: func(id requirement.ID) bool {
		return id == requirement.ResourceCreateEveryVersion
	}})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome.Results
}
