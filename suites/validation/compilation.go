package validation

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// integer and text are schemas to write rules for.
func integer() properties { return properties{Type: "integer"} }

func text() properties { return properties{Type: "string"} }

// object is the schema of an object with these properties.
func object(all map[string]properties) properties { return properties{Type: "object", Properties: all} }

func compilation(env *suites.Env) {
	const rule = at + ".properties[foo].x-kubernetes-validations[0].rule"

	Describe("the compilation of rules", func() {
		compiles := func(id requirement.ID, text, says string, schema properties, good string, bad ...string) {
			env.It(id, text, func(ctx SpecContext) {
				submit := func(rule string) error {
					return env.Submit(ctx, id, fixtures.Stable, with(ruled(*schema.DeepCopy(), rule)))
				}
				env.Require(submit(good), "submitting the rule %s", good)
				for _, one := range bad {
					Expect(submit(one)).To(And(suites.BeInvalidAt(rule), MatchError(ContainSubstring(says))), one)
				}
			})
		}

		preserve := true
		unknown := properties{XPreserveUnknownFields: &preserve}

		compiles(requirement.ValidationRulesCompiledOnCreate, "submits rules that are not in the language", "compilation failed", integer(), "self > 0", "self >", "self > 0 and self < 10")
		compiles(requirement.ValidationRulesNoOverload, "submits rules that compare values of different types", "found no matching overload", integer(), "self == 1", "self == true", "self.startsWith('a')")
		compiles(requirement.ValidationRulesUndefinedField, "submits rules with an unknown field", "undefined field 'nonExistingField'",
			object(map[string]properties{"existingField": integer()}), "self.existingField > 0", "self.nonExistingField > 0", "has(self.nonExistingField)")
		compiles(requirement.ValidationRulesInvalidArgument, "submits a rule that asks whether there is self", "invalid argument to has() macro",
			object(map[string]properties{"existingField": integer()}), "has(self.existingField)", "has(self)")
		compiles(requirement.ValidationRulesCurrentObject, "submits rules with names other than self", "undeclared reference", integer(), "self > 0", "other > 0", "object.foo > 0", "request.foo > 0")
		compiles(requirement.ValidationRulesPreservedUnknown, "submits rules with fields that are preserved without being specified", "undefined field",
			properties{Type: "object", XPreserveUnknownFields: &preserve, Properties: map[string]properties{"known": integer()}}, "self.known > 0", "self.unknown > 0", "has(self.unknown)")
		compiles(requirement.ValidationRulesUnknownTypes, "submits rules with fields, lists and maps of unknown types", "undefined field",
			object(map[string]properties{
				"known": integer(), "any": unknown, "list": {Type: "array", Items: items(unknown)}, "map": {Type: "object", AdditionalProperties: values(unknown)},
				"lists": {Type: "array", Items: items(properties{Type: "array", Items: items(unknown)})},
			}), "has(self.known)", "has(self.any)", "has(self.list)", "has(self.map)", "has(self.lists)")
		compiles(requirement.ValidationRulesUnrepresentableNames, "submits rules with fields of names that cannot be written", "compilation failed",
			object(map[string]properties{"a.b": integer(), "a$b": integer(), "1a": integer(), "a b": integer()}), "has(self.a__dot__b)", "has(self.a$b)", "has(self.1a)", "has(self['a b'])", "self['a$b'] > 0")
		compiles(requirement.ValidationExamplesKeyMisprinted, "submits the example rule on one key of a map as it is printed", "found no matching overload for '_[_]'",
			object(map[string]properties{"map1": {Type: "object", AdditionalProperties: values(text())}}), "!('MY_KEY' in self.map1) || self.map1['MY_KEY'].startsWith('a')",
			"!('MY_KEY' in self.map1) || self['MY_KEY'].matches('^[a-zA-Z]*$')")

		env.It(requirement.ValidationRulesScope,
			"submits rules with fields of the place that they are at, and of others", func(ctx SpecContext) {
				submit := func(rule string) error {
					return env.Submit(ctx, requirement.ValidationRulesScope, fixtures.Stable, func(crd *definition) {
						schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
						schema.Properties["inner"], schema.Properties["outer"] = ruled(object(map[string]properties{"field": integer()}), rule), integer()
					})
				}
				Expect(submit("self.field > 0")).To(Succeed())
				Expect(submit("self.inner.field > 0")).To(MatchError(ContainSubstring("undefined field 'inner'")))
				Expect(submit("self.outer > 0")).To(MatchError(ContainSubstring("undefined field 'outer'")))
			})

		env.With(fixtures.Stable).It(requirement.ValidationRulesCompiledOnUpdate,
			"gives an installed definition a rule that does not compile, and one that does", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.Update(ctx, with(ruled(integer(), "self == 'updated'")))).To(suites.BeInvalidAt(rule))
				Expect(crd.Update(ctx, with(ruled(integer(), "self == 1")))).To(Succeed())
			})

		env.It(requirement.ValidationRulesOutsideJunctors,
			"submits rules within allOf, anyOf, oneOf and not, and outside of them", func(ctx SpecContext) {
				within := ruled(properties{}, "self > 0")
				submit := func(foo properties) error {
					return env.Submit(ctx, requirement.ValidationRulesOutsideJunctors, fixtures.Stable, with(foo))
				}
				env.Require(submit(ruled(integer(), "self > 0")), "submitting the rule outside of junctors")
				for junctor, foo := range map[string]properties{
					"allOf[0]": {Type: "integer", AllOf: []properties{within}}, "anyOf[0]": {Type: "integer", AnyOf: []properties{within}},
					"oneOf[0]": {Type: "integer", OneOf: []properties{within}}, "not": {Type: "integer", Not: &within},
				} {
					Expect(submit(foo)).To(suites.BeInvalidAt(strings.Join([]string{at, "properties[foo]", junctor, "x-kubernetes-validations"}, ".")), junctor)
				}
			})
	})
}
