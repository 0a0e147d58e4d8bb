package schema

import (
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/fixtures"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
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
			"creates objects with values of other sorts", func(ctx SpecContext, crd *suites.Resource) {
				for _, value := range []string{`1.5`, `true`, `{a: 1}`, `[1]`} {
					Expect(crd.At("v1").Create(ctx, fixtures.CronTab("other-value", `foo: `+value))).Error().To(suites.BeInvalidAt("foo"), value)
				}
			})

		env.It(requirement.SchemaIntOrStringPatterns,
			"submits the two forms", func(ctx SpecContext) {
				for _, form := range []fixtures.Schema{fixtures.IntOrStringAnyOf, fixtures.IntOrStringAllOf} {
					Expect(env.Submit(ctx, requirement.SchemaIntOrStringPatterns, fixtures.Stable, fixtures.WithSchema(form))).To(Succeed(), string(form))
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

		env.With(fixtures.Stable, fixtures.WithSchema(fixtures.IntOrString)).It(requirement.SchemaIntOrStringPublished,
			"looks at the published schema of an integer or string", func(ctx SpecContext, crd *suites.Resource) {
				var foo map[string]any
				Eventually(ctx, func() map[string]any {
					foo = published(env.Get(ctx, "/openapi/v3/apis/"+crd.APIVersion("v1")))
					return foo
				}).ShouldNot(BeEmpty(), "the schema must be published")
				Expect(foo).To(Or(
					HaveKeyWithValue("anyOf", fixtures.Value(`[{type: integer}, {type: string}]`)),
					HaveKeyWithValue("oneOf", fixtures.Value(`[{type: integer}, {type: string}]`)),
					HaveKeyWithValue("allOf", ContainElement(HaveKeyWithValue("anyOf", fixtures.Value(`[{type: integer}, {type: string}]`))))))
			})
	})
}

// published is what a document of OpenAPI v3 says of the property foo of the one kind that has it.
func published(answer suites.Answer) map[string]any {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &document) != nil {
		return nil
	}
	for _, schema := range document.Components.Schemas {
		if foo, found := schema.Properties["foo"]; found {
			return foo
		}
	}
	return nil
}
