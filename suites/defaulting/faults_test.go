package defaulting

import (
	"net/http"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

func TestFaultsAreCaught(t *testing.T) { suitetest.CatchFaults(t, Area, faults()) }

// TestIgnoranceIsCaught proves that nothing here passes because an API server does not know defaults, nor what is about conversion
// because it does not convert.
func TestIgnoranceIsCaught(t *testing.T) {
	genuine := suitetest.Genuine(t)
	var aboutDefaults, aboutWebhooks []requirement.ID
	for _, spec := range suites.Preview([]suites.Area{Area}) {
		// This one is about nulls where there is no default.
		if spec.Requirement != requirement.DefaultingNullableRemoved {
			aboutDefaults = append(aboutDefaults, spec.Requirement)
		}
		if strings.HasPrefix(string(spec.Requirement), "defaulting.webhook.") {
			aboutWebhooks = append(aboutWebhooks, spec.Requirement)
		}
	}
	t.Run("of defaults", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, Area, suitetest.Ignoring("default"), aboutDefaults...)
	})
	t.Run("of conversion", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, Area, suitetest.Ignoring("conversion"), aboutWebhooks...)
	})
}

// showing sets a field of the object of a name, in YAML.
func showing(name, field, value string) suitetest.Fault {
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

// hiding hides a field of the object of a name.
func hiding(name, field string) suitetest.Fault {
	return suitetest.Showing(name, func(object map[string]any) { delete(object, field) })
}

// of is a fault that objects of the requirement's own definition have alone.
func of(id requirement.ID, fault suitetest.Fault) suitetest.Fault {
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

// patched is a fault that JSON patches meet alone.
func patched(fault suitetest.Fault) suitetest.Fault {
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

// faults returns for each requirement what an API server does that violates it.
func faults() map[requirement.ID]suitetest.Fault {
	const foo = `properties\[foo\]\.default`
	all := map[requirement.ID]suitetest.Fault{
		requirement.DefaultingRequestDocumented:       showing("my-new-cron-object", "spec", `{image: my-awesome-cron-image, replicas: 1}`),
		requirement.DefaultingRequestWrites:           patched(showing("written", "spec", `{image: my-awesome-cron-image}`)),
		requirement.DefaultingRequestNotChanged:       showing("before", "spec", `{cronSpec: "5 0 * * *", replicas: 7}`),
		requirement.DefaultingRequestKept:             showing("kept", "boolean", `true`),
		requirement.DefaultingRequestParents:          showing("without", "parent", `{name: inner}`),
		requirement.DefaultingRequestItems:            showing("items", "values", `{a: {}, b: {name: given}}`),
		requirement.DefaultingRequestBeforeValidation: suitetest.Refusing(`"required":{}`),

		requirement.DefaultingReadFilledIn:   unlisted("late"),
		requirement.DefaultingReadNotWritten: showing("before", "late", `default`),
		requirement.DefaultingReadPersisted:  hiding("before", "late"),

		requirement.DefaultingValuesPruned:   suitetest.Accepting(foo + `: Invalid value: .*must not have unknown fields`),
		requirement.DefaultingValuesValid:    suitetest.Accepting(`defaulting-values-valid.*` + foo),
		requirement.DefaultingValuesRules:    suitetest.Accepting(foo + `.*self > 0`),
		requirement.DefaultingValuesMetadata: showing("embedded", "foo", `{apiVersion: v1, kind: Pod, metadata: {name: my-pod, unknown: x}}`),

		requirement.DefaultingNullableDocumented: showing("documented", "spec", `{foo: default, bar: null, baz: null}`),
		requirement.DefaultingNullableDefaulted:  patched(showing("defaulted", "spec", `{}`)),
		requirement.DefaultingNullableRemoved:    showing("removed", "spec", `{foo: given, baz: null}`),
		requirement.DefaultingNullableKept:       showing("null", "foo", `default`),

		requirement.DefaultingNoneRequestVersion:       under("none", showing("written-v1", "by", `by-v1beta1`)),
		requirement.DefaultingNoneUnknownToStorage:     showing("unknown", "onlyV1", `by-v1`),
		requirement.DefaultingNoneStorageVersionOnRead: listing("before", "late", `by-v1`),
		requirement.DefaultingNoneOtherVersionsOnRead:  showing("before", "late", `by-v1`),
		requirement.DefaultingNoneStoredBefore:         showing("before", "late", `by-v1`),
		requirement.DefaultingNoneUpdateOtherVersion:   hiding("before", "other"),

		requirement.DefaultingWebhookBeforeConversion:     showing("before-conversion", "hostPort", `"localhost:"`),
		requirement.DefaultingWebhookRequestVersion:       under("webhook", showing("written-v1", "by", `by-v1beta1`)),
		requirement.DefaultingWebhookStorageVersionOnRead: showing("before", "late", `by-v1`),
		requirement.DefaultingWebhookResult:               showing("before", "late", `by-v1`),
		requirement.DefaultingWebhookNull:                 showing("null", "nullable", `default`),
	}
	// These have definitions of their own, and an object of the same name.
	for _, id := range []requirement.ID{
		requirement.DefaultingRequestNotChanged, requirement.DefaultingReadFilledIn, requirement.DefaultingReadNotWritten, requirement.DefaultingReadPersisted,
		requirement.DefaultingNoneStorageVersionOnRead, requirement.DefaultingNoneOtherVersionsOnRead, requirement.DefaultingNoneStoredBefore,
		requirement.DefaultingNoneUpdateOtherVersion, requirement.DefaultingWebhookStorageVersionOnRead, requirement.DefaultingWebhookResult,
		requirement.DefaultingNullableKept,
	} {
		all[id] = of(id, all[id])
	}
	return all
}
