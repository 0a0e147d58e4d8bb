package suites_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/defaulting"
)

// defaultingIgnorance proves that nothing here passes because an API server does not know defaults, nor what is about conversion
// because it does not convert.
func defaultingIgnorance(t *testing.T, genuine *embedded.Cluster) {
	t.Helper()
	var aboutDefaults, aboutWebhooks []requirement.ID
	for _, spec := range suites.Preview([]suites.Area{defaulting.Area}) {
		// This one is about nulls where there is no default.
		if spec.Requirement != requirement.DefaultingNullableRemoved {
			aboutDefaults = append(aboutDefaults, spec.Requirement)
		}
		if strings.HasPrefix(string(spec.Requirement), "defaulting.webhook.") {
			aboutWebhooks = append(aboutWebhooks, spec.Requirement)
		}
	}
	t.Run("of defaults", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, defaulting.Area, suitetest.Ignoring("default"), aboutDefaults...)
	})
	t.Run("of conversion", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, defaulting.Area, suitetest.Ignoring("conversion"), aboutWebhooks...)
	})
}

// defaultingShowing sets a field of the object of a name, in YAML.
func defaultingShowing(name, field, value string) suitetest.Fault {
	return suitetest.Showing(name, func(object map[string]any) { object[field] = fixtures.Value(value) })
}

// listing sets a field of the object of a name, in YAML, in lists alone.
func listing(name, field, value string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Objects || r.Name != "" || r.Watch() || r.Method != http.MethodGet {
			return response, err
		}
		return suitetest.Edit(response, func(body map[string]any) {
			items, _ := body["items"].([]any)
			for _, item := range items {
				object, _ := item.(map[string]any)
				if meta, ok := object["metadata"].(map[string]any); ok && meta["name"] == name {
					object[field] = fixtures.Value(value)
				}
			}
		})
	}
}

// defaultingHiding hides a field of the object of a name.
func defaultingHiding(name, field string) suitetest.Fault {
	return suitetest.Showing(name, func(object map[string]any) { delete(object, field) })
}

// defaultingOf is a fault that objects of the requirement's own definition have alone.
func defaultingOf(id requirement.ID, fault suitetest.Fault) suitetest.Fault {
	group := "/" + strings.ReplaceAll(string(id), ".", "-") + "."
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, group) {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// under is a fault that objects of definitions with some strategy have alone.
func under(strategy string, fault suitetest.Fault) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, "/defaulting-"+strategy+"-") {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// defaultingPatched is a fault that JSON patches meet alone.
func defaultingPatched(fault suitetest.Fault) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Header.Get("Content-Type") != "application/json-patch+json" {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// unlisted lists objects without a field.
func unlisted(field string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Objects || r.Name != "" || r.Watch() {
			return response, err
		}
		return suitetest.Edit(response, func(body map[string]any) {
			items, _ := body["items"].([]any)
			for _, item := range items {
				delete(item.(map[string]any), field)
			}
		})
	}
}

// defaultingFaults returns for each requirement what an API server does that violates it.
func defaultingFaults() map[requirement.ID]suitetest.Fault {
	const foo = `properties\[foo\]\.default`
	all := map[requirement.ID]suitetest.Fault{
		requirement.DefaultingRequestDocumented:       defaultingShowing("my-new-cron-object", "spec", `{image: my-awesome-cron-image, replicas: 1}`),
		requirement.DefaultingRequestWrites:           defaultingPatched(defaultingShowing("written", "spec", `{image: my-awesome-cron-image}`)),
		requirement.DefaultingRequestNotChanged:       defaultingShowing("before", "spec", `{cronSpec: "5 0 * * *", replicas: 7}`),
		requirement.DefaultingRequestKept:             defaultingShowing("kept", "boolean", `true`),
		requirement.DefaultingRequestParents:          defaultingShowing("without", "parent", `{name: inner}`),
		requirement.DefaultingRequestItems:            defaultingShowing("items", "values", `{a: {}, b: {name: given}}`),
		requirement.DefaultingRequestBeforeValidation: suitetest.Refusing(`"required":{}`),

		requirement.DefaultingReadFilledIn:   unlisted("late"),
		requirement.DefaultingReadNotWritten: defaultingShowing("before", "late", `default`),
		requirement.DefaultingReadPersisted:  defaultingHiding("before", "late"),

		requirement.DefaultingValuesPruned:   suitetest.Accepting(foo + `: Invalid value: .*must not have unknown fields`),
		requirement.DefaultingValuesValid:    suitetest.Accepting(`defaulting-values-valid.*` + foo),
		requirement.DefaultingValuesRules:    suitetest.Accepting(foo + `.*self > 0`),
		requirement.DefaultingValuesMetadata: defaultingShowing("embedded", "foo", `{apiVersion: v1, kind: Pod, metadata: {name: my-pod, unknown: x}}`),

		requirement.DefaultingNullableDocumented: defaultingShowing("documented", "spec", `{foo: default, bar: null, baz: null}`),
		requirement.DefaultingNullableDefaulted:  defaultingPatched(defaultingShowing("defaulted", "spec", `{}`)),
		requirement.DefaultingNullableRemoved:    defaultingShowing("removed", "spec", `{foo: given, baz: null}`),
		requirement.DefaultingNullableKept:       defaultingShowing("null", "foo", `default`),

		requirement.DefaultingNoneRequestVersion:       under("none", defaultingShowing("written-v1", "by", `by-v1beta1`)),
		requirement.DefaultingNoneUnknownToStorage:     defaultingShowing("unknown", "onlyV1", `by-v1`),
		requirement.DefaultingNoneStorageVersionOnRead: listing("before", "late", `by-v1`),
		requirement.DefaultingNoneOtherVersionsOnRead:  defaultingShowing("before", "late", `by-v1`),
		requirement.DefaultingNoneStoredBefore:         defaultingShowing("before", "late", `by-v1`),
		requirement.DefaultingNoneUpdateOtherVersion:   defaultingHiding("before", "other"),

		requirement.DefaultingWebhookBeforeConversion:     defaultingShowing("before-conversion", "hostPort", `"localhost:"`),
		requirement.DefaultingWebhookRequestVersion:       under("webhook", defaultingShowing("written-v1", "by", `by-v1beta1`)),
		requirement.DefaultingWebhookStorageVersionOnRead: defaultingShowing("before", "late", `by-v1`),
		requirement.DefaultingWebhookResult:               defaultingShowing("before", "late", `by-v1`),
		requirement.DefaultingWebhookNull:                 defaultingShowing("null", "nullable", `default`),
	}
	// These have definitions of their own, and an object of the same name.
	for _, id := range []requirement.ID{
		requirement.DefaultingRequestNotChanged, requirement.DefaultingReadFilledIn, requirement.DefaultingReadNotWritten, requirement.DefaultingReadPersisted,
		requirement.DefaultingNoneStorageVersionOnRead, requirement.DefaultingNoneOtherVersionsOnRead, requirement.DefaultingNoneStoredBefore,
		requirement.DefaultingNoneUpdateOtherVersion, requirement.DefaultingWebhookStorageVersionOnRead, requirement.DefaultingWebhookResult,
		requirement.DefaultingNullableKept,
	} {
		all[id] = defaultingOf(id, all[id])
	}
	return all
}
