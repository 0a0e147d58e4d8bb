package validation

import (
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func restrictions(env *suites.Env) {
	Describe("restrictions of schemas", func() {
		text := properties{Type: "string"}
		ref := "#/definitions/foo"
		refuses := func(id requirement.ID, keyword string, foo properties) {
			env.Refuses(id, "submits a schema with "+keyword, fixtures.Stable, with(foo), at+".properties[foo]."+keyword)
		}
		refuses(requirement.ValidationRestrictionsDefinitions, "definitions", properties{Type: "object", Definitions: apiextensionsv1.JSONSchemaDefinitions{"a": text}})
		refuses(requirement.ValidationRestrictionsDependencies, "dependencies",
			properties{Type: "object", Dependencies: apiextensionsv1.JSONSchemaDependencies{"a": {Property: []string{"b"}}}})
		refuses(requirement.ValidationRestrictionsID, "id", properties{Type: "string", ID: "foo"})
		refuses(requirement.ValidationRestrictionsPatternProperties, "patternProperties",
			properties{Type: "object", PatternProperties: map[string]properties{"^a": text}})
		refuses(requirement.ValidationRestrictionsRef, "$ref", properties{Type: "string", Ref: &ref})
		refuses(requirement.ValidationRestrictionsUniqueItems, "uniqueItems", properties{Type: "array", Items: items(text), UniqueItems: true})
		refuses(requirement.ValidationRestrictionsAdditionalPropertiesExclusive, "additionalProperties",
			properties{Type: "object", Properties: map[string]properties{"a": text}, AdditionalProperties: values(text)})
		refuses(requirement.ValidationRestrictionsAdditionalItems, "additionalItems", properties{Type: "array", Items: items(text), AdditionalItems: values(text)})

		unknownKeywords(env)

		env.With(fixtures.Stable, with(properties{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{}})).It(
			requirement.ValidationRestrictionsAdditionalPropertiesNone,
			"creates objects with and without a field where there can be none", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("none", `foo: {}`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("any", `foo: {a: x}`))).Error().To(suites.BeInvalidAt("foo"))
			})
	})
}

// keywords are those that API servers know nothing of, with values that they have in OpenAPI.
func keywords() map[string]any {
	return map[string]any{
		"deprecated": true, "discriminator": map[string]any{"propertyName": "kind"}, "readOnly": true, "writeOnly": true, "xml": map[string]any{"name": "foo"},
	}
}

// manifest is a definition with a keyword that its Go type does not have, at the property foo.
func manifest(env *suites.Env, keyword string) map[string]any {
	crd := fixtures.Stable.New(fixtures.InGroup("validation-restrictions-unknown-keywords.example.com"), with(properties{Type: "object", Description: keyword}))
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	env.Require(err, "converting a definition")
	versions, _, err := unstructured.NestedSlice(content, "spec", "versions")
	env.Require(err, "looking for the versions of a definition")
	version, _ := versions[0].(map[string]any)
	env.Require(unstructured.SetNestedField(version, keywords()[keyword], "schema", "openAPIV3Schema", "properties", "foo", keyword), "setting %s", keyword)
	env.Require(unstructured.SetNestedSlice(content, versions, "spec", "versions"), "setting the versions of a definition")
	return content
}

func unknownKeywords(env *suites.Env) {
	submit := func(ctx SpecContext, query, keyword string) suites.Answer {
		body, err := json.Marshal(manifest(env, keyword))
		env.Require(err, "encoding a definition")
		return env.Do(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"+query, body, http.Header{"Content-Type": {"application/json"}})
	}

	env.It(requirement.ValidationRestrictionsUnknownKeywords,
		"submits each of the keywords that API servers do not know", func(ctx SpecContext) {
			for keyword := range keywords() {
				answer := submit(ctx, "", keyword)
				Expect(answer).To(And(HaveField("Status", http.StatusCreated), HaveField("Header", HaveKeyWithValue("Warning", ConsistOf(ContainSubstring("properties.foo."+keyword))))), keyword)
				var crd definition
				Expect(json.Unmarshal(answer.Body, &crd)).To(Succeed())
				Expect(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties).To(HaveKeyWithValue("foo", properties{Type: "object", Description: keyword}))
				Expect(string(answer.Body)).NotTo(ContainSubstring(`"` + keyword + `":`))
			}
		})

	env.It(requirement.ValidationRestrictionsUnknownKeywordsStrict,
		"submits each of the keywords that API servers do not know, strictly", func(ctx SpecContext) {
			for keyword := range keywords() {
				Expect(submit(ctx, "&fieldValidation=Strict", keyword)).To(And(
					HaveField("Status", http.StatusBadRequest), HaveField("Body", ContainSubstring("properties.foo."+keyword))), keyword)
			}
		})
}
