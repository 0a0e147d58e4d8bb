package suites_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/objects"
)

// objectsIgnorance proves that what is about something refused does not pass where everything is refused.
func objectsIgnorance(t *testing.T, genuine *embedded.Cluster) {
	t.Helper()
	posts := func(status int) suitetest.Fault {
		return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Objects && r.Method == http.MethodPost {
				return suitetest.Answer(r.Request, status, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "made up", "code": status}), nil
			}
			return next.RoundTrip(r.Request)
		}
	}
	t.Run("of objects outside of a namespace", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, objects.Area, posts(http.StatusNotFound), requirement.ObjectsWriteNamespace, requirement.ObjectsWriteMalformed)
	})
	t.Run("of small objects", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, objects.Area, posts(http.StatusRequestEntityTooLarge), requirement.ObjectsWriteSize)
	})
	t.Run("of good metadata", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, objects.Area, posts(http.StatusBadRequest), requirement.ObjectsMetadataRefused)
	})
	t.Run("of every selector", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, objects.Area, func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Objects && r.Method == http.MethodGet && r.URL.Query().Get("fieldSelector") == "metadata.name=known" {
				return suitetest.Answer(r.Request, http.StatusBadRequest, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "BadRequest", "code": http.StatusBadRequest}), nil
			}
			return next.RoundTrip(r.Request)
		}, requirement.ObjectsSelectorsUnknown)
	})
	t.Run("of selectable fields", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, objects.Area, suitetest.Ignoring("selectableFields"),
			requirement.ObjectsSelectorsList, requirement.ObjectsSelectorsWatch, requirement.ObjectsSelectorsDelete,
			requirement.ObjectsSelectorsVersions, requirement.ObjectsSelectorsPublished)
	})
	t.Run("of what is there", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, objects.Area, func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Objects && r.Name == "there" && r.Header.Get("Content-Type") != "application/merge-patch+json" {
				return suitetest.Answer(r.Request, http.StatusMethodNotAllowed, map[string]any{
					"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "MethodNotAllowed", "code": http.StatusMethodNotAllowed,
				}), nil
			}
			return next.RoundTrip(r.Request)
		}, requirement.ObjectsDefinitionsTerminating, requirement.ObjectsDefinitionsTerminatingApplied)
	})
}

// objectsFaults returns for each requirement what an API server does that violates it, and no other. Most are about the object of one
// name, which only the spec of the requirement has.
func objectsFaults() map[requirement.ID]suitetest.Fault {
	return map[requirement.ID]suitetest.Fault{
		requirement.ObjectsWriteMalformed:  suitetest.Accepting(`Object 'Kind' is missing`),
		requirement.ObjectsWriteAPIVersion: suitetest.Accepting(`does not match the expected API version`),
		requirement.ObjectsWriteNamespace: objectsAnswered(func(r suitetest.Request) bool {
			return r.Method == http.MethodPost && !strings.Contains(r.URL.Path, "/namespaces/")
		}, http.StatusNotFound, http.StatusMethodNotAllowed),
		requirement.ObjectsWriteIntegers: suitetest.Showing("largest", setting(9223372036854775000.0, "spec", "replicas")),
		requirement.ObjectsWriteSize:     objectsAnswered(func(suitetest.Request) bool { return true }, http.StatusRequestEntityTooLarge),
		requirement.ObjectsWriteNull:     suitetest.Accepting(`"full" is invalid`),
		requirement.ObjectsWriteYaml: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Name == "yaml" && r.Method == http.MethodGet {
				r.Header.Set("Accept", "application/json")
			}
			return next.RoundTrip(r.Request)
		},
		requirement.ObjectsWriteNoOp: suitetest.Showing("no-op", setting("1", "metadata", "resourceVersion")),
		requirement.ObjectsWriteStrategic: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Name == "strategic" && r.Sub == "scale" {
				r.Header.Set("Content-Type", "application/merge-patch+json")
			}
			return next.RoundTrip(r.Request)
		},
		requirement.ObjectsWriteConflict: objectsAnswered(objectsNamed("conflict"), http.StatusConflict),
		requirement.ObjectsWriteOwners:   objectsAnswered(objectsNamed("owners"), http.StatusConflict),

		requirement.ObjectsMetadataRefused: suitetest.Accepting(`field ObjectMeta\.finalizers of type string`),
		requirement.ObjectsMetadataUnknown: suitetest.Showing("metadata-unknown", setting(42, "metadata", "unknown")),
		requirement.ObjectsMetadataStored:  objectsEdited(objectsNamed("metadata-stored"), setting("number", "metadata", "labels", "wrong")),

		requirement.ObjectsReadNamespaces: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Watch() && r.URL.Query().Get("fieldSelector") == "metadata.name=everywhere" {
				r.URL.Path = strings.Replace(r.URL.Path, "/namespaces/kube-system", "", 1)
			}
			return next.RoundTrip(r.Request)
		},
		requirement.ObjectsReadInitialEvents: objectsWatches("metadata.name=initial", "k8s.io/initial-events-end", "made.up/annotation"),
		requirement.ObjectsReadMetadata: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.URL.Query().Get("fieldSelector") == "metadata.name=metadata-alone" {
				r.Header.Set("Accept", "application/json")
			}
			return next.RoundTrip(r.Request)
		},
		requirement.ObjectsReadWatch: objectsWatches("metadata.name=watched", `"type":"MODIFIED"`, `"type":"ADDED"`),

		requirement.ObjectsSelectorsList:  emptied("spec.image=listed,spec.replicas=2"),
		requirement.ObjectsSelectorsWatch: objectsWatches("spec.image=watched", `"type":"DELETED"`, `"type":"MODIFIED"`),
		requirement.ObjectsSelectorsDelete: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method == http.MethodDelete && r.URL.Query().Get("fieldSelector") == "spec.image=deleted" {
				return suitetest.Answer(r.Request, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}), nil
			}
			return next.RoundTrip(r.Request)
		},
		requirement.ObjectsSelectorsUnknown: objectsAnswered(func(r suitetest.Request) bool {
			return r.URL.Query().Get("fieldSelector") == "spec.cronSpec=never"
		}, http.StatusBadRequest),
		requirement.ObjectsSelectorsVersions: emptied("host=localhost"),
		requirement.ObjectsSelectorsPublished: objectsEdited(func(r suitetest.Request) bool { return strings.HasPrefix(r.URL.Path, "/openapi/v3/") }, func(document map[string]any) {
			components, _ := document["components"].(map[string]any)
			schemas, _ := components["schemas"].(map[string]any)
			for _, model := range schemas {
				delete(model.(map[string]any), "x-kubernetes-selectable-fields")
			}
		}),
		requirement.ObjectsListsApplied: suitetest.Showing("lists-applied", func(object map[string]any) {
			spec, _ := object["spec"].(map[string]any)
			if items, _ := spec["map"].([]any); len(items) > 1 {
				spec["map"] = items[1:]
			}
		}),
		requirement.ObjectsListsUnique: suitetest.Accepting(`"unique" is invalid: spec.set`),

		requirement.ObjectsDefinitionsNamesTaken: accepted("takentabs."),
		requirement.ObjectsDefinitionsImmutable:  suitetest.Accepting(`spec\.names\.kind: Invalid value: .*immutable`),
		requirement.ObjectsDefinitionsNamesFree:  accepted("freetabs."),
		requirement.ObjectsDefinitionsCollection: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Definition && strings.Contains(r.URL.Query().Get("labelSelector"), "crdconform.dev/collection") {
				query := r.URL.Query()
				query.Set("labelSelector", "crdconform.dev/collection=none")
				r.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(r.Request)
		},
		requirement.ObjectsDefinitionsStatus: objectsEdited(func(r suitetest.Request) bool {
			return r.Definition && r.Sub == "status" && r.Method == http.MethodGet
		}, func(body map[string]any) { delete(body, "status") }),
		requirement.ObjectsDefinitionsObservedGeneration: objectsEdited(func(r suitetest.Request) bool { return r.Definition }, func(body map[string]any) {
			status, _ := body["status"].(map[string]any)
			conditions, _ := status["conditions"].([]any)
			for _, item := range conditions {
				if condition, ok := item.(map[string]any); ok {
					delete(condition, "observedGeneration")
				}
			}
		}),
		requirement.ObjectsDefinitionsWatchesEnd: func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Name == "changing" && r.Method == http.MethodGet {
				return suitetest.Answer(r.Request, http.StatusNotFound, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound}), nil
			}
			return next.RoundTrip(r.Request)
		},
		requirement.ObjectsDefinitionsTerminating: objectsAnswered(func(r suitetest.Request) bool {
			return strings.Contains(r.URL.Path, "objects-definitions-terminating.") && r.Method == http.MethodPost
		}, http.StatusMethodNotAllowed, http.StatusForbidden),
		requirement.ObjectsDefinitionsTerminatingApplied: objectsAnswered(func(r suitetest.Request) bool {
			return strings.HasPrefix(r.Name, "terminating-") && r.Method == http.MethodPatch
		}, http.StatusMethodNotAllowed, http.StatusForbidden),
	}
}

// objectsNamed reports whether a request is for the object of a name.
func objectsNamed(name string) func(suitetest.Request) bool {
	return func(r suitetest.Request) bool { return r.Objects && r.Name == name }
}

// objectsAnswered answers some requests as if they succeeded where they get one of the statuses.
func objectsAnswered(which func(suitetest.Request) bool, statuses ...int) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Objects || !which(r) || !slices.Contains(statuses, response.StatusCode) {
			return response, err
		}
		response.Body.Close()
		return suitetest.Answer(r.Request, http.StatusOK, map[string]any{
			"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "made-up"}, "spec": map[string]any{"image": "my-awesome-cron-image"},
		}), nil
	}
}

// objectsEdited changes what some requests are answered when they succeed.
func objectsEdited(which func(suitetest.Request) bool, change func(map[string]any)) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || r.Watch() || !which(r) || response.StatusCode >= 300 {
			return response, err
		}
		return suitetest.Edit(response, change)
	}
}

// emptied answers lists by a selector with nothing.
func emptied(selector string) suitetest.Fault {
	return objectsEdited(func(r suitetest.Request) bool {
		return r.Method == http.MethodGet && r.URL.Query().Get("fieldSelector") == selector
	}, func(list map[string]any) { list["items"] = []any{} })
}

// objectsWatches changes text in the events of watches by a selector.
func objectsWatches(selector, old, replacement string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Watch() || r.URL.Query().Get("fieldSelector") != selector {
			return response, err
		}
		response.Body = replacing(response.Body, old, replacement)
		return response, nil
	}
}

// accepted leaves open whether the names of a definition are accepted.
func accepted(name string) suitetest.Fault {
	return objectsEdited(func(r suitetest.Request) bool { return r.Definition && strings.HasPrefix(r.Name, name) }, func(body map[string]any) {
		status, _ := body["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		for _, item := range conditions {
			if condition, ok := item.(map[string]any); ok && condition["type"] == "NamesAccepted" {
				condition["status"] = "Unknown"
			}
		}
	})
}

// setting sets a field of an object.
func setting(value any, path ...string) func(map[string]any) {
	return func(object map[string]any) {
		for _, name := range path[:len(path)-1] {
			inner, ok := object[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				object[name] = inner
			}
			object = inner
		}
		object[path[len(path)-1]] = value
	}
}
