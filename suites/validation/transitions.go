package validation

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// transition is a rule on updates, by an object of its own and two patches for it.
type transition struct {
	id      requirement.ID
	name    string // of the object
	before  string // its fields, in YAML
	refused string // a merge patch that breaks the rule
	allowed string // one that keeps it
	at      string // where the first is refused
}

func transitions(env *suites.Env) {
	Describe("transition rules", func() {
		setup := env.With(fixtures.Stable, fixtures.WithSchema(fixtures.Transitions)).Together()
		for _, t := range []transition{
			{requirement.ValidationTransitionParent, "parent", `parent: {}`, `{"parent": {"child": "added"}}`, `{"level": "low"}`, "parent"},
			{
				requirement.ValidationTransitionListMap, "list-map", `entries: [{name: a, value: 1}, {name: b, value: 2}]`, `{"entries": [{"name": "b", "value": 1}, {"name": "a", "value": 1}]}`,
				`{"entries": [{"name": "c", "value": 3}, {"name": "b", "value": 2}, {"name": "a", "value": 1}]}`, "entries[0].value",
			},
			{requirement.ValidationTransitionImmutable, "immutable", `immutable: {foo: a}`, `{"immutable": {"foo": "b"}}`, `{"level": "low"}`, "immutable"},
			{requirement.ValidationTransitionAssigned, "assigned", `assigned: bar`, `{"assigned": "foo"}`, `{"level": "low"}`, "assigned"},
			{requirement.ValidationTransitionAssignedField, "assigned-field", `assignedField: {field: a}`, `{"assignedField": {"field": null}}`, `{"assignedField": {"field": "b"}}`, "assignedField"},
			{requirement.ValidationTransitionSet, "set", `set: [a, b]`, `{"set": ["a", "b", "c"]}`, `{"set": ["b"]}`, "set"},
			{requirement.ValidationTransitionNext, "next", `next: X`, `{"next": "Y"}`, `{"next": "B"}`, "next"},
			{requirement.ValidationTransitionCounter, "counter", `counter: 5`, `{"counter": 4}`, `{"counter": 6}`, "counter"},
		} {
			setup.It(t.id, "updates an object in a way that breaks a rule, and in one that keeps it", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab(t.name, t.before))
				Expect(crd.At("v1").MergePatch(ctx, t.name, t.refused)).Error().To(suites.BeInvalidAt(t.at))
				Expect(crd.At("v1").MergePatch(ctx, t.name, t.allowed)).Error().NotTo(HaveOccurred())
			})
		}

		setup.It(requirement.ValidationTransitionOldSelf,
			"takes the documents' level from low to high, at once and in two steps", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("level", `level: low`))
				Expect(crd.At("v1").MergePatch(ctx, "level", `{"level": "high"}`)).Error().To(And(
					suites.BeInvalidAt("level"), MatchError(ContainSubstring("cannot transition directly between 'low' and 'high'"))))
				Expect(crd.At("v1").MergePatch(ctx, "level", `{"level": "medium"}`)).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").MergePatch(ctx, "level", `{"level": "high"}`)).Error().NotTo(HaveOccurred())
			})

		setup.It(requirement.ValidationTransitionNeverOnCreate,
			"creates an object where no update is allowed, and updates it", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("frozen", `frozen: 1`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").MergePatch(ctx, "frozen", `{"frozen": 2}`)).Error().To(suites.BeInvalidAt("frozen"))
			})

		setup.It(requirement.ValidationTransitionSetOrUnset,
			"takes the documents' level from low to high, to nothing and to high", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("unset", `level: low`))
				Expect(crd.At("v1").MergePatch(ctx, "unset", `{"level": "high"}`)).Error().To(suites.BeInvalidAt("level"), "the rule must apply where it is set before and after")
				Expect(crd.At("v1").MergePatch(ctx, "unset", `{"level": null}`)).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").MergePatch(ctx, "unset", `{"level": "high"}`)).To(HaveField("Object", HaveKeyWithValue("level", "high")))
			})

		env.It(requirement.ValidationTransitionSetRefused,
			"submits transition rules below lists of every type", func(ctx SpecContext) {
				limit := int64(8)
				submit := func(list properties) error {
					list.Type, list.MaxItems = "array", &limit
					return env.Submit(ctx, requirement.ValidationTransitionSetRefused, fixtures.Stable, with(list))
				}
				byName := items(object(map[string]properties{"name": {Type: "string"}, "value": ruled(integer(), "self >= oldSelf")}))
				byName.Schema.Required = []string{"name"}
				set, atomic, listMap := "set", "atomic", "map"
				env.Require(submit(properties{XListType: &listMap, XListMapKeys: []string{"name"}, Items: byName}), "submitting a transition rule below a list of type map")
				refused := suites.BeInvalidAt(at + ".properties[foo].items.x-kubernetes-validations[0].rule")
				Expect(submit(properties{XListType: &set, Items: items(ruled(integer(), "self >= oldSelf"))})).To(refused, "a set")
				Expect(submit(properties{XListType: &atomic, Items: items(ruled(integer(), "self >= oldSelf"))})).To(refused, "an atomic list")
				Expect(submit(properties{Items: items(ruled(integer(), "self >= oldSelf"))})).To(refused, "a list without a type")
			})

		env.It(requirement.ValidationTransitionNestedLists,
			"submits transition rules below lists in lists of type map and of no type", func(ctx SpecContext) {
				limit, listMap := int64(8), "map"
				// list is a list of objects with a name and something else.
				list := func(listType *string, value properties) properties {
					list := properties{Type: "array", MaxItems: &limit, Items: items(object(map[string]properties{"name": {Type: "string"}, "value": value}))}
					list.Items.Schema.Required = []string{"name"}
					if list.XListType = listType; listType != nil {
						list.XListMapKeys = []string{"name"}
					}
					return list
				}
				submit := func(outer, inner *string) error {
					return env.Submit(ctx, requirement.ValidationTransitionNestedLists, fixtures.Stable, with(list(outer, list(inner, ruled(integer(), "self >= oldSelf")))))
				}
				const deep = at + ".properties[foo].items.properties[value].items.properties[value].x-kubernetes-validations[0].rule"
				Expect(submit(&listMap, &listMap)).To(Succeed(), "where both are of type map")
				Expect(submit(nil, &listMap)).To(suites.BeInvalidAt(deep), "where the outer one is of no type")
				Expect(submit(&listMap, nil)).To(suites.BeInvalidAt(deep), "where the inner one is of no type")
			})

		env.With(fixtures.Stable, with(ruled(text(), "self != oldSelf"))).It(requirement.ValidationTransitionNotRatcheted,
			"updates an object with and without the field that has to change each time", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("restless", `foo: a`))
				Expect(crd.At("v1").MergePatch(ctx, "restless", `{"spec": {"image": "restless"}}`)).Error().To(suites.BeInvalidAt("foo"))
				Expect(crd.At("v1").MergePatch(ctx, "restless", `{"spec": {"image": "restless"}, "foo": "b"}`)).To(haveSpec(`{image: restless}`))
			})

		env.With(fixtures.Stable, func(crd *definition) {
			optional := true
			foo := ruled(text(), "oldSelf.hasValue() ? self != 'first' : self == 'first'")
			foo.XValidations[0].OptionalOldSelf = &optional
			with(foo)(crd)
		}).It(requirement.ValidationTransitionOptionalOldSelf,
			"creates and updates objects with what a rule allows and forbids in each case", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("optional-second", `foo: second`))).Error().To(suites.BeInvalidAt("foo"))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("optional", `foo: first`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").MergePatch(ctx, "optional", `{"foo": "second"}`)).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").MergePatch(ctx, "optional", `{"foo": "first"}`)).Error().To(suites.BeInvalidAt("foo"))
			})
	})
}
