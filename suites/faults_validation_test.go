package suites_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/validation"
)

// validationIgnorance proves that nothing here passes because an API server does not know what it is about.
func validationIgnorance(t *testing.T, genuine *embedded.Cluster) {
	t.Helper()
	var aboutRules, aboutRefusals, aboutWebhooks []requirement.ID
	for _, spec := range suites.Preview([]suites.Area{validation.Area}) {
		if id := spec.Requirement; !withoutRules(id) {
			aboutRules = append(aboutRules, id)
		}
		// What this one is about are warnings.
		if spec.Requirement != requirement.ValidationRestrictionsUnknownKeywords {
			aboutRefusals = append(aboutRefusals, spec.Requirement)
		}
		if strings.HasPrefix(string(spec.Requirement), "validation.webhook.") {
			aboutWebhooks = append(aboutWebhooks, spec.Requirement)
		}
	}
	t.Run("of rules", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, validation.Area, suitetest.Ignoring("x-kubernetes-validations"), aboutRules...)
	})
	t.Run("of what rules say of errors", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, validation.Area, suitetest.Ignoring("messageExpression", "reason", "fieldPath"),
			requirement.ValidationRulesMessageExpression, requirement.ValidationRulesReason, requirement.ValidationRulesFieldPath)
	})
	t.Run("of conversion", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, validation.Area, suitetest.Ignoring("conversion"), aboutWebhooks...)
	})
	t.Run("of everything", func(t *testing.T) {
		suitetest.CatchAll(t, genuine, validation.Area, suitetest.Accepting(``), aboutRefusals...)
	})
}

// TestRefusedRulesAreCaught proves that an API server which refuses one rule of a definition with many is found by the spec of that
// rule, and that the others are judged all the same.
func TestRefusedRulesAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the definition is installed again for each spec")
	}
	const refused = "self.health.startsWith"
	tampered := &suitetest.Tampered{Cluster: suitetest.Cluster(t, embedded.Options{}), Exchange: func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if suitetest.About(r).Definition && r.Method == http.MethodPost && bytes.Contains(suitetest.Body(r), []byte(refused)) {
			return suitetest.Answer(r, http.StatusUnprocessableEntity, map[string]any{
				"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusUnprocessableEntity, "reason": "Invalid", "message": "made up",
			}), nil
		}
		return next.RoundTrip(r)
	}}
	want := map[requirement.ID]requirement.Verdict{
		requirement.ValidationExamplesPrefix:     requirement.Failed,
		requirement.ValidationExamplesEntry:      requirement.Passed,
		requirement.ValidationExamplesNamePrefix: requirement.Passed,
	}
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: tampered, Seed: 1, Select: func(id requirement.ID) bool {
		_, wanted := want[id]
		return wanted
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{validation.Area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Results) != len(want) {
		t.Errorf("%d specs ran, want %d", len(outcome.Results), len(want))
	}
	for _, r := range outcome.Results {
		if r.Verdict != want[r.Requirement] {
			t.Errorf("%s is %s, want %s: %s", r.Requirement, r.Verdict, want[r.Requirement], r.Reason)
		}
	}
}

// withoutRules reports whether a requirement has nothing to do with rules.
func withoutRules(id requirement.ID) bool {
	return strings.HasPrefix(string(id), "validation.restrictions.") || strings.HasPrefix(string(id), "validation.fields.") || slices.Contains([]requirement.ID{
		requirement.ValidationNoneWrittenVersion, requirement.ValidationNoneOtherVersions, requirement.ValidationNoneUpdate, requirement.ValidationNoneRatcheting,
		requirement.ValidationWebhookWrittenVersion, requirement.ValidationWebhookStored, requirement.ValidationWebhookUpdate, requirement.ValidationWebhookRatcheting,
	}, id)
}

// validationFaults returns for each requirement what an API server does that violates it.
func validationFaults() map[requirement.ID]suitetest.Fault {
	all := map[requirement.ID]suitetest.Fault{}
	refused := func(id requirement.ID) string { return strings.ReplaceAll(string(id), ".", "-") } // the object that breaks a rule of an example
	for _, spec := range suites.Preview([]suites.Area{validation.Area}) {
		all[spec.Requirement] = suitetest.Accepting(`"` + refused(spec.Requirement) + `" is invalid`)
	}
	for id, last := range map[requirement.ID]int{requirement.ValidationExamplesIntOrString: 1, requirement.ValidationScopesArray: 2} {
		all[id] = suitetest.Accepting(fmt.Sprintf(`"%s-%d" is invalid`, refused(id), last))
	}
	maps.Copy(all, validationSchemaFaults())
	maps.Copy(all, objectFaults())
	maps.Copy(all, transitionFaults())
	maps.Copy(all, versionFaults())
	return all
}

func validationSchemaFaults() map[requirement.ID]suitetest.Fault {
	const foo = `invalid: spec\.validation\.openAPIV3Schema\.properties\[foo\]\.`
	return map[requirement.ID]suitetest.Fault{
		requirement.ValidationRestrictionsDefinitions:                   suitetest.Accepting(foo + `definitions`),
		requirement.ValidationRestrictionsDependencies:                  suitetest.Accepting(foo + `dependencies`),
		requirement.ValidationRestrictionsID:                            suitetest.Accepting(foo + `id`),
		requirement.ValidationRestrictionsPatternProperties:             suitetest.Accepting(foo + `patternProperties`),
		requirement.ValidationRestrictionsRef:                           suitetest.Accepting(foo + `\$ref`),
		requirement.ValidationRestrictionsUniqueItems:                   suitetest.Accepting(foo + `uniqueItems`),
		requirement.ValidationRestrictionsAdditionalPropertiesExclusive: suitetest.Accepting(foo + `additionalProperties`),
		requirement.ValidationRestrictionsAdditionalItems:               suitetest.Accepting(foo + `additionalItems`),
		requirement.ValidationRestrictionsAdditionalPropertiesNone:      suitetest.Accepting(`"any" is invalid`),
		requirement.ValidationRestrictionsUnknownKeywords:               unwarned,
		requirement.ValidationRestrictionsUnknownKeywordsStrict:         suitetest.Accepting(`unknown field "spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\.foo\.xml`),

		requirement.ValidationRulesCompiledOnCreate:     suitetest.Accepting(`rules-compiled-on-create.*compilation failed`),
		requirement.ValidationRulesCompiledOnUpdate:     suitetest.Accepting(`self == 'updated'`),
		requirement.ValidationRulesNoOverload:           suitetest.Accepting(`no matching overload for '_==_' applied to '\(int, bool\)'`),
		requirement.ValidationRulesUndefinedField:       suitetest.Accepting(`undefined field 'nonExistingField'`),
		requirement.ValidationRulesInvalidArgument:      suitetest.Accepting(`has\(self\)`),
		requirement.ValidationRulesCurrentObject:        suitetest.Accepting(`undeclared reference to 'other'`),
		requirement.ValidationRulesPreservedUnknown:     suitetest.Accepting(`undefined field 'unknown'`),
		requirement.ValidationRulesUnknownTypes:         suitetest.Accepting(`undefined field 'lists'`),
		requirement.ValidationRulesUnrepresentableNames: suitetest.Accepting(`has\(self\['a b'\]\)`),
		requirement.ValidationExamplesKeyMisprinted:     suitetest.Accepting(`no matching overload for '_\[_\]'.*MY_KEY|MY_KEY(.|\n)*no matching overload for '_\[_\]'`),
		requirement.ValidationRulesScope:                suitetest.Accepting(`undefined field 'outer'`),
		requirement.ValidationRulesOutsideJunctors:      suitetest.Accepting(`oneOf\[0\]\.x-kubernetes-validations`),
		requirement.ValidationRulesOtherMetadata:        suitetest.Accepting(`undefined field 'namespace'`),

		requirement.ValidationCostUnbounded:       suitetest.Accepting(`cost-unbounded\..*exceed`),
		requirement.ValidationCostUnboundedString: suitetest.Accepting(`cost-unbounded-string\.(.|\n)*exceed`),
		requirement.ValidationCostUnboundedMap:    suitetest.Accepting(`cost-unbounded-map\.(.|\n)*exceed`),
		requirement.ValidationCostLimited:         suitetest.Refusing(`validation-cost-limited\.`),
		requirement.ValidationCostPerItem:         suitetest.Accepting(`cost-per-item`),
		requirement.ValidationCostFlatList:        suitetest.Refusing(`validation-cost-flat-list\.`),
		requirement.ValidationCostNestedList:      suitetest.Accepting(`cost-nested-list`),
		requirement.ValidationCostTotal:           suitetest.Accepting(`\[list1\]|cost total for entire OpenAPIv3 schema exceeds budget by factor of [0-9.]+x`),
		requirement.ValidationCostRunTime:         suitetest.Accepting(`"long" is invalid`),
	}
}

func objectFaults() map[requirement.ID]suitetest.Fault {
	return map[requirement.ID]suitetest.Fault{
		requirement.ValidationFieldsDocumentedInvalid:           suitetest.Accepting(`"invalid" is invalid`),
		requirement.ValidationFieldsDocumentedValid:             suitetest.Refusing(`"name":"valid"`),
		requirement.ValidationFieldsBounds:                      suitetest.Accepting(`"too-low" is invalid`),
		requirement.ValidationFieldsUpdate:                      validationOn("application/json-patch+json", suitetest.Accepting(`"updated" is invalid: spec\.replicas`)),
		requirement.ValidationFieldsRefusedUpdateChangesNothing: read("unchanged", "spec", `{replicas: 15, image: other}`),
		requirement.ValidationFieldsTightened:                   validationOfGroup("fields-tightened", read("old", "spec", `{replicas: 3}`)),
		requirement.ValidationFieldsRatcheting:                  suitetest.Refusing(`{"spec": {"image": "other"}}`),
		requirement.ValidationFieldsRatchetingChanged:           suitetest.Accepting(`"old" is invalid`),
		requirement.ValidationFieldsRatchetingLists:             suitetest.Accepting(`"lists" is invalid: atomic`),
		requirement.ValidationFieldsRatchetingKeys:              suitetest.Refusing(`{"map": {"b": "new"}}`),
		requirement.ValidationFieldsRatchetingWhole:             suitetest.Accepting(`"whole" is invalid: list`),
		requirement.ValidationFieldsRatchetingStatus:            suitetest.Refusing(`{"status": {"labelSelector": "ratcheted"}}`),
		requirement.ValidationRulesRatcheting:                   suitetest.Refusing(`{"spec": {"image": "ratcheted"}}`),

		requirement.ValidationRulesDocumented:         suitetest.Accepting(`"out-of-range" is invalid`),
		requirement.ValidationRulesMessage:            suitetest.Accepting(`"message" is invalid`),
		requirement.ValidationRulesSeveral:            suitetest.Accepting(`"several" is invalid`),
		requirement.ValidationRulesDefaultMessage:     suitetest.Accepting(`"default-message" is invalid`),
		requirement.ValidationRulesMessageExpression:  validationSaying("it is broken, not kept", "it is silent"),
		requirement.ValidationRulesReason:             validationSaying(`"reason":"FieldValueForbidden"`, `"reason":"FieldValueInvalid"`),
		requirement.ValidationRulesFieldPath:          validationSaying(`"field":"named.inner"`, `"field":"named"`),
		requirement.ValidationRulesMetadataAccessible: suitetest.Accepting(`"metadata-embedded" is invalid`),
	}
}

func transitionFaults() map[requirement.ID]suitetest.Fault {
	refused := func(name string) suitetest.Fault { return suitetest.Accepting(`"` + name + `" is invalid`) }
	return map[requirement.ID]suitetest.Fault{
		requirement.ValidationTransitionOldSelf:         refused("level"),
		requirement.ValidationTransitionNeverOnCreate:   suitetest.Refusing(`"frozen":1`),
		requirement.ValidationTransitionSetOrUnset:      suitetest.Refusing(`{"level": null}`),
		requirement.ValidationTransitionParent:          refused("parent"),
		requirement.ValidationTransitionListMap:         refused("list-map"),
		requirement.ValidationTransitionImmutable:       refused("immutable"),
		requirement.ValidationTransitionAssigned:        refused("assigned"),
		requirement.ValidationTransitionAssignedField:   refused("assigned-field"),
		requirement.ValidationTransitionSet:             refused("set"),
		requirement.ValidationTransitionNext:            refused("next"),
		requirement.ValidationTransitionCounter:         refused("counter"),
		requirement.ValidationTransitionSetRefused:      suitetest.Accepting(`transition-set-refused`),
		requirement.ValidationTransitionNestedLists:     suitetest.Accepting(`transition-nested-lists`),
		requirement.ValidationTransitionOptionalOldSelf: refused("optional-second"),
		requirement.ValidationTransitionNotRatcheted:    refused("restless"),
		requirement.ValidationListsMapEquality:          refused("equal"),
		requirement.ValidationListsMapConcatenation:     refused("concatenated"),
	}
}

func versionFaults() map[requirement.ID]suitetest.Fault {
	none := func(fault suitetest.Fault) suitetest.Fault { return validationOfGroup("validation-none", fault) }
	webhook := func(fault suitetest.Fault) suitetest.Fault { return validationOfGroup("validation-webhook", fault) }
	return map[requirement.ID]suitetest.Fault{
		requirement.ValidationNoneWrittenVersion: none(suitetest.Accepting(`"written-v1beta1" is invalid`)),
		requirement.ValidationNoneOtherVersions:  suitetest.Showing("other", func(object map[string]any) { object["count"] = 10 }),
		requirement.ValidationNoneUpdate:         none(suitetest.Accepting(`"updated" is invalid`)),
		requirement.ValidationNoneRatcheting:     suitetest.Refusing(`{"size": 1}`),
		requirement.ValidationNoneRules:          suitetest.Accepting(`"ruled" is invalid`),
		requirement.ValidationNoneTransition:     none(suitetest.Accepting(`"transition" is invalid`)),
		requirement.ValidationNoneCompiled:       suitetest.Accepting(`self == 'wrong'`),

		requirement.ValidationWebhookWrittenVersion: webhook(suitetest.Accepting(`"written-v1beta1" is invalid`)),
		requirement.ValidationWebhookStored:         suitetest.Refusing(`LOCALHOST.*"name":"stored"`),
		requirement.ValidationWebhookUpdate:         webhook(suitetest.Accepting(`"updated" is invalid`)),
		requirement.ValidationWebhookRatcheting:     suitetest.Refusing(`{"label": 1}`),
		requirement.ValidationWebhookRules:          suitetest.Accepting(`"ruled-v1beta1" is invalid`),
		requirement.ValidationWebhookOldSelf:        suitetest.Accepting(`"old-self" is invalid`),
		requirement.ValidationWebhookTransition:     suitetest.Refusing(`{"hostPort": "other:2"}`),
	}
}

// validationOfGroup is a fault that objects of some groups have alone.
func validationOfGroup(part string, fault suitetest.Fault) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, part) {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// validationOn is a fault that requests of a content type meet alone.
func validationOn(contentType string, fault suitetest.Fault) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Header.Get("Content-Type") != contentType {
			return next.RoundTrip(r.Request)
		}
		return fault(r, next)
	}
}

// validationSaying replaces text in what an API server says of objects.
func validationSaying(old, replacement string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || !r.Objects || r.Watch() {
			return response, err
		}
		return suitetest.Edited(response, func(raw []byte) (int, []byte) {
			return response.StatusCode, bytes.ReplaceAll(raw, []byte(old), []byte(replacement))
		})
	}
}

// read sets a field of the object of a name in answers to reads.
func read(name, field, value string) suitetest.Fault {
	return func(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method != http.MethodGet {
			return next.RoundTrip(r.Request)
		}
		return suitetest.Showing(name, func(object map[string]any) { object[field] = fixtures.Value(value) })(r, next)
	}
}

// unwarned warns of nothing that is not known in definitions.
func unwarned(r suitetest.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(r.Request)
	if err == nil && r.Definition {
		response.Header.Del("Warning")
	}
	return response, err
}
