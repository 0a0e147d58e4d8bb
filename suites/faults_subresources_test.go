package suites_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/subresources"
)

// subresourcesIgnorance proves that what is about something that stays as it is does not pass because an API server does nothing.
func subresourcesIgnorance(t *testing.T, genuine *embedded.Cluster) {
	t.Helper()
	t.Run("of subresources", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, subresources.Area, suitetest.Ignoring("subresources"),
			requirement.SubresourcesStatusOptional, requirement.SubresourcesStatusRootConstructs, requirement.SubresourcesStatusRootOthers,
			requirement.SubresourcesStatusRootExtensions, requirement.SubresourcesScaleOptional)
	})
	t.Run("of rules", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, subresources.Area, suitetest.Ignoring("x-kubernetes-validations"), requirement.SubresourcesStatusRules, requirement.SubresourcesStatusRootExtensions)
	})
	t.Run("of x-kubernetes-preserve-unknown-fields", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, subresources.Area, suitetest.Ignoring("x-kubernetes-preserve-unknown-fields"), requirement.SubresourcesStatusRootExtensions)
	})
	t.Run("of what to refuse", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, subresources.Area, suitetest.Accepting(``), requirement.SubresourcesStatusRootConstructs, requirement.SubresourcesStatusRootExtensions)
	})
	t.Run("of the paths of labels", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, subresources.Area, suitetest.Ignoring("labelSelectorPath"), requirement.SubresourcesScaleSelectorDefault, requirement.SubresourcesScaleSelectorPathOptional)
	})
	t.Run("of writes of the status", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, subresources.Area, func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Objects && r.Sub == "status" {
				read := r.Clone(r.Context())
				read.Method, read.Body, read.ContentLength = http.MethodGet, nil, 0
				return next.RoundTrip(read)
			}
			return next.RoundTrip(r.Request)
		},
			requirement.SubresourcesStatusPutIgnoresSpec, requirement.SubresourcesStatusPutIgnoresMetadata, requirement.SubresourcesStatusCreateIgnores,
			requirement.SubresourcesStatusPutSpecUnvalidated, requirement.SubresourcesStatusStoredSpecUnvalidated,
			requirement.SubresourcesStatusGenerationStatus, requirement.SubresourcesScaleStatusDefault, requirement.SubresourcesScaleSelectorDefault,
			requirement.SubresourcesVersionsGeneration, requirement.SubresourcesVersionsUnserved)
	})
}

// subresourcesFaults returns for each requirement what an API server does that violates it, and no other. Most are about the object of one
// name, which only the spec of the requirement has.
func subresourcesFaults() map[requirement.ID]suitetest.Fault {
	return map[requirement.ID]suitetest.Fault{
		requirement.SubresourcesStatusExposed:               shown("exposed", "status", setting(9, "spec", "replicas")),
		requirement.SubresourcesStatusOptional:              subresourcesAnswered("optional", "status", http.StatusNotFound),
		requirement.SubresourcesStatusDiscovery:             discovered("crontabs/status", func(r map[string]any) { r["verbs"] = []any{"get"} }),
		requirement.SubresourcesStatusPath:                  subresourcesAnswered("status", "", http.StatusNotFound),
		requirement.SubresourcesStatusVerbs:                 subresourcesAnswered("verbs", "status", http.StatusMethodNotAllowed),
		requirement.SubresourcesStatusPutStores:             shown("put-stores", "status", subresourcesWithout("status")),
		requirement.SubresourcesStatusPutIgnoresSpec:        shown("put-ignores-spec", "", setting(7, "spec", "replicas")),
		requirement.SubresourcesStatusPutIgnoresMetadata:    shown("put-ignores-metadata", "", setting("label", "metadata", "labels", "other")),
		requirement.SubresourcesStatusPutValidated:          suitetest.Accepting(`"put-validated" is invalid`),
		requirement.SubresourcesStatusPutSpecUnvalidated:    refused("put-spec-unvalidated", http.MethodPut),
		requirement.SubresourcesStatusStoredSpecUnvalidated: refused("stored-spec-unvalidated", http.MethodPatch),
		requirement.SubresourcesStatusRules:                 suitetest.Accepting(`"rules" is invalid`),
		requirement.SubresourcesStatusCreateIgnores:         suitetest.Showing("create-ignores", setting(2, "status", "replicas")),
		requirement.SubresourcesStatusUpdateIgnores:         written(http.MethodPut, "update-ignores", setting(5, "status", "replicas")),
		requirement.SubresourcesStatusPatchIgnores:          written(http.MethodPatch, "patch-ignores", subresourcesWithout("status")),
		requirement.SubresourcesStatusGenerationSpec:        shown("generation-spec", "", setting(1, "metadata", "generation")),
		requirement.SubresourcesStatusGenerationMetadata:    shown("generation-metadata", "", setting(2, "metadata", "generation")),
		requirement.SubresourcesStatusGenerationStatus:      shown("generation-status", "status", setting(2, "metadata", "generation")),
		requirement.SubresourcesStatusGenerationWithout:     shown("generation-without", "", setting(1, "metadata", "generation")),
		requirement.SubresourcesStatusRootConstructs:        suitetest.Refusing(`"multipleOf":2`),
		requirement.SubresourcesStatusRootOthers:            suitetest.Accepting(`root-others.*fields are allowed at the root of the schema`),
		requirement.SubresourcesStatusRootExtensions:        suitetest.Refusing(`"name":"root-extensions"`),
		requirement.SubresourcesStatusPatched:               shown("patched", "status", setting(7, "spec", "replicas")),
		requirement.SubresourcesStatusApplied:               shown("applied", "status", setting([]any{}, "metadata", "managedFields")),
		requirement.SubresourcesStatusConflict:              subresourcesAnswered("conflict-of-status", "status", http.StatusConflict),
		requirement.SubresourcesStatusYaml:                  asJSON("yaml"),

		requirement.SubresourcesScaleExposed:              shown("scale-exposed", "scale", setting(0, "spec", "replicas")),
		requirement.SubresourcesScaleOptional:             subresourcesAnswered("scale-optional", "scale", http.StatusNotFound),
		requirement.SubresourcesScaleWithoutStatus:        shown("scale-without-status", "", setting(3, "spec", "replicas")),
		requirement.SubresourcesScaleDiscovery:            discovered("crontabs/scale", subresourcesWithout("group")),
		requirement.SubresourcesScalePath:                 subresourcesAnswered("scale", "", http.StatusNotFound),
		requirement.SubresourcesScaleSpecPath:             shown("spec-path", "scale", setting(9, "spec", "replicas")),
		requirement.SubresourcesScaleSpecPathRequired:     suitetest.Accepting(`specReplicasPath: Required`),
		requirement.SubresourcesScaleSpecPathUnder:        suitetest.Accepting(`specReplicasPath: Invalid value: "\.status`),
		requirement.SubresourcesScalePathDot:              suitetest.Accepting(`must be a simple json path`),
		requirement.SubresourcesScaleSpecValueRequired:    subresourcesAnswered("spec-value-required", "scale", http.StatusInternalServerError),
		requirement.SubresourcesScaleStatusPath:           shown("status-path", "scale", setting(8, "status", "replicas")),
		requirement.SubresourcesScaleStatusPathRequired:   suitetest.Accepting(`statusReplicasPath: Required`),
		requirement.SubresourcesScaleStatusPathUnder:      suitetest.Accepting(`statusReplicasPath: Invalid value: "\.spec`),
		requirement.SubresourcesScaleStatusDefault:        shown("status-default", "scale", setting(1, "status", "replicas")),
		requirement.SubresourcesScaleSelectorPath:         shown("selector-path", "scale", setting("", "status", "selector")),
		requirement.SubresourcesScaleSelectorPathOptional: shown("selector-path-optional", "scale", setting("app=cron", "status", "selector")),
		requirement.SubresourcesScaleSelectorPathUnder:    suitetest.Accepting(`labelSelectorPath: Invalid value: "\.metadata`),
		requirement.SubresourcesScaleSelectorDefault:      shown("selector-default", "scale", setting("app=cron", "status", "selector")),
		requirement.SubresourcesScaleSelectorString:       suitetest.Accepting(`"selector-string" is invalid`),
		requirement.SubresourcesScaleWritten:              shown("written", "", setting(3, "spec", "replicas")),
		requirement.SubresourcesScaleWrittenAlone:         shown("written-alone", "", setting(9, "status", "replicas")),
		requirement.SubresourcesScaleCreated:              shown("created", "", subresourcesWithout("spec")),
		requirement.SubresourcesScaleValidated:            suitetest.Accepting(`"validated" is invalid`),
		requirement.SubresourcesScaleNegative:             suitetest.Accepting(`"negative" is invalid`),
		requirement.SubresourcesScaleBounds:               suitetest.Accepting(`"bounds" is invalid: \.status\.replicas`),
		requirement.SubresourcesScaleGeneration:           shown("scale-generation", "", setting(1, "metadata", "generation")),
		requirement.SubresourcesScaleConflict:             subresourcesAnswered("conflict-of-scale", "scale", http.StatusConflict),
		requirement.SubresourcesScaleApplied:              subresourcesAnswered("scale-applied", "", http.StatusConflict),

		requirement.SubresourcesVersionsStatusOfOne:   written(http.MethodPatch, "status-of-one", subresourcesWithout("status")),
		requirement.SubresourcesVersionsScaleOfOne:    subresourcesAnswered("scale-of-one", "scale", http.StatusNotFound),
		requirement.SubresourcesVersionsStatusNone:    shown("status-none-v1", "", subresourcesWithout("status")),
		requirement.SubresourcesVersionsStatusWebhook: shown("status-webhook-v1", "", subresourcesWithout("status")),
		requirement.SubresourcesVersionsStatusIgnored: written(http.MethodPut, "status-ignored", setting(7, "status", "replicas")),
		requirement.SubresourcesVersionsStatusSchema:  suitetest.Accepting(`"status-schema" is invalid`),
		requirement.SubresourcesVersionsScaleNone:     shown("scale-none", "scale", setting(5, "spec", "replicas")),
		requirement.SubresourcesVersionsScaleWebhook:  shown("scale-webhook", "scale", setting(5, "spec", "replicas")),
		requirement.SubresourcesVersionsScalePaths:    shown("scale-paths", "scale", setting("app=cron", "status", "selector")),
		requirement.SubresourcesVersionsGeneration:    shown("generation", "", setting(3, "metadata", "generation")),
		requirement.SubresourcesVersionsUnserved:      subresourcesAnswered("unserved", "scale", http.StatusNotFound),
		requirement.SubresourcesVersionsAdded:         written(http.MethodPatch, "added", setting(7, "status", "replicas")),
	}
}

// shown changes the object of a name in the answers to reads and writes of it, or of a subresource of it.
func shown(name, sub string, change func(map[string]any)) suitetest.Fault {
	return subresourcesEdited("", name, sub, change)
}

// written changes the object of a name in the answers to requests of a method.
func written(method, name string, change func(map[string]any)) suitetest.Fault {
	return subresourcesEdited(method, name, "", change)
}

func subresourcesEdited(method, name, sub string, change func(map[string]any)) suitetest.Fault {
	return objectsEdited(func(r suitetest.Request) bool {
		return r.Objects && r.Name == name && r.Sub == sub && (method == "" || r.Method == method)
	}, change)
}

// subresourcesAnswered answers requests for the object of a name, or for a subresource of it, as if they succeeded where they get a status.
func subresourcesAnswered(name, sub string, status int) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Objects || r.Name != name || r.Sub != sub || response.StatusCode != status {
			return response, err
		}
		response.Body.Close()
		return suitetest.Answer(r.Request, http.StatusOK, map[string]any{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": name}}), nil
	}
}

// refused refuses to update a subresource of the object of a name.
func refused(name, method string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if !r.Objects || r.Name != name || r.Sub != "status" || r.Method != method {
			return next.RoundTrip(r.Request)
		}
		return suitetest.Answer(r.Request, http.StatusUnprocessableEntity, map[string]any{
			"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusUnprocessableEntity, "reason": "Invalid", "message": "made up",
		}), nil
	}
}

// discovered changes what discovery says of a resource.
func discovered(name string, change func(map[string]any)) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || r.Objects || response.StatusCode != http.StatusOK {
			return response, err
		}
		return suitetest.Edit(response, func(body map[string]any) {
			resources, _ := body["resources"].([]any)
			for _, item := range resources {
				if resource, ok := item.(map[string]any); ok && resource["name"] == name {
					change(resource)
				}
			}
		})
	}
}

// asJSON answers requests for the status of an object in JSON, whatever they ask for.
func asJSON(name string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || r.Name != name || r.Sub != "status" {
			return response, err
		}
		return suitetest.Edited(response, func(raw []byte) (int, []byte) {
			var object map[string]any
			if yaml.Unmarshal(raw, &object) == nil {
				if encoded, err := json.Marshal(object); err == nil {
					raw = encoded
				}
			}
			return response.StatusCode, raw
		})
	}
}

// subresourcesWithout removes a field of an object.
func subresourcesWithout(name string) func(map[string]any) {
	return func(object map[string]any) { delete(object, name) }
}
