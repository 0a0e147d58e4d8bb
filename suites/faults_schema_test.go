package suites_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/schema"
)

// sending is a fault that requests with a text meet alone.
func sending(text string, fault suitetest.Fault) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(string(suitetest.Body(r.Request)), text) {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// schemaIgnorance proves that what is about something accepted does not pass because an API server knows nothing to refuse,
// and what is about conversion not because it does not convert.
func schemaIgnorance(t *testing.T, genuine *embedded.Cluster) {
	t.Helper()
	t.Run("of what to refuse", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, schema.Area, suitetest.Accepting(``),
			requirement.SchemaStructuralExampleCounterpart, requirement.SchemaStructuralTypeExceptions, requirement.SchemaIntOrStringPatterns, requirement.SchemaRootUnknownFormat,
			requirement.SchemaPruningIgnore)
	})
	t.Run("of formats", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, schema.Area, suitetest.Ignoring("format"), requirement.SchemaRootUnknownFormat)
	})
	t.Run("of fieldValidation", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, schema.Area, func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Objects {
				query := r.URL.Query()
				query.Set("fieldValidation", "Ignore")
				r.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(r.Request)
		}, requirement.SchemaPruningStrict, requirement.SchemaPruningStrictMetadata, requirement.SchemaPruningStrictDuplicates, requirement.SchemaPruningWarn,
			requirement.SchemaPruningIgnore, requirement.SchemaWebhookStrict)
	})
	t.Run("of x-kubernetes-preserve-unknown-fields", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, schema.Area, suitetest.Ignoring("x-kubernetes-preserve-unknown-fields"),
			requirement.SchemaPruningOptedOutObjects, requirement.SchemaPruningSpecifiedProperties, requirement.SchemaPruningSpecifiedAdditionalProperties)
	})
	t.Run("of conversion", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, schema.Area, suitetest.Ignoring("conversion"),
			requirement.SchemaWebhookPrunedBeforeConversion, requirement.SchemaWebhookResultPruned, requirement.SchemaWebhookResultPrunedForStorage,
			requirement.SchemaWebhookPreserved, requirement.SchemaWebhookIntOrString, requirement.SchemaWebhookEmbedded, requirement.SchemaWebhookStrict)
	})
}

// schemaShowing sets a field of the object of a name, in YAML.
func schemaShowing(name, field, value string) suitetest.Fault {
	return suitetest.Showing(name, func(object map[string]any) { object[field] = fixtures.Value(value) })
}

// schemaHiding hides a field of the object of a name.
func schemaHiding(name, field string) suitetest.Fault {
	return suitetest.Showing(name, func(object map[string]any) { delete(object, field) })
}

// schemaFaults returns for each requirement what an API server does that violates it.
func schemaFaults() map[requirement.ID]suitetest.Fault {
	const root = `invalid: spec\.validation\.openAPIV3Schema`
	return map[requirement.ID]suitetest.Fault{
		requirement.SchemaStructuralMandatory:          suitetest.Accepting(`\[untyped\]\.type`),
		requirement.SchemaStructuralTypeOfRoot:         suitetest.Accepting(`type-of-root.*type: Required`),
		requirement.SchemaStructuralTypeOfFields:       suitetest.Accepting(root + `\.properties\[foo\]\.additionalProperties\.type`),
		requirement.SchemaStructuralTypeOfItems:        suitetest.Accepting(`type-of-items.*\.properties\[foo\]\.items\.type`),
		requirement.SchemaStructuralTypeExceptions:     suitetest.Refusing(`type-exceptions.*"type":"array","items":{"x-kubernetes`),
		requirement.SchemaStructuralJunctorFields:      suitetest.Accepting(root + `\.properties\[foo\]: Required value: because it is defined in spec\.validation\.openAPIV3Schema\.allOf`),
		requirement.SchemaStructuralJunctorItems:       suitetest.Accepting(root + `\.properties\[list\]\.items\.properties\[foo\]: Required`),
		requirement.SchemaStructuralJunctorKeywords:    suitetest.Accepting(root + `\.oneOf\[0\]\.properties\[foo\]\.nullable`),
		requirement.SchemaStructuralMetadata:           suitetest.Accepting(root + `\.properties\[metadata\]`),
		requirement.SchemaStructuralMetadataName:       suitetest.Accepting(`metadata\.name: Invalid value: "forbidden"`),
		requirement.SchemaStructuralExampleViolations:  suitetest.Accepting(`example-violations(.|\n)*anyOf`),
		requirement.SchemaStructuralExampleCounterpart: suitetest.Refusing(`example-counterpart`),
		requirement.SchemaStructuralSetOfObjects:       suitetest.Accepting(`x-kubernetes-map-type`),
		requirement.SchemaStructuralNoCondition:        conditioned,

		requirement.SchemaRootObject:               suitetest.Accepting(`must be object at the root`),
		requirement.SchemaRootNullable:             suitetest.Accepting(`openAPIV3Schema\.nullable`),
		requirement.SchemaRootAdditionalProperties: sending(`"additionalProperties":true`, suitetest.Accepting(`openAPIV3Schema\.additionalProperties`)),
		requirement.SchemaRootUnknownFormat:        suitetest.Refusing(`"name":"unknown-format"`),
		requirement.SchemaRootUnknownFormatWarned:  silent(func(r suitetest.Request) bool { return r.Definition && r.Method == http.MethodPut }),

		requirement.SchemaPruningDocumented:                    schemaShowing("my-new-cron-object", "spec", `{cronSpec: "* * * * */5", image: my-awesome-cron-image, someRandomField: 42}`),
		requirement.SchemaPruningPersisted:                     schemaShowing("before", "spec", `{cronSpec: "* * * * */5", someRandomField: random}`),
		requirement.SchemaPruningWrites:                        schemaPatched("written", "spec", `{cronSpec: "* * * * */5", someRandomField: random}`),
		requirement.SchemaPruningApplied:                       suitetest.Accepting(`\.metadata\.unknown: field not declared`),
		requirement.SchemaPruningStatus:                        schemaShowing("status", "status", `{replicas: 1, someRandomField: 42}`),
		requirement.SchemaPruningRead:                          listed("forgotten", "spec", `{cronSpec: "* * * * */5", someRandomField: random}`),
		requirement.SchemaPruningReadKeepsStorage:              forgetting(),
		requirement.SchemaPruningFlagRejected:                  suitetest.Accepting(`preserveUnknownFields`),
		requirement.SchemaPruningOptedOut:                      schemaShowing("any-null", "json", `{list: [null]}`),
		requirement.SchemaPruningOptedOutSiblings:              schemaShowing("sibling", "other", `{a: 1}`),
		requirement.SchemaPruningOptedOutObjects:               suitetest.Accepting(`"typed-other" is invalid`),
		requirement.SchemaPruningSpecifiedProperties:           schemaShowing("specified", "json", `{spec: {foo: abc, bar: def, something: x}, status: {something: x}}`),
		requirement.SchemaPruningSpecifiedAdditionalProperties: schemaShowing("additional", "additional", `{spec: {foo: abc, bar: def, something: x}, status: {}}`),
		requirement.SchemaPruningStrict:                        posted("refused", suitetest.Accepting(`unknown field "spec\.someRandomField"`)),
		requirement.SchemaPruningStrictMetadata:                posted("refused-metadata", suitetest.Accepting(`unknown field "metadata\.unknown"`)),
		requirement.SchemaPruningStrictDuplicates:              suitetest.Accepting(`duplicate field`),
		requirement.SchemaPruningWarn:                          silent(func(r suitetest.Request) bool { return r.Objects && r.URL.Query().Get("fieldValidation") == "" }),
		requirement.SchemaPruningIgnore:                        noisy,

		requirement.SchemaIntOrStringValues:       schemaShowing("value-digits", "foo", `42`),
		requirement.SchemaIntOrStringOtherValues:  suitetest.Accepting(`"other-value" is invalid`),
		requirement.SchemaIntOrStringPatterns:     suitetest.Refusing(`or-string-patterns.*"allOf"`),
		requirement.SchemaIntOrStringVariations:   suitetest.Accepting(`or-string-variations`),
		requirement.SchemaIntOrStringRestrictions: suitetest.Accepting(`"words" is invalid`),
		requirement.SchemaIntOrStringPublished:    unpublished,
		requirement.SchemaIntOrStringPublishedV2:  typedInV2,

		requirement.SchemaEmbeddedType:             suitetest.Accepting(`must be object if x-kubernetes-embedded-resource is true`),
		requirement.SchemaEmbeddedNothingSpecified: suitetest.Accepting(`\[foo\]\.properties: Required`),
		requirement.SchemaEmbeddedWhole:            schemaShowing("whole", "foo", `{apiVersion: v1, kind: Pod, metadata: {name: my-pod}}`),
		requirement.SchemaEmbeddedSpecified:        schemaShowing("specified", "specified", `{spec: {nodeName: node-1}}`),
		requirement.SchemaEmbeddedTypeMeta:         suitetest.Accepting(`foo\.kind: Invalid value: "not/a/kind"`),
		requirement.SchemaEmbeddedMetadata:         suitetest.Accepting(`"metadata-name" is invalid`),

		requirement.SchemaNoneEveryVersion:          suitetest.Accepting(`spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\[foo\]\.type`),
		requirement.SchemaNonePrunedAtRequest:       schemaShowing("at-request", "onlyV1beta1", `x`),
		requirement.SchemaNonePrunedForStorage:      schemaShowing("for-storage", "onlyV1", `x`),
		requirement.SchemaNonePreservedAtOne:        schemaShowing("read", "json", `{a: x, b: x}`),
		requirement.SchemaNonePreservedLostByUpdate: schemaShowing("updated", "json", `{a: z, b: x}`),
		requirement.SchemaNoneIntOrString:           schemaOfGroup("schema-none", schemaShowing("digits", "foo", `42`)),
		requirement.SchemaNoneEmbedded:              schemaOfGroup("schema-none", embeddedAt("v1beta1")),
		requirement.SchemaNoneStorageChanged:        schemaHiding("old", "onlyV1beta1"),

		requirement.SchemaWebhookPrunedBeforeConversion: unperformed("before-conversion"),
		requirement.SchemaWebhookResultPruned:           schemaOfGroup("result-pruned.", schemaShowing("local-crontab", "hostPort", `localhost:1234`)),
		requirement.SchemaWebhookResultPrunedForStorage: schemaOfGroup("result-pruned-for-storage", schemaShowing("local-crontab", "hostPort", `localhost:1234`)),
		requirement.SchemaWebhookPreserved:              schemaShowing("preserved", "json", `{a: {b: []}}`),
		requirement.SchemaWebhookIntOrString:            schemaOfGroup("schema-webhook", schemaShowing("digits", "foo", `42`)),
		requirement.SchemaWebhookEmbedded:               schemaOfGroup("schema-webhook", embeddedAt("v1beta1")),
		requirement.SchemaWebhookStrict:                 suitetest.Accepting(`unknown field "hostPort"`),
	}
}

// schemaOfGroup is a fault that objects of some groups have alone.
func schemaOfGroup(part string, fault suitetest.Fault) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, part) {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// posted is a fault that objects of a name alone have when they are posted.
func posted(name string, fault suitetest.Fault) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method != http.MethodPost || !bytes.Contains(suitetest.Body(r.Request), []byte(`"name":"`+name+`"`)) {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// schemaPatched sets a field in what a JSON patch of the object of a name is answered with.
func schemaPatched(name, field, value string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Header.Get("Content-Type") != "application/json-patch+json" {
			return next.RoundTrip(r.Request)
		}
		return schemaShowing(name, field, value)(r, next)
	}
}

// listed sets a field in lists of the object of a name.
func listed(name, field, value string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Objects || r.Name != "" || r.Method != http.MethodGet || r.Watch() {
			return response, err
		}
		return suitetest.Edit(response, func(body map[string]any) {
			items, _ := body["items"].([]any)
			for _, item := range items {
				object := item.(map[string]any)
				if meta, ok := object["metadata"].(map[string]any); ok && meta["name"] == name {
					object[field] = fixtures.Value(value)
				}
			}
		})
	}
}

// forgetting never shows a field again that it once did not show.
func forgetting() suitetest.Fault {
	return schemaOfGroup("read-keeps-storage", schemaShowing("forgotten", "spec", `{cronSpec: "* * * * */5"}`))
}

// embeddedAt shows embedded objects at the version of the object around them.
func embeddedAt(version string) suitetest.Fault {
	return suitetest.Showing("holder", func(object map[string]any) {
		if held, ok := object["embedded"].(map[string]any); ok && strings.HasSuffix(object["apiVersion"].(string), "/"+version) {
			held["apiVersion"] = object["apiVersion"]
		}
	})
}

// unperformed answers writes of the object of a name and does nothing.
func unperformed(name string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Objects && r.Method == http.MethodPost {
			if sent := suitetest.Body(r.Request); strings.Contains(string(sent), `"name":"`+name+`"`) {
				return suitetest.Answer(r.Request, http.StatusCreated, sent), nil
			}
		}
		return next.RoundTrip(r.Request)
	}
}

// silent gives no warnings.
func silent(which func(suitetest.Request) bool) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err == nil && which(r) {
			response.Header.Del("Warning")
		}
		return response, err
	}
}

// noisy warns where it is to ignore.
func noisy(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(r.Request)
	if err == nil && r.URL.Query().Get("fieldValidation") == "Ignore" {
		response.Header.Add("Warning", `299 - "made up"`)
	}
	return response, err
}

// conditioned shows a condition of definitions that are not there.
func conditioned(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(r.Request)
	if err != nil || !r.Definition || r.Method != http.MethodGet || r.Name == "" {
		return response, err
	}
	return suitetest.Edit(response, func(body map[string]any) {
		if status, ok := body["status"].(map[string]any); ok {
			conditions, _ := status["conditions"].([]any)
			status["conditions"] = append(conditions, map[string]any{"type": "NonStructuralSchema", "status": "True", "reason": "Violations", "lastTransitionTime": "2019-09-04T14:03:02Z"})
		}
	})
}

// typedInV2 gives what has no type a type in OpenAPI v2.
func typedInV2(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(r.Request)
	if err != nil || r.URL.Path != "/openapi/v2" {
		return response, err
	}
	return suitetest.Edited(response, func(raw []byte) (int, []byte) {
		return response.StatusCode, bytes.ReplaceAll(raw, []byte(`"x-kubernetes-int-or-string":true`), []byte(`"type":"string","x-kubernetes-int-or-string":true`))
	})
}

// unpublished publishes numbers in place of integers.
func unpublished(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(r.Request)
	if err != nil || !strings.HasPrefix(r.URL.Path, "/openapi/v3/") {
		return response, err
	}
	return suitetest.Edited(response, func(raw []byte) (int, []byte) {
		return response.StatusCode, bytes.ReplaceAll(raw, []byte(`"type":"integer"`), []byte(`"type":"number"`))
	})
}
