package suites_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// resourceFault is a webhook with a defect, and what is to be found of it. What is not listed is to pass.
type resourceFault struct {
	handler       http.Handler
	fails         []requirement.ID
	tolerated     []requirement.ID
	notApplicable []requirement.ID // because another one fails
	says          string           // part of the reason of a failure, or of what is tolerated
	stored        string           // part of what resource.apply.two-managers says of storage
	needs         string           // the sample without which it does not show; empty if there is none
}

// resourceFaultsAreCaught has each webhook judged by the specs that find fault with it, and by one that passes with most. Those that cannot be
// judged then are nightly.
func resourceFaultsAreCaught(t *testing.T, genuine *embedded.Cluster) {
	t.Helper()
	judgeResources(t, genuine, sampled(t), checkFault, func(f resourceFault, id requirement.ID) bool {
		return slices.Contains(slices.Concat(f.fails, f.tolerated), id) || id == requirement.ResourceCreateEveryVersion
	})
}

// TestResourceFaultsAreOfAllSpecs has a fault for each spec, so that each is shown to be able to fail.
func TestResourceFaultsAreOfAllSpecs(t *testing.T) {
	broken := map[requirement.ID]bool{}
	for _, f := range resourceFaults() {
		for _, id := range f.fails {
			broken[id] = true
		}
	}
	for _, spec := range suites.Preview([]suites.Area{resource.Area}) {
		if !broken[spec.Requirement] {
			t.Errorf("no fault breaks %s, so its spec is not shown to be able to fail", spec.Requirement)
		}
	}
}

// judgeResources puts one webhook after the other behind the same API server, and has each judged with the same objects by the specs that are
// selected for it.
func judgeResources(t *testing.T, genuine *embedded.Cluster, objects corpus.Corpus, check func(*testing.T, resourceFault, []suites.Result), selects func(f resourceFault, id requirement.ID) bool) {
	t.Helper()
	served := &swapped{}
	var f resourceFault
	env := suitetest.Env(t, suites.Options{
		Cluster: genuine, Subject: subject(t, served, objects), Seed: 1,
		Select: func(id requirement.ID) bool { return selects(f, id) },
	})
	for _, name := range slices.Sorted(maps.Keys(resourceFaults())) {
		t.Run(name, func(t *testing.T) {
			f = resourceFaults()[name]
			served.serve(f.handler)
			outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
			if err != nil {
				t.Fatal(err)
			}
			check(t, f, outcome.Results)
		})
	}
}

func (f resourceFault) lists(id requirement.ID) bool {
	return slices.Contains(slices.Concat(f.fails, f.tolerated, f.notApplicable), id)
}

// checkFault wants the verdicts that are listed for a fault, and Passed for what is not.
func checkFault(t *testing.T, f resourceFault, results []suites.Result) {
	t.Helper()
	said := f.says == ""
	for _, result := range results {
		want := requirement.Passed
		switch id := result.Requirement; {
		case slices.Contains(f.fails, id):
			want = requirement.Failed
		case slices.Contains(f.tolerated, id):
			want = requirement.Tolerated
		case slices.Contains(f.notApplicable, id):
			want = requirement.NotApplicable
		}
		t.Logf("%s: %s %s", result.Requirement, result.Verdict, result.Reason)
		if result.Verdict != want {
			t.Errorf("%s is %s, want %s", result.Requirement, result.Verdict, want)
		}
		if result.Verdict == requirement.Failed {
			evidence(t, result)
		}
		said = said || strings.Contains(result.Reason, f.says)
		if result.Requirement == requirement.ResourceApplyTwoManagers && !strings.Contains(result.Reason, f.stored) {
			t.Errorf("%s does not say %q", result.Requirement, f.stored)
		}
	}
	if !said {
		t.Errorf("no reason says %q", f.says)
	}
}

// evidence reports whether a failure comes with what is needed to see it again.
func evidence(t *testing.T, result suites.Result) {
	t.Helper()
	names := map[string]string{}
	for _, attachment := range result.Attachments {
		names[attachment.Name] = string(attachment.Data)
	}
	for _, once := range []string{"\n  resourceVersion: ", "\n  uid: ", "\n  managedFields:"} {
		if strings.Contains(names["reproduce.sh"], once) {
			t.Errorf("%s: what was done cannot be done again: there is %q in\n%s", result.Requirement, once, names["reproduce.sh"])
		}
	}
	definition := ""
	for name, text := range names {
		if strings.HasSuffix(name, ".example.com.yaml") && strings.Contains(text, "kind: CustomResourceDefinition\n") {
			definition = name
		}
	}
	if names["object.yaml"] == "" || !strings.Contains(names["reproduce.sh"], "kubectl ") || definition == "" {
		t.Errorf("%s: the evidence is not complete: %v", result.Requirement, slices.Sorted(maps.Keys(names)))
	}
}

// swapped is a webhook that can be exchanged.
type swapped struct {
	mu      sync.Mutex
	handler http.Handler
}

func (s *swapped) serve(handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

func (s *swapped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	handler := s.handler
	s.mu.Unlock()
	handler.ServeHTTP(w, r)
}

// resourceRefusing is a webhook that fails for some objects.
func resourceRefusing(refuse func(from, to string, object map[string]any) bool) http.Handler {
	return resourceSaying("not supported", refuse)
}

// resourceSaying is a webhook that fails for some objects with a message.
func resourceSaying(message string, refuse func(from, to string, object map[string]any) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request, err2 := contract.ParseRequest(body)
		if err != nil || err2 != nil {
			http.Error(w, "malformed", http.StatusBadRequest)
			return
		}
		for _, raw := range request.Objects {
			var object map[string]any
			if json.Unmarshal(raw, &object) == nil && refuse(version(object["apiVersion"]), version(request.DesiredAPIVersion), object) {
				fmt.Fprintf(w, `{"apiVersion":"apiextensions.k8s.io/%s","kind":"ConversionReview","response":{"uid":%q,"result":{"status":"Failed","message":%q}}}`,
					request.ReviewVersion, request.UID, message)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	})
}

func version(apiVersion any) string {
	_, v, _ := strings.Cut(fmt.Sprint(apiVersion), "/")
	return v
}

// changing is a webhook that converts and then changes what comes out at a version; at all when it is empty.
func changing(at string, change func(object map[string]any)) http.Handler {
	return webhook.Changing(func(object map[string]any) {
		if at == "" || version(object["apiVersion"]) == at {
			change(object)
		}
	})
}

// within returns a map in an object. It is a new one of nobody where there is none.
func within(object map[string]any, key string) map[string]any {
	if inner, ok := object[key].(map[string]any); ok {
		return inner
	}
	return map[string]any{}
}

func resourceFaults() map[string]resourceFault {
	var conversions atomic.Int64
	changes := []requirement.ID{requirement.ResourceUpdateEveryVersion, requirement.ResourcePatchJSON, requirement.ResourcePatchMerge, requirement.ResourceApplyTwoManagers, requirement.ResourceStatusEveryVersion, requirement.ResourceScaleEveryVersion} // what is asked of sound objects only
	return map[string]resourceFault{
		"refuses to store": {
			fails:         []requirement.ID{requirement.ResourceCreateEveryVersion, requirement.ResourceListMixedStorage, requirement.ResourceDeleteEveryVersion, requirement.ResourceWriteNoOp},
			notApplicable: []requirement.ID{requirement.ResourceReadEveryVersion, requirement.ResourceUpdateEveryVersion, requirement.ResourcePatchJSON, requirement.ResourcePatchMerge, requirement.ResourceApplyTwoManagers, requirement.ResourceApplyManagedFields, requirement.ResourceStatusEveryVersion, requirement.ResourceScaleEveryVersion, requirement.ResourceWatchEveryVersion, requirement.ResourceDeleteCollection, requirement.ResourceWriteValidatedRead},
			says:          `creating an object at v1alpha1 (stored at v1beta1): expected it to be created, got: conversion webhook for example.com/v1alpha1, Kind=CronTab failed: not supported`,
			handler:       resourceRefusing(func(from, to string, _ map[string]any) bool { return from == "v1alpha1" && to == "v1beta1" }),
		},
		"refuses objects without spec": {
			fails:         []requirement.ID{requirement.ResourceCreateEveryVersion, requirement.ResourceReadEveryVersion, requirement.ResourceApplyTwoManagers, requirement.ResourceApplyManagedFields, requirement.ResourceWatchEveryVersion, requirement.ResourceDeleteCollection},
			notApplicable: []requirement.ID{requirement.ResourceListMixedStorage, requirement.ResourceWriteNoOp, requirement.ResourceWriteValidatedRead, requirement.ResourceStatusEveryVersion},
			says:          `giving up all fields`,
			needs:         "an object without a spec",
			handler:       resourceRefusing(func(_, _ string, o map[string]any) bool { return o["spec"] == nil }),
		},
		"stamps each conversion": {
			fails:  []requirement.ID{requirement.ResourceApplyTwoManagers, requirement.ResourceWatchEveryVersion, requirement.ResourceWriteNoOp},
			says:   `metadata.annotations.converted: expected`,
			stored: "; in storage, applying at v1alpha1 changed:\nmetadata.annotations: expected",
			handler: changing("", func(o map[string]any) {
				meta := within(o, "metadata")
				annotations := within(meta, "annotations")
				annotations["converted"] = strconv.FormatInt(conversions.Add(1), 10)
				meta["annotations"] = annotations
			}),
		},
		"loses the status": {
			fails:   []requirement.ID{requirement.ResourceStatusEveryVersion},
			says:    `status.replicas: expected 3, got nothing`,
			handler: changing("v1", func(o map[string]any) { delete(o, "status") }),
		},
		"loses labels": {
			fails:         []requirement.ID{requirement.ResourceCreateEveryVersion, requirement.ResourceReadEveryVersion, requirement.ResourceListMixedStorage, requirement.ResourceDeleteCollection, requirement.ResourceWriteNoOp},
			notApplicable: changes,
			says:          `deleted by its label at v1, read at v1alpha1: expected it to be deleted, got the object`,
			handler:       changing("v1", func(o map[string]any) { delete(within(o, "metadata"), "labels") }),
		},
		"counts up": {
			fails:         []requirement.ID{requirement.ResourceCreateEveryVersion, requirement.ResourceReadEveryVersion, requirement.ResourceListMixedStorage, requirement.ResourceWriteNoOp},
			notApplicable: changes,
			says:          `spec.revision: expected 4, got 5`,
			handler: changing("v1beta1", func(o map[string]any) {
				if n, ok := within(o, "spec")["revision"].(json.Number); ok {
					i, _ := n.Int64()
					within(o, "spec")["revision"] = i + 1
				}
			}),
		},
		"refuses a pair of versions that are not stored": {
			fails:   []requirement.ID{requirement.ResourceApplyTwoManagers, requirement.ResourceApplyManagedFields, requirement.ResourceListMixedStorage},
			says:    `stored at v1)`,
			handler: resourceRefusing(func(from, to string, _ map[string]any) bool { return from == "v1" && to == "v1alpha1" }),
		},
		"returns what is invalid": {
			fails:     []requirement.ID{requirement.ResourceWriteValidatedRead},
			tolerated: []requirement.ID{requirement.ResourceWriteNoOp},
			says:      `spec.policy: Unsupported value`,
			handler:   changing("v1alpha1", setPolicy("Sometimes")),
		},
		"refuses objects that are being deleted": {
			fails:   []requirement.ID{requirement.ResourceDeleteEveryVersion},
			says:    `deleting at v1alpha1`,
			handler: resourceRefusing(func(_, _ string, o map[string]any) bool { return within(o, "metadata")["deletionTimestamp"] != nil }),
		},
		"restores what it kept": {
			fails:   []requirement.ID{requirement.ResourceUpdateEveryVersion, requirement.ResourcePatchJSON, requirement.ResourcePatchMerge, requirement.ResourceScaleEveryVersion},
			says:    `fields changed and read there`,
			handler: changing("", keep("spec")),
		},
		"restores a newer version, whatever was written since": {
			fails:   []requirement.ID{requirement.ResourceUpdateEveryVersion, requirement.ResourcePatchJSON, requirement.ResourcePatchMerge, requirement.ResourceScaleEveryVersion},
			says:    `an annotation changed at v1, read at v1alpha1 (stored at v1beta1)`,
			handler: copying(),
		},
		"hides a patch at another version": {
			fails:   []requirement.ID{requirement.ResourcePatchJSON, requirement.ResourcePatchMerge},
			says:    `read at v1 (stored at v1beta1): the patch did not take effect`,
			handler: webhook.Handler(resourceNamed("hides-edits")),
		},
		"drops a field when another is patched alone": {
			fails:   []requirement.ID{requirement.ResourcePatchJSON, requirement.ResourcePatchMerge},
			says:    `read at v1 before and after (stored at v1beta1):`,
			handler: forgetful(),
		},
		"restores the status that it kept": {
			fails:   []requirement.ID{requirement.ResourceStatusEveryVersion},
			says:    `status written and read at v1alpha1 (stored at v1beta1)`,
			handler: changing("", keep("status")),
		},
		"leaves null in a field that there is not": {
			fails:   []requirement.ID{requirement.ResourceApplyTwoManagers, requirement.ResourceApplyManagedFields},
			says:    `field not declared in schema`,
			handler: changing("v1", func(o map[string]any) { within(o, "spec")["creationTimestamp"] = nil }), // as encoders of embedded metadata do
		},
		"returns a number for text": {
			fails:   []requirement.ID{requirement.ResourceApplyTwoManagers, requirement.ResourceApplyManagedFields, requirement.ResourceWriteValidatedRead},
			says:    `.spec.policy: expected string, got`,
			handler: changing("v1", setPolicy(5)),
		},
		"adds what is not the default": {
			fails: []requirement.ID{requirement.ResourceWriteNoOp},
			needs: "an object without a spec",
			says:  `spec.replicas: expected nothing, got 7, where the default is 1`,
			handler: changing("v1", func(o map[string]any) {
				if o["spec"] == nil {
					o["spec"] = map[string]any{"replicas": 7}
				}
			}),
		},
		"adds a default": {
			tolerated: []requirement.ID{requirement.ResourceWriteNoOp},
			says:      `spec.cronSpec: expected nothing, got "* * * * *"`,
			handler: changing("v1", func(o map[string]any) {
				spec := within(o, "spec")
				if spec["cronSpec"] == nil {
					spec["cronSpec"] = "* * * * *"
				}
				o["spec"] = spec
			}),
		},
	}
}

// setPolicy sets a field of objects that have none, as the samples.
func setPolicy(policy any) func(o map[string]any) {
	return func(o map[string]any) {
		if spec := within(o, "spec"); spec["policy"] == nil {
			spec["policy"] = policy
		}
	}
}

// keep keeps the first value that a field has when it is converted to v1 in an annotation, and puts it into what is converted back.
func keep(field string) func(o map[string]any) {
	key := "example.com/" + field
	return func(o map[string]any) {
		switch before, found := annotated(o, key); {
		case !found && version(o["apiVersion"]) == "v1" && o[field] != nil:
			annotate(o, key, o[field])
		case found && version(o["apiVersion"]) != "v1":
			o[field] = before
		}
	}
}

// annotate puts a value into an annotation of an object, as JSON.
func annotate(o map[string]any, key string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	meta := within(o, "metadata")
	annotations := within(meta, "annotations")
	annotations[key] = string(text)
	meta["annotations"] = annotations
}

// annotated is the value in an annotation, if an object has it.
func annotated(o map[string]any, key string) (value any, found bool) {
	text, found := within(within(o, "metadata"), "annotations")[key].(string)
	if !found {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return value, true
}

// resourceNamed is a fault of the reference webhook.
func resourceNamed(name string) webhook.Fault {
	f, found := webhook.FaultNamed(name)
	if !found {
		panic("no fault " + name)
	}
	return f
}

// copying is a webhook that leaves a copy of spec in an annotation of what it converts from v1, as converters do whose older versions lack
// fields. It puts the copy into what it converts to v1, even if a client has changed the object at an older version since.
func copying() http.Handler {
	const key = "example.com/v1"
	return between(func(o map[string]any) {
		if o["spec"] != nil {
			annotate(o, key, o["spec"])
		}
	}, func(o map[string]any) {
		if spec, found := annotated(o, key); found {
			delete(within(within(o, "metadata"), "annotations"), key)
			o["spec"] = spec
		}
	})
}

// forgetful is a webhook that notes three fields of what it converts from v1. From what it converts to v1, it drops the first when the
// last has changed and the others have not.
func forgetful() http.Handler {
	const kept, changed = "example.com/kept", "example.com/changed"
	note := func(o map[string]any) map[string]any {
		spec := within(o, "spec")
		return map[string]any{kept: fmt.Sprint(spec["containers"], spec["image"]), changed: fmt.Sprint(spec["environment"])}
	}
	return between(func(o map[string]any) {
		meta := within(o, "metadata")
		annotations := within(meta, "annotations")
		maps.Copy(annotations, note(o))
		meta["annotations"] = annotations
	}, func(o map[string]any) {
		annotations := within(within(o, "metadata"), "annotations")
		now := note(o)
		if before, found := annotations[kept]; found && before == now[kept] && annotations[changed] != now[changed] {
			delete(within(o, "spec"), "containers")
		}
		delete(annotations, kept)
		delete(annotations, changed)
	})
}

// between is a webhook that converts, and changes what it has converted from v1, and what it has converted to v1 from other versions.
func between(from, to func(o map[string]any)) http.Handler {
	fromNewest, toNewest := changing("", from), changing("v1", to)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request, err2 := contract.ParseRequest(body)
		if err != nil || err2 != nil {
			http.Error(w, "malformed", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var object struct {
			APIVersion string `json:"apiVersion"`
		}
		if len(request.Objects) > 0 && json.Unmarshal(request.Objects[0], &object) == nil && version(object.APIVersion) == "v1" {
			fromNewest.ServeHTTP(w, r)
			return
		}
		toNewest.ServeHTTP(w, r)
	})
}
