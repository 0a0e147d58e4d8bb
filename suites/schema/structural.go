package schema

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func structural(env *suites.Env) {
	Describe("a structural schema", func() {
		env.With(fixtures.Stable).It(requirement.SchemaStructuralMandatory,
			"submits a definition with a schema that is not structural, and changes one to have it", func(ctx SpecContext, crd *suites.Resource) {
				untyped := changed(func(schema *properties) { schema.Properties["untyped"] = properties{Pattern: "abc"} })
				Expect(env.Submit(ctx, requirement.SchemaStructuralMandatory, fixtures.Stable, untyped)).To(suites.BeInvalidAt(at + ".properties[untyped].type"))
				Expect(crd.Update(ctx, untyped)).To(suites.BeInvalidAt(at + ".properties[untyped].type"))
				Expect(crd.Update(ctx, with(properties{Type: "string", Pattern: "abc"}))).To(Succeed(), "the same with a type")
			})

		typed(env)
		junctors(env)

		env.Refuses(requirement.SchemaStructuralMetadata,
			"submits a schema that restricts finalizers and labels", fixtures.Stable, changed(func(schema *properties) {
				schema.Properties["metadata"] = properties{Type: "object", Properties: map[string]properties{
					"finalizers": {Type: "array", Items: items(properties{Type: "string"})},
					"labels":     {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &properties{Type: "string"}}},
				}}
			}), at+".properties[metadata]")

		env.With(fixtures.Stable, fixtures.WithSchema(fixtures.Structural3)).It(requirement.SchemaStructuralMetadataName,
			"creates objects with names that a schema allows and forbids", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("allowed", `{foo: abc, bar: 42}`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("forbidden", `{foo: abc, bar: 42}`))).Error().To(suites.BeInvalidAt("metadata.name"))
			})

		env.It(requirement.SchemaStructuralExampleViolations,
			"submits the documents' third example, and the schema that corresponds to it", func(ctx SpecContext) {
				id := requirement.SchemaStructuralExampleViolations
				env.Require(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.Structural3)), "submitting the schema that is structural")
				Expect(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.NotStructural3))).To(suites.BeInvalidAt(
					at+".type", at+".properties[foo].type", at+".properties[bar]",
					at+".anyOf[0].properties[bar].type", at+".anyOf[0].description", at+".properties[metadata]"))
			})

		env.It(requirement.SchemaStructuralExampleCounterpart,
			"submits the schema that corresponds to the documents' third example, and the example", func(ctx SpecContext) {
				const id = requirement.SchemaStructuralExampleCounterpart
				Expect(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.Structural3))).To(Succeed())
				Expect(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.NotStructural3))).To(suites.BeInvalidAt(), "the example must be refused")
			})

		env.It(requirement.SchemaStructuralSetOfObjects,
			"submits sets of objects that are atomic and that are not", func(ctx SpecContext) {
				set, atomic := "set", "atomic"
				submit := func(item properties) error {
					return env.Submit(ctx, requirement.SchemaStructuralSetOfObjects, fixtures.Stable, with(properties{Type: "array", XListType: &set, Items: items(item)}))
				}
				env.Require(submit(properties{Type: "object", XMapType: &atomic}), "submitting a set of atomic objects")
				Expect(submit(properties{Type: "object"})).To(suites.BeInvalidAt(at + ".properties[foo].items.x-kubernetes-map-type"))
			})

		env.With(fixtures.Stable).It(requirement.SchemaStructuralNoCondition,
			"looks for the condition NonStructural of a definition", func(ctx SpecContext, crd *suites.Resource) {
				Expect(apihelpers.IsCRDConditionTrue(crd.Definition(ctx), apiextensionsv1.Established)).To(BeTrue())
				Expect(apihelpers.FindCRDCondition(crd.Definition(ctx), apiextensionsv1.NonStructuralSchema)).To(BeNil())
			})
	})
}

// typed are the specs of rule 1.
func typed(env *suites.Env) {
	env.Refuses(requirement.SchemaStructuralTypeOfRoot,
		"submits a schema without a type", fixtures.Stable, changed(func(schema *properties) { schema.Type = "" }), at+".type")

	env.It(requirement.SchemaStructuralTypeOfFields,
		"submits properties and additional properties without a type", func(ctx SpecContext) {
			submit := func(foo properties) error {
				return env.Submit(ctx, requirement.SchemaStructuralTypeOfFields, fixtures.Stable, with(foo))
			}
			values := func(value properties) properties {
				return properties{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &value}}
			}
			env.Require(submit(properties{Type: "string"}), "submitting a property with a type")
			env.Require(submit(values(properties{Type: "string"})), "submitting additional properties with a type")
			Expect(submit(properties{})).To(suites.BeInvalidAt(at + ".properties[foo].type"))
			Expect(submit(values(properties{}))).To(suites.BeInvalidAt(at + ".properties[foo].additionalProperties.type"))
		})

	env.It(requirement.SchemaStructuralTypeOfItems,
		"submits a list of which the items have no type", func(ctx SpecContext) {
			submit := func(item properties) error {
				return env.Submit(ctx, requirement.SchemaStructuralTypeOfItems, fixtures.Stable, with(properties{Type: "array", Items: items(item)}))
			}
			env.Require(submit(properties{Type: "string"}), "submitting items with a type")
			Expect(submit(properties{})).To(suites.BeInvalidAt(at + ".properties[foo].items.type"))
		})

	env.It(requirement.SchemaStructuralTypeExceptions,
		"submits properties and items without a type that are marked as integers or strings, or as preserved, and that are not", func(ctx SpecContext) {
			const id = requirement.SchemaStructuralTypeExceptions
			preserve := true
			for what, value := range map[string]properties{
				"x-kubernetes-int-or-string":           {XIntOrString: true},
				"x-kubernetes-preserve-unknown-fields": {XPreserveUnknownFields: &preserve},
			} {
				for _, foo := range []properties{value, {Type: "array", Items: items(value)}} {
					Expect(env.Submit(ctx, id, fixtures.Stable, with(foo))).To(Succeed(), what)
				}
			}
			Expect(env.Submit(ctx, id, fixtures.Stable, with(properties{}))).To(suites.BeInvalidAt(at+".properties[foo].type"), "without a mark")
			Expect(env.Submit(ctx, id, fixtures.Stable, with(properties{Type: "array", Items: items(properties{})}))).
				To(suites.BeInvalidAt(at+".properties[foo].items.type"), "without a mark")
		})
}

// logical are the junctors, each with what puts a schema into it.
func logical() map[string]func(schema *properties, within properties) {
	return map[string]func(schema *properties, within properties){
		"allOf": func(schema *properties, within properties) { schema.AllOf = []properties{within} },
		"anyOf": func(schema *properties, within properties) { schema.AnyOf = []properties{within} },
		"oneOf": func(schema *properties, within properties) { schema.OneOf = []properties{within} },
		"not":   func(schema *properties, within properties) { schema.Not = &within },
	}
}

// within is the path of what is in a logical junctor.
func within(junctor string) string {
	if junctor == "not" {
		return "not"
	}
	return junctor + "[0]"
}

// junctors are the specs of rules 2 and 3.
func junctors(env *suites.Env) {
	// submit submits a property foo that every logical junctor of the root says more about: API servers look at those only.
	submit := func(ctx SpecContext, id requirement.ID, foo, more properties, check func(junctor string, err error)) {
		for name, put := range logical() {
			check(name, env.Submit(ctx, id, fixtures.Stable, changed(func(schema *properties) {
				schema.Properties["foo"] = foo
				put(schema, properties{Properties: map[string]properties{"foo": more}})
			})))
		}
	}

	env.It(requirement.SchemaStructuralJunctorFields,
		"submits the documents' first example, and such fields in every logical junctor", func(ctx SpecContext) {
			const id = requirement.SchemaStructuralJunctorFields
			env.Require(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.Structural1)), "submitting the example, corrected")
			Expect(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.NotStructural1))).To(suites.BeInvalidAt(at + ".properties[foo]"))
			bar := properties{Properties: map[string]properties{"bar": {Pattern: "^a"}}}
			outside := properties{Type: "object", Properties: map[string]properties{"bar": {Type: "string"}}}
			submit(ctx, id, outside, bar, func(name string, err error) { Expect(err).NotTo(HaveOccurred(), name) })
			submit(ctx, id, properties{Type: "object"}, bar, func(name string, err error) {
				Expect(err).To(suites.BeInvalidAt(at+".properties[foo].properties[bar]"), name)
			})
		})

	env.It(requirement.SchemaStructuralJunctorItems,
		"submits the documents' second example, and such items in every logical junctor", func(ctx SpecContext) {
			const id = requirement.SchemaStructuralJunctorItems
			env.Require(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.Structural2)), "submitting the example, corrected")
			Expect(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.NotStructural2))).To(suites.BeInvalidAt(at + ".properties[list].items.properties[foo]"))
			bar := properties{Items: items(properties{Properties: map[string]properties{"bar": {Pattern: "^a"}}})}
			submit(ctx, id, properties{Type: "array", Items: items(properties{Type: "object"})}, bar, func(name string, err error) {
				Expect(err).To(suites.BeInvalidAt(at+".properties[foo].items.properties[bar]"), name)
			})
		})

	env.It(requirement.SchemaStructuralJunctorKeywords,
		"submits each of the keywords in every logical junctor", func(ctx SpecContext) {
			const id = requirement.SchemaStructuralJunctorKeywords
			for keyword, foo := range map[string]properties{
				"description":          {Description: "foo bar object"},
				"type":                 {Type: "string"},
				"default":              {Default: &apiextensionsv1.JSON{Raw: []byte(`"a"`)}},
				"additionalProperties": {AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &properties{Pattern: "^a"}}},
				"nullable":             {Nullable: true},
			} {
				submit(ctx, id, properties{Type: "string"}, foo, func(name string, err error) {
					Expect(err).To(suites.BeInvalidAt(fmt.Sprintf("%s.%s.properties[foo].%s", at, within(name), keyword)), "%s in %s", keyword, name)
				})
			}
		})
}

func items(item properties) *apiextensionsv1.JSONSchemaPropsOrArray {
	return &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
}

// root are the specs of what API servers want of schemas and the documents do not mention.
func root(env *suites.Env) {
	Describe("the root of a schema", func() {
		env.Refuses(requirement.SchemaRootObject, "submits a schema of type string",
			fixtures.Stable, changed(func(schema *properties) { *schema = properties{Type: "string"} }), at+".type")

		env.Refuses(requirement.SchemaRootNullable, "submits a schema that is nullable",
			fixtures.Stable, changed(func(schema *properties) { schema.Nullable = true }), at+".nullable")

		env.It(requirement.SchemaRootAdditionalProperties, "submits schemas with additional properties of a type, and of any", func(ctx SpecContext) {
			env.Require(env.Submit(ctx, requirement.SchemaRootAdditionalProperties, fixtures.Stable), "submitting the definition as it is")
			for what, additional := range map[string]*apiextensionsv1.JSONSchemaPropsOrBool{
				"of a type": {Allows: true, Schema: &properties{Type: "string"}}, "of any": {Allows: true},
			} {
				Expect(env.Submit(ctx, requirement.SchemaRootAdditionalProperties, fixtures.Stable, changed(func(schema *properties) {
					schema.Properties, schema.AdditionalProperties = nil, additional
				}))).To(suites.BeInvalidAt(at+".additionalProperties"), what)
			}
		})

		env.With(fixtures.Stable, with(properties{Type: "string", Format: "crontab"}), changed(func(schema *properties) {
			schema.Properties["known"] = properties{Type: "string", Format: "date"}
		})).It(requirement.SchemaRootUnknownFormat,
			"creates objects with values of formats that API servers know and do not know", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("unknown-format", `{foo: of no format, known: "2017-12-31"}`))).To(have("foo", "of no format"))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("known-format", `{foo: of no format, known: of no format}`))).Error().To(suites.BeInvalidAt("known"))
			})

		env.With(fixtures.Stable).It(requirement.SchemaRootUnknownFormatWarned, "submits formats that API servers know and do not know, and changes a definition to have them", func(ctx SpecContext, crd *suites.Resource) {
			warnings := func(write func(ctx context.Context, foo fixtures.Option) error, format string) []string {
				collecting, collected := suites.CollectWarnings(ctx)
				Expect(write(collecting, with(properties{Type: "string", Format: format}))).To(Succeed(), format)
				return collected.Texts()
			}
			create := func(ctx context.Context, foo fixtures.Option) error {
				return env.Submit(ctx, requirement.SchemaRootUnknownFormatWarned, fixtures.Stable, foo, fixtures.InGroup("new."+crd.Group()))
			}
			update := func(ctx context.Context, foo fixtures.Option) error { return crd.Update(ctx, foo) }
			for _, write := range []func(ctx context.Context, foo fixtures.Option) error{create, update} {
				Expect(warnings(write, "date-time")).To(BeEmpty())
				Expect(warnings(write, "crontab")).To(ConsistOf(And(ContainSubstring("unrecognized format"), ContainSubstring("crontab"))))
			}
		})
	})
}
