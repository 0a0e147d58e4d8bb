package suites_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/migration"
)

// serverAreas returns the chapters on API servers that have no table of faults of their own. That on migrators has correct ones and faulty
// ones.
func serverAreas() []suites.Area {
	others := []string{migration.New(nil).Name}
	for _, t := range tables() {
		others = append(others, t.area.Name)
	}
	return slices.DeleteFunc(chapters.Servers(), func(a suites.Area) bool { return slices.Contains(others, a.Name) })
}

// serverFault makes an API server seem to behave wrongly, which the specs of the requirements that it breaks have to
// notice.
type serverFault struct {
	name   string
	breaks []requirement.ID
	tamper tampering
}

// tampering sets up what a fault does.
type tampering func(*testing.T, *suitetest.Tampered)

// judge has each spec fail whose requirement the fault breaks. Other than with the faults of the webhook, a fault of the server may be
// noticed by specs that are not listed with it.
func (f serverFault) judge(t *testing.T, genuine *embedded.Cluster, domain string) {
	t.Helper()
	tampered := &suitetest.Tampered{Cluster: genuine}
	f.tamper(t, tampered)
	env, err := suites.NewEnv(t.Context(), suites.Options{
		Cluster: tampered,
		Seed:    1,
		Select:  func(id requirement.ID) bool { return slices.Contains(f.breaks, id) },
		Domain:  domain,
		Effect:  2*time.Second + time.Duration(len(f.breaks))*100*time.Millisecond, // each definition takes its time
	})
	if err != nil {
		t.Fatal(err)
	}
	// A fault may well hide that a definition is gone.
	t.Cleanup(func() { _ = env.Close(context.WithoutCancel(t.Context())) })
	outcome, err := suites.Run(t.Context(), env, serverAreas(), suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Results) != len(f.breaks) {
		t.Errorf("%d specs ran, want %d", len(outcome.Results), len(f.breaks))
	}
	for _, result := range outcome.Results {
		t.Logf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		if result.Verdict != requirement.Failed {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// matching returns the requirements of specs whose IDs begin with one of the prefixes.
func matching(prefixes ...string) []requirement.ID {
	var ids []requirement.ID
	for _, spec := range suites.Preview(serverAreas()) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(string(spec.Requirement), p) }) {
			ids = append(ids, spec.Requirement)
		}
	}
	return ids
}

func serverFaults() []serverFault {
	return slices.Concat(acceptingFaults(), hidingFaults(), garblingFaults(), storageFaults(), callFaults())
}

// serverExchange makes a fault that deals with requests.
func serverExchange(f func(r suitetest.Request, next http.RoundTripper) (*http.Response, error)) tampering {
	return func(_ *testing.T, t *suitetest.Tampered) {
		t.Exchange = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			return f(suitetest.About(r), next)
		}
	}
}

// serverEdited makes a fault that changes the bodies of successful responses to some requests.
func serverEdited(which func(suitetest.Request) bool, change func(body map[string]any)) tampering {
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !which(r) || response.StatusCode >= 300 {
			return response, err
		}
		return suitetest.Edit(response, change)
	})
}

// sent makes a fault that changes the bodies of some requests on the way to the API server.
func sent(which func(suitetest.Request) bool, change func(body map[string]any)) tampering {
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		var body map[string]any
		if !which(r) || json.Unmarshal(suitetest.Body(r.Request), &body) != nil {
			return next.RoundTrip(r.Request)
		}
		change(body)
		changed, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
		return next.RoundTrip(r.Request)
	})
}

// serverAnswered makes a fault that answers in place of the API server where that answers with one of the statuses.
func serverAnswered(which func(suitetest.Request) bool, from, to int, status int, body func(suitetest.Request) any) tampering {
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		sent := suitetest.Body(r.Request)
		response, err := next.RoundTrip(r.Request)
		if err != nil || !which(r) || response.StatusCode < from || response.StatusCode > to || response.StatusCode == http.StatusTooManyRequests {
			return response, err
		}
		response.Body.Close()
		if body != nil {
			return suitetest.Answer(r.Request, status, body(r)), nil
		}
		return suitetest.Answer(r.Request, status, sent), nil
	})
}

// hidesInV1beta1 answers for objects as if all went well, once a definition lists ConversionReview v1beta1 alone.
func hidesInV1beta1(t *testing.T, tampered *suitetest.Tampered) {
	t.Helper()
	var listed atomic.Bool
	serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Definition && bytes.Contains(suitetest.Body(r.Request), []byte(`"conversionReviewVersions":["v1beta1"]`)) {
			listed.Store(true)
		}
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Objects || !listed.Load() || response.StatusCode < 500 {
			return response, err
		}
		response.Body.Close()
		return suitetest.Answer(r.Request, 200, map[string]any{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "made-up"}}), nil
	})(t, tampered)
}

func anything(suitetest.Request) bool { return true }

func acceptingFaults() []serverFault {
	definitions := func(r suitetest.Request) bool { return r.Definition && r.Method != http.MethodGet }
	writes := func(r suitetest.Request) bool { return r.Objects && r.Method != http.MethodGet }
	renamed := []requirement.ID{requirement.ConversionMetadataName, requirement.ConversionMetadataNamespace, requirement.ConversionMetadataUID}
	return []serverFault{
		{
			"accepts definitions that are invalid", slices.Concat(
				slices.DeleteFunc(matching("versions.definition."), func(id requirement.ID) bool {
					return id == requirement.VersionsDefinitionSchemaPerVersion
				}),
				matching("versions.deprecation.text-", "conversion.client.url-s", "conversion.client.url-u", "conversion.client.url-f", "conversion.client.url-q",
					"conversion.client.url-and", "conversion.client.url-or", "conversion.request.versions-required", "conversion.request.versions-unique"),
				[]requirement.ID{
					requirement.VersionsManifestsLiteralRejected, requirement.ConversionNoneWebhookStanzaRejected, requirement.ConversionStrategyUnknownRejected,
					requirement.ConversionClientWebhookRequired, requirement.ConversionClientServiceNameRequired, requirement.ConversionClientServiceNamespaceRequired,
					requirement.ConversionClientServicePortRange, requirement.ConversionClientServicePathSlash, requirement.ConversionClientPreserveUnknownFields,
					requirement.ConversionClientCABundleInvalidUpdate, requirement.ConversionRequestVersionsNoneSupported,
					requirement.StorageStoredVersionsUnknownBlocks, requirement.LifecycleRemovalStoredVersionKept, requirement.LifecycleLegacyV1beta1Manifest,
				}),
			serverAnswered(definitions, 400, 499, http.StatusCreated, nil),
		},
		{"prints a mark of direction", []requirement.ID{requirement.VersionsDeprecationTextPrintable}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if sent := suitetest.Body(r.Request); bytes.Contains(sent, []byte("gnirw")) {
				return suitetest.Answer(r.Request, http.StatusCreated, sent), nil
			}
			return next.RoundTrip(r.Request)
		})},
		{"accepts objects that are invalid", []requirement.ID{
			requirement.VersionsDefinitionSchemaPerVersion, requirement.VersionsServingKind, requirement.LifecycleFinalizersOnlyRemoved,
		}, serverAnswered(writes, 400, 499, http.StatusCreated, nil)},
		{"refuses all definitions that are only tried out", []requirement.ID{
			requirement.VersionsManifestsInstallable, requirement.ConversionClientCABundleOptional,
		}, serverAnswered(func(r suitetest.Request) bool { return definitions(r) && r.URL.Query().Get("dryRun") != "" }, 200, 299, 422, status(422, "Invalid"))},
		{"answers for versions and resources that are not there", []requirement.ID{
			requirement.VersionsServingServedFlag, requirement.VersionsServingUnservedNotFound, requirement.VersionsServingNoneServed,
			requirement.VersionsScopeNamespaced, requirement.VersionsScopeCluster, requirement.VersionsScopeDefinitionsClusterWide,
			requirement.LifecycleDeletionEndpoint, requirement.LifecycleDeletionNotFound, requirement.LifecycleLegacyV1beta1Endpoint,
			requirement.LifecycleRemovalServedReversible, requirement.LifecycleRemovalProcedure, requirement.LifecycleFinalizersEmptiedDeletes,
		}, serverAnswered(func(r suitetest.Request) bool {
			return !r.Definition || r.Name == "" || strings.Contains(r.URL.Path, "/namespaces/")
		}, 404, 404, 200,
			func(suitetest.Request) any {
				return map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": []any{}}
			})},
		{
			"hides that conversions failed", slices.Concat(
				[]requirement.ID{
					requirement.ConversionClientServerName, requirement.ConversionClientSystemRoots, requirement.ConversionClientCABundleWrong,
					requirement.ConversionRequestVersionsNoneSupportedStored, requirement.ConversionFailureMessage, requirement.ConversionFailureClientDeadline,
					requirement.LifecycleRemovalTooEarly, requirement.LifecycleDeletionUndecodable,
				},
				matching("conversion.failure.blocks"),
				[]requirement.ID{
					requirement.ConversionResponseHTTPStatus, requirement.ConversionResponseReviewVersion, requirement.ConversionResponseStanza,
					requirement.ConversionResponseUID, requirement.ConversionResponseStatus, requirement.ConversionResponseAllObjects,
					requirement.ConversionResponseDocumentedStatus,
					requirement.ConversionResponseAPIVersion, requirement.ConversionResponseKind, requirement.ConversionResponseBody,
					requirement.ConversionMetadataName, requirement.ConversionMetadataNamespace, requirement.ConversionMetadataUID,
					requirement.ConversionMetadataRequired, requirement.ConversionMetadataLabelsValidated, requirement.ConversionMetadataAnnotationsValidated,
				}),
			serverAnswered(func(r suitetest.Request) bool { return r.Objects }, 500, 599, 200, func(suitetest.Request) any {
				return map[string]any{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "made-up"}}
			}),
		},
		{"hides that conversions in v1beta1 failed", []requirement.ID{requirement.ConversionResponseReviewVersion}, hidesInV1beta1},
		{"hides that conversions of lists failed", append(slices.Clone(renamed), requirement.StorageReadUndecodableList, requirement.StorageReadUndecodableNamed), serverAnswered(
			func(r suitetest.Request) bool { return r.Objects && r.Name == "" && r.Method == http.MethodGet }, 500, 599, 200, func(suitetest.Request) any {
				return map[string]any{"apiVersion": "example.com/v1", "kind": "CronTabList", "metadata": map[string]any{}, "items": []any{}}
			})},
		{"hides that a put failed for what is stored", []requirement.ID{requirement.LifecycleDeletionUndecodable}, serverAnswered(
			func(r suitetest.Request) bool { return r.Objects && r.Method == http.MethodPut }, 500, 599, 200, func(suitetest.Request) any {
				return map[string]any{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "made-up"}}
			})},
		{"hides that conversions of writes failed", append(renamed, requirement.LifecycleUpgradeApplyNeedsWebhook, requirement.LifecycleRemovalApplied), serverAnswered(writes, 500, 599, 200, func(suitetest.Request) any {
			return map[string]any{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "made-up"}}
		})},
	}
}

// status is the body of an error.
func status(code int, reason string) func(suitetest.Request) any {
	return func(suitetest.Request) any {
		return map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "made up"}
	}
}

func hidingFaults() []serverFault {
	reads := func(r suitetest.Request) bool {
		return r.Objects && r.Method == http.MethodGet && r.Name != "" && !r.Watch()
	}
	return []serverFault{
		{"gives no warnings", append(
			matching("versions.deprecation.reads", "versions.deprecation.writes", "versions.deprecation.deletes", "versions.deprecation.sub",
				"versions.deprecation.errors", "versions.deprecation.custom", "versions.deprecation.default", "versions.deprecation.replacement"),
			requirement.LifecycleFinalizersQualifiedNames,
		), serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r.Request)
			if err == nil {
				response.Header.Del("Warning")
			}
			return response, err
		})},
		{"warns of everything", []requirement.ID{requirement.VersionsDeprecationSilentOtherwise}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r.Request)
			if err == nil {
				response.Header.Add("Warning", `299 - "made up"`)
			}
			return response, err
		})},
		// What held until 1.21 is seen to hold by the API server of 1.21 alone, see docs/matrix.md.
		{"lost v1beta1 before its time", []requirement.ID{
			requirement.LifecycleLegacyV1beta1Tabs, requirement.LifecycleLegacyVersionField, requirement.LifecycleLegacyVersionPrepopulates,
			requirement.LifecycleLegacyReviewVersionsDefault, requirement.LifecycleLegacyScopeDefault, requirement.LifecycleLegacyOptionalSchema,
			requirement.LifecycleLegacyVersionMutable, requirement.LifecycleLegacyWebhookRequired, requirement.LifecycleLegacySchemaOnce,
			requirement.LifecycleLegacyPruned, requirement.LifecycleLegacyWarned,
		}, serverEdited(func(r suitetest.Request) bool { return r.URL.Path == "/version" },
			func(body map[string]any) { body["major"], body["minor"] = "1", "21" })},
		{"finds no object", []requirement.ID{
			requirement.VersionsServingNamespacedEndpoint, requirement.LifecycleFinalizersFirstDeleteMarks, requirement.LifecycleFinalizersNoForce,
		}, serverAnswered(reads, 200, 299, 404, status(404, "NotFound"))},
		{"fails to read objects", []requirement.ID{
			requirement.ConversionClientURLCalled, requirement.ConversionClientURLIP, requirement.ConversionClientServicePortDefault,
			requirement.ConversionClientServicePortUsed, requirement.ConversionClientServicePathDefault, requirement.ConversionClientServicePathUsed,
			requirement.ConversionClientCABundleWrongSparesStorageVersion, requirement.ConversionResponseContentTypeLenient,
			requirement.ConversionResponseExtraFieldsAccepted, requirement.ConversionResponseNotValidated,
			requirement.ConversionFailureRetryAfter, requirement.LifecycleUpgradeWebhookNotNeeded,
		}, serverAnswered(reads, 200, 599, 500, status(500, "InternalError"))},
		{"goes on failing after a failure", []requirement.ID{requirement.ConversionFailureRecovers}, failsForEver()},
		{"hides names and verbs", []requirement.ID{
			requirement.VersionsServingDiscovery, requirement.VersionsNamesPublished, requirement.VersionsNamesSingularDefault, requirement.VersionsNamesListKindDefault,
		}, serverEdited(anything, hideNames)},
		{"forgets stored versions", []requirement.ID{
			requirement.StorageStoredVersionsRecorded, requirement.StorageStoredVersionsUserValueIgnored, requirement.StorageStoredVersionsCurrentDropped,
			requirement.LifecycleUpgradeStoredVersions, requirement.LifecycleUpgradeTrimStatus, requirement.LifecycleRemovalStatusSubresource,
			requirement.LifecycleRemovalMainResourceIgnored,
		}, serverEdited(aDefinition, func(body map[string]any) {
			if status, ok := body["status"].(map[string]any); ok {
				status["storedVersions"] = []any{}
			}
		})},
		{"begins lists again", []requirement.ID{requirement.StorageReadContinued}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			query := r.URL.Query()
			if r.Objects && query.Has("continue") {
				query.Del("continue")
				r.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(r.Request)
		})},
		{"begins watches again", []requirement.ID{requirement.StorageReadFollowed}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			query := r.URL.Query()
			if r.Objects && r.Watch() {
				query.Del("resourceVersion")
				r.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(r.Request)
		})},
		{"watches at one version only", []requirement.ID{requirement.StorageReadFollowed}, serverWatches(func(body io.ReadCloser) io.ReadCloser {
			return replacing(body, `.example.com/v1beta1","host`, `.example.com/v1","host`)
		})},
		{"shows old definitions as new ones", []requirement.ID{requirement.LifecycleLegacyStoredDefinition}, serverEdited(aDefinition, func(body map[string]any) {
			if spec, ok := body["spec"].(map[string]any); ok {
				delete(spec, "preserveUnknownFields")
			}
		})},
		{"shows no conditions", []requirement.ID{requirement.VersionsServingEstablished, requirement.LifecycleDeletionBlockedByWebhook, requirement.LifecycleDeletionBlockedByUndecodable, requirement.LifecycleLegacyNotStructural}, withoutConditions()},
		{"establishes everything", []requirement.ID{requirement.ConversionClientCABundleInvalidCreate}, serverEdited(aDefinition, func(body map[string]any) {
			if status, ok := body["status"].(map[string]any); ok {
				status["conditions"] = []any{map[string]any{"type": "Established", "status": "True", "lastTransitionTime": "2019-09-04T14:03:02Z", "reason": "InitialNamesAccepted"}}
			}
		})},
		{"watches versions that are not served", []requirement.ID{requirement.VersionsServingUnservedNotFound}, serverAnswered(
			suitetest.Request.Watch, 404, 404, 200, func(suitetest.Request) any { return map[string]any{} })},
		{"warns of watches", []requirement.ID{requirement.VersionsDeprecationSilentOtherwise}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r.Request)
			if err == nil && r.Watch() {
				response.Header.Add("Warning", `299 - "made up"`)
			}
			return response, err
		})},
		{"gives no warnings for writes that fail", []requirement.ID{requirement.VersionsDeprecationErrorsWarned}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r.Request)
			if err == nil && r.Method != http.MethodGet && response.StatusCode >= 400 {
				response.Header.Del("Warning")
			}
			return response, err
		})},
		{"resets managed fields with every update", []requirement.ID{requirement.LifecycleRemovalAppliedRenamed}, sent(
			func(r suitetest.Request) bool { return r.Objects && r.Method == http.MethodPut },
			func(body map[string]any) { body["metadata"].(map[string]any)["managedFields"] = []any{} })},
		{"drops managed fields", []requirement.ID{requirement.LifecycleRemovalManagersKept}, serverEdited(
			func(r suitetest.Request) bool { return r.Objects && r.Name != "" && r.Method == http.MethodPatch },
			func(body map[string]any) { delete(body["metadata"].(map[string]any), "managedFields") })},
		{"owns nothing of what was applied before", []requirement.ID{requirement.LifecycleRemovalAppliedUnserved}, serverExchange(
			func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
				if query := r.URL.Query(); query.Has("fieldManager") {
					query.Set("force", "true")
					r.URL.RawQuery = query.Encode()
				}
				return next.RoundTrip(r.Request)
			})},
		{"does not know the option to ignore errors of storage", matching("lifecycle.deletion.unsafe"), sent(
			func(r suitetest.Request) bool { return r.Objects && r.Method == http.MethodDelete },
			func(options map[string]any) { delete(options, "ignoreStoreReadErrorWithClusterBreakingPotential") })},
		{"refuses to apply", []requirement.ID{requirement.LifecycleUpgradeWebhookNotNeeded}, serverAnswered(func(r suitetest.Request) bool {
			return r.Header.Get("Content-Type") == "application/apply-patch+yaml"
		}, 200, 299, 500, status(500, "InternalError"))},
		{"holds writes at the old version during an upgrade", []requirement.ID{requirement.LifecycleUpgradeClientsUnaffected}, holdsWrites()},
		{"shows deleted definitions", []requirement.ID{requirement.LifecycleDeletionWithoutWebhook}, remembered(
			func(r suitetest.Request) bool { return r.Definition && r.Name != "" && r.Method == http.MethodGet })},
		{"is an old release", []requirement.ID{requirement.VersionsServingMinimumVersion}, serverEdited(
			func(r suitetest.Request) bool { return r.URL.Path == "/version" },
			func(body map[string]any) { body["major"], body["minor"] = "1", "15" })},
		{"swallows updates", []requirement.ID{
			requirement.VersionsClientsBothVersions, requirement.LifecycleUpgradeConcurrent, requirement.LifecycleUpgradeClientsUnaffected,
		}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Objects && r.Method == http.MethodPut {
				return suitetest.Answer(r.Request, 200, suitetest.Body(r.Request)), nil
			}
			return next.RoundTrip(r.Request)
		})},
	}
}

func aDefinition(r suitetest.Request) bool {
	return r.Definition && r.Name != "" && r.Method == http.MethodGet
}

// holdsWrites lets clients wait that put objects at v1beta1 while v1 is the storage version, until v1 is the only stored version.
func holdsWrites() tampering {
	var upgrading atomic.Bool
	trimmed := make(chan struct{})
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		switch {
		case r.Definition && r.Method == http.MethodPut && r.Sub == "":
			upgrading.Store(true)
		case r.Definition && r.Sub == "status":
			close(trimmed)
		case r.Objects && r.Method == http.MethodPut && upgrading.Load() && strings.Contains(r.URL.Path, "/v1beta1/"):
			select {
			case <-trimmed:
			case <-r.Context().Done():
				return nil, context.Cause(r.Context())
			}
		}
		return next.RoundTrip(r.Request)
	})
}

// failsForEver fails all reads once one has failed.
func failsForEver() tampering {
	var failed atomic.Bool
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Objects && r.Method == http.MethodGet && failed.Load() {
			return suitetest.Answer(r.Request, 500, status(500, "InternalError")(r)), nil
		}
		response, err := next.RoundTrip(r.Request)
		if err == nil && response.StatusCode == 500 {
			failed.Store(true)
		}
		return response, err
	})
}

func hideNames(body map[string]any) {
	if list, ok := body["resources"].([]any); ok {
		for _, item := range list {
			if resource, ok := item.(map[string]any); ok {
				delete(resource, "singularName")
				delete(resource, "shortNames")
				resource["verbs"] = []any{"get"}
			}
		}
	}
	if spec, ok := body["spec"].(map[string]any); ok {
		if names, ok := spec["names"].(map[string]any); ok {
			delete(names, "singular")
			delete(names, "listKind")
		}
	}
}

// withoutConditions hides the conditions of definitions once each has been seen established, so that it can be installed.
func withoutConditions() tampering {
	var mu sync.Mutex
	seen := map[string]bool{}
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !aDefinition(r) || response.StatusCode >= 300 {
			return response, err
		}
		return suitetest.Edit(response, func(body map[string]any) {
			status, ok := body["status"].(map[string]any)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			// The definition of the spec on the condition is not installed ahead.
			if !seen[r.Name] && !strings.Contains(r.Name, "serving-established") {
				conditions, err := json.Marshal(status["conditions"])
				seen[r.Name] = err == nil && strings.Contains(string(conditions), `"status":"True","type":"Established"`)
				return
			}
			status["conditions"] = []any{}
		})
	})
}

// remembered answers requests with the last good answer when the thing is gone.
func remembered(which func(suitetest.Request) bool) tampering {
	var mu sync.Mutex
	last := map[string][]byte{}
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !which(r) {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		response.Body.Close()
		mu.Lock()
		defer mu.Unlock()
		if response.StatusCode == http.StatusNotFound && last[r.URL.Path] != nil {
			return suitetest.Answer(r.Request, 200, last[r.URL.Path]), nil
		}
		if response.StatusCode == http.StatusOK {
			last[r.URL.Path] = body
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response, nil
	})
}

func garblingFaults() []serverFault {
	reads := func(r suitetest.Request) bool {
		return r.Objects && r.Sub == "" && r.Name != "" && (r.Method == http.MethodGet || r.Method == http.MethodPut) && !r.Watch()
	}
	lists := func(r suitetest.Request) bool {
		return r.Objects && r.Name == "" && r.Method == http.MethodGet && !r.Watch() && !r.Table()
	}
	return []serverFault{
		{"garbles objects", []requirement.ID{
			requirement.ConversionNoneOnlyAPIVersion, requirement.ConversionNonePrunesToSchema, requirement.ConversionResponseControlsRead,
			requirement.ConversionMetadataOtherChangesIgnored, requirement.ConversionMetadataLabelsMayChange, requirement.ConversionMetadataAnnotationsMayChange,
			requirement.ConversionMetadataRemovalHonoured, requirement.StorageSequenceIdenticalReads, requirement.StorageUpdateGenerationKept,
			requirement.LifecycleFinalizersSupported,
		}, serverEdited(reads, garble())},
		{"shows objects at another version", []requirement.ID{
			requirement.VersionsServingPathPerVersion, requirement.StorageReadRequestedVersion, requirement.StorageReadAnyServed, requirement.StorageSequenceFiveSteps,
		}, serverEdited(reads, func(body map[string]any) { body["apiVersion"] = "example.com/v0" })},
		{"lists an object too many", []requirement.ID{requirement.LifecycleDeletionRecreatedEmpty, requirement.ConversionFailureSparesStorageVersion}, serverEdited(lists,
			func(body map[string]any) {
				body["items"] = []any{map[string]any{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "made-up"}}}
			})},
		{"orders versions the wrong way round", matching("versions.priority."), serverEdited(
			func(r suitetest.Request) bool { return strings.Count(strings.Trim(r.URL.Path, "/"), "/") == 1 },
			func(body map[string]any) {
				if list, ok := body["versions"].([]any); ok && len(list) > 0 {
					slices.Reverse(list)
					body["preferredVersion"] = list[0]
				}
			})},
		{"garbles objects at v1beta1", []requirement.ID{
			requirement.ConversionNoneOnlyAPIVersion, requirement.ConversionMetadataOtherChangesIgnored, requirement.ConversionMetadataLabelsMayChange,
			requirement.ConversionMetadataAnnotationsMayChange, requirement.ConversionMetadataRemovalHonoured,
		}, serverEdited(func(r suitetest.Request) bool { return reads(r) && strings.Contains(r.URL.Path, "/v1beta1/") }, garble())},
		{"garbles lists", []requirement.ID{
			requirement.ConversionNoneOnlyAPIVersion, requirement.ConversionMetadataOtherChangesIgnored, requirement.ConversionMetadataLabelsMayChange,
			requirement.ConversionMetadataAnnotationsMayChange, requirement.ConversionMetadataRemovalHonoured,
		}, serverEdited(lists, func(body map[string]any) {
			for _, item := range body["items"].([]any) {
				garble()(item.(map[string]any))
			}
		})},
		{"garbles what is watched", []requirement.ID{
			requirement.ConversionNoneOnlyAPIVersion, requirement.StorageReadUnchangedOnDisk, requirement.StorageUpdateOnlyWay, requirement.LifecycleUpgradeWebhookNotNeeded,
		}, serverWatches(func(body io.ReadCloser) io.ReadCloser {
			return replacing(replacing(body, `"host":"`, `"host":"garbled-`), `"port":"`, `"port":"garbled-`)
		})},
		{"makes up a conversion strategy", []requirement.ID{requirement.ConversionNoneDefault}, serverEdited(aDefinition, func(body map[string]any) {
			if spec, ok := body["spec"].(map[string]any); ok {
				spec["conversion"] = map[string]any{"strategy": "Magic"}
			}
		})},
		{"watches without deletionTimestamps", []requirement.ID{requirement.LifecycleFinalizersWatched}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r.Request)
			if err == nil && r.Objects && r.Watch() {
				response.Body = replacing(response.Body, `"deletionTimestamp"`, `"otherTimestamp"`)
			}
			return response, err
		})},
		{"publishes every schema", []requirement.ID{requirement.LifecycleLegacyNotPublished}, serverEdited(func(r suitetest.Request) bool { return r.URL.Path == "/openapi/v2" },
			func(document map[string]any) {
				published, _ := document["definitions"].(map[string]any)
				for _, schema := range published {
					if schema, ok := schema.(map[string]any); ok {
						schema["properties"] = map[string]any{"spec": map[string]any{}, "untyped": map[string]any{}}
					}
				}
			})},
		{"counts no deprecated requests", []requirement.ID{requirement.VersionsDeprecationMetric}, serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.URL.Path == "/metrics" {
				return suitetest.Answer(r.Request, http.StatusOK, map[string]any{}), nil
			}
			return next.RoundTrip(r.Request)
		})},
		{"watches without errors", []requirement.ID{requirement.ConversionFailureEndsWatch, requirement.StorageReadUndecodableWatch}, serverWatches(func(body io.ReadCloser) io.ReadCloser {
			return replacing(body, `"type":"ERROR"`, `"type":"ADDED"`)
		})},
		{"hides why watches end", []requirement.ID{requirement.ConversionFailureEndsWatch}, serverWatches(func(body io.ReadCloser) io.ReadCloser {
			return replacing(body, "conversion webhook for ", "made up for ")
		})},
		{"goes on watching after an error", []requirement.ID{requirement.ConversionFailureEndsWatch}, serverWatches(func(body io.ReadCloser) io.ReadCloser {
			reader, writer := io.Pipe()
			go func() { _, _ = io.Copy(writer, body) }() // and the writer stays open
			return struct {
				io.Reader
				io.Closer
			}{reader, reader}
		})},
	}
}

// garble changes everything that it can of an object, and differently each time.
func garble() func(body map[string]any) {
	var n atomic.Int64
	return func(body map[string]any) {
		mark := fmt.Sprint("garbled-", n.Add(1))
		body["host"], body["port"], body["hostPort"] = mark, mark, mark
		if meta, ok := body["metadata"].(map[string]any); ok {
			meta["labels"], meta["annotations"] = map[string]any{"garbled": mark}, map[string]any{"garbled": mark}
			meta["generation"] = 1000 + n.Load()
			delete(meta, "finalizers")
		}
	}
}

// serverWatches makes a fault that changes the events of watches of objects.
func serverWatches(change func(body io.ReadCloser) io.ReadCloser) tampering {
	return serverExchange(func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err == nil && r.Objects && r.Watch() {
			response.Body = change(response.Body)
		}
		return response, err
	})
}

// replacing replaces text in the lines of a stream.
func replacing(stream io.ReadCloser, old, replacement string) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		lines := bufio.NewReader(stream)
		for {
			line, err := lines.ReadString('\n')
			if _, failed := io.WriteString(writer, strings.ReplaceAll(line, old, replacement)); failed != nil || err != nil {
				writer.CloseWithError(err)
				return
			}
		}
	}()
	return struct {
		io.Reader
		io.Closer
	}{reader, stream}
}

func storageFaults() []serverFault {
	var revision atomic.Int64
	return []serverFault{
		{"stores at another version", []requirement.ID{
			requirement.StorageWriteInitialVersion, requirement.StorageWriteStorageVersion, requirement.StorageChangeKeepsExisting,
			requirement.StorageChangeNewObjects, requirement.StorageChangeUpdatedObjects, requirement.StorageReadUnserved, requirement.StorageUpdateRewrites,
			requirement.StorageUpdateEmptyPatch, requirement.StorageStoredVersionsNoOtherInStorage, requirement.LifecycleUpgradeRewrite, requirement.LifecycleUpgradeNone,
		}, look(func(object map[string]any) {
			group, version, _ := strings.Cut(fmt.Sprint(object["apiVersion"]), "/")
			object["apiVersion"] = group + "/" + map[string]string{"v1": "v1beta1", "v1beta1": "v1", "v1alpha1": "v1"}[version]
		})},
		{"rewrites what is in storage all the time", []requirement.ID{
			requirement.StorageReadUnchangedOnDisk, requirement.StorageUpdateIdempotent, requirement.StorageUpdateOnlyWay, requirement.LifecycleUpgradeIdempotent,
		}, func(_ *testing.T, t *suitetest.Tampered) {
			t.Look = func(s cluster.Stored) cluster.Stored {
				s.Revision += revision.Add(1)
				return s
			}
		}},
		{"stores fields that nobody wrote", []requirement.ID{requirement.ConversionNoneMovesNothing}, look(func(object map[string]any) { object["hostPort"] = "made-up:1" })},
		{"keeps deleted objects", []requirement.ID{requirement.LifecycleDeletionObjects}, func(_ *testing.T, t *suitetest.Tampered) {
			var last []cluster.Stored
			t.LookAll = func(all []cluster.Stored) []cluster.Stored {
				if len(all) > 0 {
					last = all
				}
				return last
			}
		}},
		// That the definition goes at all, which it is given 45 seconds for, is asked in the same way as for "shows deleted definitions".
		{"shows objects of deleted definitions", []requirement.ID{requirement.LifecycleDeletionRecovers}, func(_ *testing.T, t *suitetest.Tampered) {
			t.LookAll = func(all []cluster.Stored) []cluster.Stored {
				return append(all, cluster.Stored{Data: []byte(`{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": {"name": "made-up"}}`)})
			}
		}},
	}
}

// look makes a fault that changes objects in storage.
func look(change func(object map[string]any)) tampering {
	return func(_ *testing.T, t *suitetest.Tampered) {
		t.Look = func(s cluster.Stored) cluster.Stored {
			var object map[string]any
			if err := json.Unmarshal(s.Data, &object); err != nil {
				panic(err)
			}
			change(object)
			data, err := json.Marshal(object)
			if err != nil {
				panic(err)
			}
			s.Data = data
			return s
		}
	}
}

// callFaults are about what the API server sends to webhooks, on which a man in the middle has his hands.
func callFaults() []serverFault {
	body := func(change func(review, request map[string]any)) func(*http.Request) {
		return func(r *http.Request) {
			var review map[string]any
			if json.Unmarshal(suitetest.Body(r), &review) != nil {
				return
			}
			request, _ := review["request"].(map[string]any)
			change(review, request)
			changed, err := json.Marshal(review)
			if err != nil {
				panic(err)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
		}
	}
	objects := func(change func(object map[string]any)) func(*http.Request) {
		return body(func(_, request map[string]any) {
			for _, item := range request["objects"].([]any) {
				change(item.(map[string]any))
			}
		})
	}
	return []serverFault{
		{"calls in another form", []requirement.ID{
			requirement.ConversionRequestPost, requirement.ConversionRequestContentType, requirement.ConversionRequestTimeout,
			requirement.ConversionRequestUIDUnique, requirement.ConversionRequestDesiredAPIVersion, requirement.ConversionRequestNoResourceVersion,
			requirement.ConversionRequestManagedFields, requirement.ConversionRequestPartialObjects, requirement.ConversionRequestNamespace,
		}, seen(func(r *http.Request) {
			r.Method = http.MethodPut
			r.Header.Set("Content-Type", "text/plain")
			r.URL.RawQuery = ""
			body(func(_, request map[string]any) { request["uid"], request["desiredAPIVersion"] = "same", "v1" })(r)
			objects(func(object map[string]any) {
				object["host"] = "whole"
				meta := object["metadata"].(map[string]any)
				meta["resourceVersion"] = "1"
				delete(meta, "managedFields")
				delete(meta, "namespace")
			})(r)
		})},
		{"calls with another kind", []requirement.ID{requirement.ConversionRequestReview}, seen(body(func(review, _ map[string]any) { review["kind"] = "AdmissionReview" }))},
		{"calls in another review version", []requirement.ID{requirement.ConversionRequestFirstSupportedVersion}, seen(body(func(review, _ map[string]any) {
			review["apiVersion"] = "apiextensions.k8s.io/v1"
		}))},
		{"calls without objects", []requirement.ID{requirement.ConversionRequestObjectsPresent}, seen(body(func(_, request map[string]any) { request["objects"] = []any{} }))},
		{"calls with empty objects", []requirement.ID{requirement.ConversionRequestNoEmptyObjects}, seen(objects(func(object map[string]any) {
			maps.DeleteFunc(object, func(key string, _ any) bool { return key != "apiVersion" && key != "kind" })
		}))},
		{"calls with objects of the desired version too", []requirement.ID{requirement.ConversionRequestOnlyOtherVersions}, seen(body(func(_, request map[string]any) {
			request["objects"] = append(request["objects"].([]any), map[string]any{"metadata": map[string]any{"name": "made-up"}})
		}))},
		{"calls twice", []requirement.ID{requirement.ConversionRequestOnRead, requirement.ConversionFailureNoOtherRetry}, calls(2)},
		{"retries at once", []requirement.ID{requirement.ConversionFailureRetryAfter}, answering(func(m *middleman, r *http.Request) *http.Response {
			response := m.forward(r)
			if response.StatusCode != http.StatusServiceUnavailable {
				return response
			}
			response.Body.Close()
			return m.forward(r)
		})},
		{"takes no status but 200, and follows no redirect", []requirement.ID{requirement.ConversionResponseHTTPStatus}, answering(func(m *middleman, r *http.Request) *http.Response {
			response := m.forward(r)
			if response.StatusCode != http.StatusOK {
				response.StatusCode = http.StatusInternalServerError
			}
			return response
		})},
		{"takes every status", []requirement.ID{requirement.ConversionResponseHTTPStatus}, answering(func(m *middleman, r *http.Request) *http.Response {
			response := m.forward(r)
			if response.StatusCode > http.StatusPartialContent && response.StatusCode < http.StatusBadRequest {
				response.StatusCode = http.StatusOK
			}
			return response
		})},
		{"does not call", []requirement.ID{requirement.ConversionRequestOnWatch, requirement.ConversionRequestOnUpdate}, calls(0)},
		{"calls without need", []requirement.ID{requirement.ConversionRequestNoUnusedVersions}, callsNeedlessly()},
	}
}
