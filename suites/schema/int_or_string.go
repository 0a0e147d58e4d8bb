package schema

import (
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func intOrString(env *suites.Env) {
	Describe("integers or strings", func() {
		plain := env.With(fixtures.Stable, fixtures.WithSchema(fixtures.IntOrString)).Together()

		plain.It(requirement.SchemaIntOrStringValues,
			"creates objects with integers and strings", func(ctx SpecContext, crd *suites.Resource) {
				for name, value := range map[string]any{"integer": int64(42), "string": "80%", "digits": "42"} {
					object := fixtures.CronTab("value-"+name, `{}`)
					object.Object["foo"] = value
					Expect(crd.At("v1").Create(ctx, object)).To(HaveField("Object", HaveKeyWithValue("foo", value)))
					Expect(crd.At("v1").Get(ctx, object.GetName())).To(HaveField("Object", HaveKeyWithValue("foo", value)))
				}
			})

		plain.It(requirement.SchemaIntOrStringOtherValues,
			"creates objects with values of other types", func(ctx SpecContext, crd *suites.Resource) {
				for _, value := range []string{`1.5`, `true`, `{a: 1}`, `[1]`} {
					Expect(crd.At("v1").Create(ctx, fixtures.CronTab("other-value", `foo: `+value))).Error().To(suites.BeInvalidAt("foo"), value)
				}
			})

		env.It(requirement.SchemaIntOrStringPatterns,
			"submits the two forms, with and without x-kubernetes-int-or-string", func(ctx SpecContext) {
				const id = requirement.SchemaIntOrStringPatterns
				for _, form := range []fixtures.Schema{fixtures.IntOrStringAnyOf, fixtures.IntOrStringAllOf} {
					Expect(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(form))).To(Succeed(), string(form))
					foo := form.New().Properties["foo"]
					foo.XIntOrString = false
					Expect(env.Submit(ctx, id, fixtures.Stable, with(foo))).To(suites.BeInvalidAt(), "%s, not marked", string(form))
				}
			})

		env.It(requirement.SchemaIntOrStringVariations,
			"submits forms that are a little different", func(ctx SpecContext) {
				const id = requirement.SchemaIntOrStringVariations
				form := []properties{{Type: "integer"}, {Type: "string"}}
				submit := func(foo properties) error {
					foo.XIntOrString = true
					return env.Submit(ctx, id, fixtures.Stable, with(foo))
				}
				env.Require(submit(properties{AnyOf: form}), "submitting the documented form")
				for what, foo := range map[string]properties{
					"the other way round":   {AnyOf: []properties{{Type: "string"}, {Type: "integer"}}},
					"with a description":    {AnyOf: []properties{{Type: "integer", Description: "a number"}, {Type: "string"}}},
					"with another type":     {AnyOf: []properties{{Type: "integer"}, {Type: "string"}, {Type: "boolean"}}},
					"with one of the types": {AnyOf: []properties{{Type: "integer"}}},
					"in oneOf":              {OneOf: form},
					"second in allOf":       {AllOf: []properties{{Pattern: "^[0-9]"}, {AnyOf: form}}},
				} {
					Expect(submit(foo)).To(suites.BeInvalidAt(), what)
				}
			})

		env.With(fixtures.Stable, fixtures.WithSchema(fixtures.IntOrStringAllOf)).It(requirement.SchemaIntOrStringRestrictions,
			"creates objects that keep and that break a further restriction", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("integer", `foo: 80`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("percentage", `foo: 80%`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("words", `foo: most`))).Error().To(suites.BeInvalidAt("foo"))
			})

		// foo waits until a document has the property foo, and returns it.
		foo := func(ctx SpecContext, crd *suites.Resource, path string) map[string]any {
			var foo map[string]any
			Eventually(ctx, func() map[string]any {
				foo = published(env.Get(ctx, path), crd.Group())
				return foo
			}).ShouldNot(BeEmpty(), "the schema must be published")
			return foo
		}

		plain.It(requirement.SchemaIntOrStringPublished,
			"looks for an integer or string in the OpenAPI v3 document", func(ctx SpecContext, crd *suites.Resource) {
				spelledOut := HaveKeyWithValue("anyOf", fixtures.Value(`[{type: integer}, {type: string}]`))
				Expect(foo(ctx, crd, "/openapi/v3/apis/"+crd.APIVersion("v1"))).To(Or(spelledOut, HaveKeyWithValue("allOf", ContainElement(spelledOut))))
			})

		plain.It(requirement.SchemaIntOrStringPublishedV2,
			"looks for an integer or string in the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
				Expect(foo(ctx, crd, "/openapi/v2")).To(And(HaveKeyWithValue("x-kubernetes-int-or-string", true), Not(Or(HaveKey("type"), HaveKey("anyOf"), HaveKey("allOf"), HaveKey("oneOf")))))
			}, suites.Slow)
	})
}

// published is what an OpenAPI document says of the property foo of the kind CronTab of a group.
func published(answer suites.Answer, group string) map[string]any {
	type models map[string]struct {
		Kinds      []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		Properties map[string]map[string]any `json:"properties"`
	}
	var document struct {
		Definitions models `json:"definitions"` // of v2
		Components  struct {
			Schemas models `json:"schemas"` // of v3
		} `json:"components"`
	}
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &document) != nil {
		return nil
	}
	for _, all := range []models{document.Definitions, document.Components.Schemas} {
		for _, model := range all {
			if len(model.Kinds) == 1 && model.Kinds[0].Group == group && model.Kinds[0].Kind == "CronTab" {
				return model.Properties["foo"]
			}
		}
	}
	return nil
}
