package suites_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
)

// catches runs specs on a cluster that has for each of them the fault that it is to notice. The first one starts after a
// while: controllers have to know the definitions, so that specs which would pass without a fault do not fail for waiting.
func catches(t *testing.T, genuine cluster.Cluster, hook *deployed.Webhook, before time.Duration, ids ...requirement.ID) {
	t.Helper()
	now := &current{before: before}
	faults := controlFaults()
	c := tamper(t, genuine, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if fault, found := faults[now.id()]; found {
			return fault.exchange(r, next)
		}
		return next.RoundTrip(r)
	})
	area := control.New(control.Options{CatchUp: 15 * time.Second, Webhook: hook})
	results := controlRun(t, area, suites.Options{Cluster: c, Select: only(ids...), Domain: "faults.example.com", Effect: 5 * time.Second}, now)
	if len(results) != len(ids) {
		t.Errorf("%d specs ran, want %d", len(results), len(ids))
	}
	for _, r := range results {
		fault, found := faults[r.Requirement]
		if !found {
			t.Errorf("there is no fault for %s, so it is not shown to be able to fail", r.Requirement)
		} else if r.Verdict != requirement.Failed || !strings.Contains(r.Reason, fault.says) {
			t.Errorf("with its fault %s is %s, want it to fail with %q: %s", r.Requirement, r.Verdict, fault.says, r.Reason)
		}
	}
}

// current knows which spec is running.
type current struct {
	suitetest.Quiet

	before time.Duration // to wait before the first
	spec   atomic.Value
}

func (c *current) id() requirement.ID {
	id, _ := c.spec.Load().(requirement.ID)
	return id
}

func (c *current) SpecStarted(id requirement.ID, _ string) {
	if c.id() == "" {
		<-time.After(c.before)
	}
	c.spec.Store(id)
}

// controlFault is something that an API server does wrong.
type controlFault struct {
	says     string // what the spec that notices it says, among others
	exchange proxied
}

// controlFaults returns for each requirement what an API server does that violates it.
func controlFaults() map[requirement.ID]controlFault {
	return map[requirement.ID]controlFault{
		requirement.ControlNamespacesMissing:          {"nothing can be created in a namespace that does not exist", controlAnswered(http.MethodPost, `/crontabs$`, http.StatusNotFound, http.StatusCreated)},
		requirement.ControlNamespacesTerminating:      {"nothing can be created at v1beta1", controlAnswered(http.MethodPost, `/crontabs$`, http.StatusForbidden, http.StatusCreated)},
		requirement.ControlNamespacesObjects:          {"the namespace must be deleted", controlAnswered(http.MethodGet, `/namespaces/crdconform-\w+$`, http.StatusNotFound, http.StatusOK)},
		requirement.ControlNamespacesRecover:          {"the namespace must be deleted", controlAnswered(http.MethodGet, `/namespaces/crdconform-\w+$`, http.StatusNotFound, http.StatusOK)},
		requirement.ControlNamespacesPreferredVersion: {"the namespace must be deleted", controlAnswered(http.MethodGet, `/namespaces/crdconform-\w+$`, http.StatusNotFound, http.StatusOK)},
		requirement.ControlNamespacesFinalizers:       {"the namespace must say which finalizer", controlEdited(`/namespaces/crdconform-\w+$`, controlWithout("conditions"))},
		requirement.ControlNamespacesBlockedByWebhook: {"the namespace must say what blocks it", controlEdited(`/namespaces/crdconform-\w+$`, controlWithout("conditions"))},
		requirement.ControlGarbageOwners:              {"the object's dependents must be deleted", controlAnswered(http.MethodGet, `/configmaps/crdconform-\w+$`, http.StatusNotFound, http.StatusOK)},
		requirement.ControlGarbageDependents:          {"dependents must be deleted", controlEdited(`/v1/crontabs$`, haunted)},
		requirement.ControlGarbageForeground:          {"the object must wait at v1beta1", controlEdited(`/crontabs/local-crontab$`, controlWithout("finalizers"))},
		requirement.ControlGarbageRemoved:             {"the object's dependents must be deleted", controlAnswered(http.MethodGet, `/configmaps/crdconform-\w+$`, http.StatusNotFound, http.StatusOK)},
		requirement.ControlGarbageUnserved:            {"the dependents of other versions must stay", controlAnswered(http.MethodGet, `/configmaps/crdconform-\w+$`, http.StatusOK, http.StatusNotFound)},
		requirement.ControlGarbageUnservedBlocks:      {"the dependent of the other version must stay", controlAnswered(http.MethodGet, `/configmaps/crdconform-\w+$`, http.StatusOK, http.StatusNotFound)},
		requirement.ControlGarbageOrphan: {"the dependents must stay", controlEdited(`/configmaps/crdconform-\w+$`, inEach("metadata", func(meta map[string]any) {
			meta["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "Made", "name": "up", "uid": "made-up"}}
		}))},
		requirement.ControlKubectlCreate: {"it must be there", pretended(http.MethodPost, `/crontabs$`)},
		requirement.ControlKubectlDefinitions: {"status.storedVersions must have both versions", controlEdited(`/customresourcedefinitions/`, inEach("status", func(status map[string]any) {
			status["storedVersions"] = []any{"v1beta1"}
		}))},
		requirement.ControlKubectlUpgrade:           {"every object must be stored at v1", pretended(http.MethodPut, `/crontabs/`)},
		requirement.ControlKubectlUpgradeNone:       {"every object must be stored at v1", pretended(http.MethodPut, `/crontabs/`)},
		requirement.ControlKubectlPruned:            {"must be pruned", editedOn(http.MethodPost, `/crontabs$`, inEach("spec", func(spec map[string]any) { spec["someRandomField"] = 42 }))},
		requirement.ControlKubectlRemovedDefinition: {"there is no such resource", pretended(http.MethodDelete, `/customresourcedefinitions/`)},
		requirement.ControlKubectlValidation:        {"kubectl must reject it", unasked("fieldValidation")},
		requirement.ControlKubectlApply:             {"the changes of the manifest must be applied", pretended(http.MethodPatch, `/crontabs/`)},
		requirement.ControlKubectlServerSideApply:   {"not found", pretended(http.MethodPatch, `/crontabs/`)},
		requirement.ControlKubectlScale:             {"the replicas must change", pretended(http.MethodPatch, `/scale$`)},
		requirement.ControlKubectlPatchSubresource:  {"the status must change", pretended(http.MethodPatch, `/status$`)},
		requirement.ControlKubectlNames:             {"resource type \"crdcn\"", controlEdited(`^/apis`, controlWithout("shortNames"))},
		requirement.ControlKubectlCategory:          {"resource type \"crdconform-category\"", controlEdited(`^/apis`, controlWithout("categories"))},
		requirement.ControlKubectlPreferredVersion:  {"at the version of the highest priority", otherVersion},
		requirement.ControlKubectlManifestVersion:   {"at the version of the manifest", otherVersion},
		requirement.ControlKubectlExplain:           {"must be explained", controlEdited(`^/openapi/v3/`, controlWithout("properties"))},
		requirement.ControlKubectlColumns:           {"the columns of priority 0", controlEdited(`/crontabs$`, inEach("columnDefinitions", func(column map[string]any) { column["priority"] = 0 }))},
		requirement.ControlKubectlWideColumns:       {"all columns must be shown", controlEdited(`/crontabs$`, inEach("columnDefinitions", func(column map[string]any) { column["name"] = "Other" }))},
		requirement.ControlAggregatorAPIServices:    {"there must be an API service", controlEdited(`/apiservices/`, controlWithout("conditions"))},
		requirement.ControlAggregatorDiscovery:      {"with everything they have", controlEdited(`^/apis$`, inEach("versions", func(version map[string]any) { version["freshness"] = "Stale" }))},
		requirement.ControlAggregatorOpenapiV2:      {"the paths and the schemas", controlEdited(`^/openapi/v2$`, controlWithout("definitions"))},
		requirement.ControlAggregatorOpenapiV3:      {"the schema of v1beta1", controlEdited(`^/openapi/v3/`, controlWithout("properties"))},
		requirement.ControlAggregatorUnserved:       {"the version must disappear everywhere", controlAnswered(http.MethodGet, `/apiservices/`, http.StatusNotFound, http.StatusOK)},
		requirement.ControlAdmissionDefaults:        {"the default of v1beta1", controlEdited(`/v1/namespaces/default/crontabs$`, inEach("parent", func(parent map[string]any) { parent["name"] = "by-v1" }))},
		requirement.ControlAdmissionPruned:          {"what no schema has must be removed", editedOn(http.MethodPost, `/crontabs$`, func(object map[string]any) { object["unknown"] = "added" })},
		requirement.ControlAdmissionEquivalent:      {"the webhook must be asked about writes at v1", resent(`/mutatingwebhookconfigurations$`, `"Equivalent"`, `"Exact"`)},
		requirement.ControlAdmissionExact:           {"it must not be asked about writes at v1", resent(`/mutatingwebhookconfigurations$`, `"Exact"`, `"Equivalent"`)},
		requirement.ControlAdmissionPolicy:          {"Exact must not apply to v1", resent(`/validatingadmissionpolicies$`, `"Exact"`, `"Equivalent"`)},
		requirement.ControlAccessGroup:              {"no access to", impersonated},
		requirement.ControlAccessNoVersions:         {"a rule that names a version", impersonated},
		requirement.ControlAccessSubresources:       {"the status must not be allowed", impersonated},
		requirement.ControlScalingDisruptionBudget:  {"half of 5 and 2 replicas", controlEdited(`/poddisruptionbudgets/`, inEach("status", func(status map[string]any) { status["expectedPods"] = 2 }))},
		requirement.ControlScalingAutoscaler:        {"there must be 3 replicas", controlEdited(`/crontabs/`, inEach("spec", func(spec map[string]any) { spec["replicas"] = 5 }))},
		requirement.ControlMigrationRewrites: {"must already be stored at v1", editedOn(http.MethodPut, `/crontabs/`, inEach("metadata", func(meta map[string]any) {
			meta["resourceVersion"] = time.Now().Format("20060102150405.000000")
		}))},
		requirement.ControlMigrationStoredVersions: {"the older version must be removed from status.storedVersions", controlEdited(`/customresourcedefinitions/`, inEach("status", func(status map[string]any) {
			status["storedVersions"] = []any{"v1beta1", "v1"}
		}))},
		requirement.ControlMigrationMeanwhile: {"what is there must be stored at v1", editedOn(http.MethodPatch, `/crontabs/`, inEach("metadata", func(meta map[string]any) {
			meta["resourceVersion"] = time.Now().Format("20060102150405.000000")
		}))},
		requirement.ControlMigrationGeneration:  {"the versions must be kept", trimmed()},
		requirement.ControlMigrationUnconverted: {"both versions must be kept", trimmed()},
		requirement.ControlMigrationTooLarge:    {"both versions must be kept", trimmed()},
		requirement.ControlMigrationReason: {"it must say why", controlEdited(`/storageversionmigrations/`, inEach("conditions", func(condition map[string]any) {
			condition["message"] = ""
		}))},
		requirement.ControlWebhookService:     {"it must be converted back", controlEdited(`/crontabs/local-crontab$`, controlWithout("host"))},
		requirement.ControlWebhookReplacedPod: {"that were not in progress when the pod", failingAfter(50, controlOn(http.MethodPost, `/crontabs$`))},
	}
}

// trimmed shows definitions with the newer version as the only one that objects were ever stored at.
func trimmed() proxied {
	return controlEdited(`/customresourcedefinitions/`, inEach("status", func(status map[string]any) { status["storedVersions"] = []any{"v1"} }))
}

// failingAfter answers with a failure what comes after the first so many.
func failingAfter(first int64, which func(*http.Request) bool) proxied {
	var seen atomic.Int64
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if which(r) && seen.Add(1) > first {
			return suitetest.Answer(r, http.StatusInternalServerError, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusInternalServerError}), nil
		}
		return next.RoundTrip(r)
	}
}

// controlOn reports whether a request has a method, or any where that is empty, and a path.
func controlOn(method, path string) func(*http.Request) bool {
	like := regexp.MustCompile(path)
	return func(r *http.Request) bool {
		return (method == "" || r.Method == method) && like.MatchString(r.URL.Path)
	}
}

// controlAnswered answers with another status, and with an empty object.
func controlAnswered(method, path string, from, to int) proxied {
	which := controlOn(method, path)
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || !which(r) || response.StatusCode != from {
			return response, err
		}
		response.Body.Close()
		return suitetest.Answer(r, to, map[string]any{"apiVersion": "v1", "kind": "Madeup", "metadata": map[string]any{"name": "made-up"}}), nil
	}
}

// controlEdited changes the answers to reads and writes that succeeded.
func controlEdited(path string, change func(body map[string]any)) proxied {
	return editedOn("", path, change)
}

// editedOn changes the answers to requests of a method.
func editedOn(method, path string, change func(body map[string]any)) proxied {
	which := controlOn(method, path)
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || !which(r) || response.StatusCode >= 300 || r.URL.Query().Get("watch") != "" {
			return response, err
		}
		return suitetest.Edit(response, change)
	}
}

// controlWithout removes fields of a name wherever they are.
func controlWithout(name string) func(map[string]any) {
	return each(func(fields map[string]any) { delete(fields, name) })
}

// inEach changes the objects that fields of a name have, be it one or a list.
func inEach(name string, change func(map[string]any)) func(map[string]any) {
	return each(func(fields map[string]any) {
		switch value := fields[name].(type) {
		case map[string]any:
			change(value)
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					change(item)
				}
			}
		}
	})
}

// each calls a function for all objects in an object, and for itself.
func each(visit func(map[string]any)) func(map[string]any) {
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, field := range value {
				walk(field)
			}
			visit(value)
		case []any:
			for _, item := range value {
				walk(item)
			}
		}
	}
	return func(body map[string]any) { walk(body) }
}

// haunted adds an object to a list that is not there.
func haunted(list map[string]any) {
	if items, ok := list["items"].([]any); ok {
		list["items"] = append(items, map[string]any{
			"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"namespace": "default", "name": "ghost"},
		})
	}
}

// pretended does nothing for a request, and answers as if.
func pretended(method, path string) proxied {
	which := controlOn(method, path)
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !which(r) || r.URL.Query().Get("dryRun") != "" {
			return next.RoundTrip(r)
		}
		sent := suitetest.Body(r)
		if method == http.MethodPost {
			return suitetest.Answer(r, http.StatusCreated, sent), nil
		}
		read := r.Clone(r.Context())
		read.Method, read.Body, read.ContentLength = http.MethodGet, http.NoBody, 0
		read.URL.RawQuery = ""
		read.Header.Del("Content-Type")
		return next.RoundTrip(read)
	}
}

// resent replaces text in what is created at a path.
func resent(path, old, replacement string) proxied {
	which := controlOn(http.MethodPost, path)
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if which(r) {
			sent := bytes.ReplaceAll(suitetest.Body(r), []byte(old), []byte(replacement))
			r = r.Clone(r.Context())
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
		}
		return next.RoundTrip(r)
	}
}

// unasked takes a parameter out of requests.
func unasked(parameter string) proxied {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		query := r.URL.Query()
		query.Del(parameter)
		r.URL.RawQuery = query.Encode()
		return next.RoundTrip(r)
	}
}

// otherVersion answers requests for single objects with those of the other version.
func otherVersion(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/crontabs/") {
		other := map[string]string{"v1": "v1beta1", "v1beta1": "v1"}
		parts := strings.Split(r.URL.Path, "/")
		parts[3] = other[parts[3]]
		r.URL.Path = strings.Join(parts, "/")
	}
	return next.RoundTrip(r)
}

// impersonated lets everybody do everything to objects.
func impersonated(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/crontabs") {
		r.Header.Del("Impersonate-User")
	}
	return next.RoundTrip(r)
}
