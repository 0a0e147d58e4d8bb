package validation

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// longest is the most items that the list of quadratic can have.
const longest = 2500

// quadratic is a list with a rule that looks for each item in the whole list. What that costs is estimated to be less than a
// rule may cost, and is more than a rule may take when it is run. If all items are the same, it still takes little time.
func quadratic() properties {
	limit := int64(longest)
	return ruled(properties{Type: "array", MaxItems: &limit, Items: items(integer())}, "self.all(x, x in self)")
}

func cost(env *suites.Env) {
	const rule = at + ".properties[foo].x-kubernetes-validations[0].rule"
	submit := func(ctx SpecContext, id requirement.ID, schema fixtures.Schema) error {
		return env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(schema))
	}

	Describe("the cost of rules", func() {
		env.It(requirement.ValidationCostUnbounded,
			"submits the documents' rule on a list without limits", func(ctx SpecContext) {
				env.Require(submit(ctx, requirement.ValidationCostUnbounded, fixtures.CostLimited), "submitting the rule with limits")
				Expect(submit(ctx, requirement.ValidationCostUnbounded, fixtures.CostUnbounded)).To(And(
					suites.BeInvalidAt(rule), MatchError(ContainSubstring("maxItems")), MatchError(ContainSubstring("exceed"))))
			})

		env.It(requirement.ValidationCostLimited,
			"submits the documents' rule on a list with limits, with larger ones, and without", func(ctx SpecContext) {
				const id = requirement.ValidationCostLimited
				Expect(submit(ctx, id, fixtures.CostLimited)).To(Succeed())
				Expect(env.Submit(ctx, id, fixtures.Stable, fixtures.WithSchema(fixtures.CostLimited), func(crd *definition) {
					list := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["foo"]
					*list.MaxItems, *list.Items.Schema.MaxLength = 1<<20, 1<<20
				})).To(suites.BeInvalidAt(rule), "with a million of either")
				Expect(submit(ctx, id, fixtures.CostUnbounded)).To(suites.BeInvalidAt(rule), "without limits")
			})

		// A rule on few strings or entries costs little, so the rules look at each pair of them.
		limits := func(id requirement.ID, text string, field properties, unlimited func(field *properties)) {
			env.It(id, text, func(ctx SpecContext) {
				env.Require(env.Submit(ctx, id, fixtures.Stable, with(field)), "submitting the rule with limits")
				unlimited(&field)
				Expect(env.Submit(ctx, id, fixtures.Stable, with(field))).To(And(suites.BeInvalidAt(rule), MatchError(ContainSubstring("exceed"))), "without the limit")
			})
		}
		few, short := int64(25), int64(10)
		limits(requirement.ValidationCostUnboundedString, "submits a rule on strings with and without a limit", ruled(properties{
			Type: "object", MaxProperties: &few, AdditionalProperties: values(properties{Type: "string", MaxLength: &short}),
		}, "self.all(a, self.all(b, self[a].contains(self[b])))"), func(field *properties) { field.AdditionalProperties = values(text()) })
		limits(requirement.ValidationCostUnboundedMap, "submits a rule on a map with and without a limit", ruled(properties{
			Type: "object", MaxProperties: &few, AdditionalProperties: values(integer()),
		}, "self.all(a, self.all(b, self[a] <= self[b]))"), func(field *properties) { field.MaxProperties = nil })

		env.It(requirement.ValidationCostPerItem,
			"submits the documents' rule on each item of a list, with and without limits", func(ctx SpecContext) {
				const id = requirement.ValidationCostPerItem
				Expect(env.Submit(ctx, id, fixtures.RulesPerItem)).To(Succeed())
				Expect(env.Submit(ctx, id, fixtures.RulesPerItem, func(crd *definition) {
					list := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["foo"]
					list.MaxItems, list.Items.Schema.MaxLength = nil, nil
					with(list)(crd)
				})).To(suites.BeInvalidAt(at + ".properties[foo].items.x-kubernetes-validations[0].rule"))
			})

		env.It(requirement.ValidationCostFlatList,
			"submits the documents' rule on a flat list of integers, and one that goes through the list for each of them", func(ctx SpecContext) {
				const id = requirement.ValidationCostFlatList
				Expect(env.Submit(ctx, id, fixtures.RulesFlatList)).To(Succeed())
				Expect(env.Submit(ctx, id, fixtures.RulesFlatList, func(crd *definition) {
					list := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["foo"]
					list.XValidations[0].Rule = "self.all(x, x in self)"
					with(list)(crd)
				})).To(suites.BeInvalidAt(rule), "a costly rule on the same list")
			})

		env.It(requirement.ValidationCostNestedList,
			"submits the documents' rule on lists in a list", func(ctx SpecContext) {
				const id = requirement.ValidationCostNestedList
				env.Require(env.Submit(ctx, id, fixtures.RulesFlatList), "submitting the rule on a flat list")
				Expect(submit(ctx, id, fixtures.CostNested)).To(suites.BeInvalidAt(at + ".properties[foo].items.x-kubernetes-validations[0].rule"))
			})

		env.It(requirement.ValidationCostTotal,
			"submits one costly rule, and thirty of them", func(ctx SpecContext) {
				const id = requirement.ValidationCostTotal
				env.Require(env.Submit(ctx, id, fixtures.Stable, with(quadratic())), "submitting one of the rules")
				Expect(env.Submit(ctx, id, fixtures.Stable, func(crd *definition) {
					for n := range 30 {
						crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[fmt.Sprint("list", n)] = quadratic()
					}
				})).To(suites.BeInvalidAt(at))
			})

		env.With(fixtures.Stable, with(quadratic())).It(requirement.ValidationCostRunTime,
			"creates objects for which a costly rule takes little and much", func(ctx SpecContext, crd *suites.Resource) {
				list := func(n int) string { return "foo: [" + strings.TrimSuffix(strings.Repeat("1, ", n), ", ") + "]" }
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("short", list(10)))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("long", list(longest)))).Error().To(And(
					suites.BeInvalidAt("foo"), MatchError(ContainSubstring("cost"))))
			})
	})
}
