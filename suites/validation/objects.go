package validation

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// haveSpec matches an object with exactly this spec, in YAML.
func haveSpec(spec string) types.GomegaMatcher {
	return HaveField("Object", HaveKeyWithValue("spec", fixtures.Value(spec)))
}

// atMost sets the maximum of the documents' replicas.
func atMost(replicas float64) func(crd *definition) {
	return func(crd *definition) {
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		changed := spec.Properties["replicas"]
		changed.Maximum = &replicas
		spec.Properties["replicas"] = changed
	}
}

// listed gives a definition a set and an atomic list of strings.
func listed(item properties) func(crd *definition) {
	set := "set"
	return func(crd *definition) {
		all := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		all["set"] = properties{Type: "array", XListType: &set, Items: items(item)}
		all["atomic"] = properties{Type: "array", Items: items(item)}
	}
}

// keyed gives a definition a list of type map and a map, with these values.
func keyed(value properties) func(crd *definition) {
	byName := "map"
	return func(crd *definition) {
		item := object(map[string]properties{"name": text(), "value": value})
		item.Required = []string{"name"}
		all := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		all["list"] = properties{Type: "array", XListType: &byName, XListMapKeys: []string{"name"}, Items: items(item)}
		all["map"] = properties{Type: "object", AdditionalProperties: values(value)}
	}
}

// demanding gives a definition an object with required fields, and a list with a limit.
func demanding(required []string, most *int64) func(crd *definition) {
	return func(crd *definition) {
		foo := object(map[string]properties{"a": text(), "b": text()})
		foo.Required = required
		all := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		all["foo"] = foo
		all["list"] = properties{Type: "array", MaxItems: most, Items: items(text())}
	}
}

func objects(env *suites.Env) {
	Describe("objects", func() {
		documented := env.With(fixtures.StableValidation).Together()

		documented.It(requirement.ValidationFieldsDocumentedInvalid,
			"creates the documents' object with two invalid fields", func(ctx SpecContext, crd *suites.Resource) {
				object := fixtures.Invalid.At("v1")
				object.SetName("invalid")
				Expect(crd.At("v1").Create(ctx, object)).Error().To(suites.BeInvalidAt("spec.cronSpec", "spec.replicas"))
			})

		documented.It(requirement.ValidationFieldsDocumentedValid,
			"creates the documents' object with valid fields, and with one that is not", func(ctx SpecContext, crd *suites.Resource) {
				object := fixtures.Valid.At("v1")
				object.SetName("valid")
				wrong := object.DeepCopy()
				wrong.SetName("nearly-valid")
				env.Require(unstructured.SetNestedField(wrong.Object, int64(15), "spec", "replicas"), "setting the replicas")
				Expect(crd.At("v1").Create(ctx, wrong)).Error().To(suites.BeInvalidAt("spec.replicas"))
				Expect(crd.At("v1").Create(ctx, object)).To(haveSpec(`{cronSpec: "* * * * */5", image: my-awesome-cron-image, replicas: 5}`))
			})

		documented.It(requirement.ValidationFieldsBounds,
			"creates objects with 0, 1, 10 and 11 replicas", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("lowest", `spec: {replicas: 1}`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("highest", `spec: {replicas: 10}`))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("too-low", `spec: {replicas: 0}`))).Error().To(suites.BeInvalidAt("spec.replicas"))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("too-high", `spec: {replicas: 11}`))).Error().To(suites.BeInvalidAt("spec.replicas"))
			})

		documented.It(requirement.ValidationFieldsUpdate,
			"puts, patches and applies invalid fields", func(ctx SpecContext, crd *suites.Resource) {
				object := crd.Create(ctx, "v1", fixtures.CronTab("updated", `spec: {replicas: 5}`))
				object.Object["spec"] = fixtures.Value(`{replicas: 15}`)
				invalid := suites.BeInvalidAt("spec.replicas")
				Expect(crd.At("v1").Update(ctx, object)).Error().To(invalid)
				Expect(crd.At("v1").MergePatch(ctx, "updated", `{"spec": {"replicas": 15}}`)).Error().To(invalid)
				Expect(crd.At("v1").JSONPatch(ctx, "updated", `[{"op": "replace", "path": "/spec/replicas", "value": 15}]`)).Error().To(invalid)
				Expect(crd.At("v1").Apply(ctx, fixtures.CronTab("updated", `spec: {replicas: 15}`), "crdconform")).Error().To(invalid)
			})

		documented.It(requirement.ValidationFieldsRefusedUpdateChangesNothing,
			"reads an object after an update was refused", func(ctx SpecContext, crd *suites.Resource) {
				before := crd.Create(ctx, "v1", fixtures.CronTab("unchanged", `spec: {replicas: 5}`))
				Expect(crd.At("v1").MergePatch(ctx, "unchanged", `{"spec": {"replicas": 15, "image": "other"}}`)).Error().To(suites.BeInvalidAt("spec.replicas"))
				Expect(crd.At("v1").Get(ctx, "unchanged")).To(Equal(before))
			})

		tightened := func(id requirement.ID, text string, body func(ctx SpecContext, crd *suites.Resource)) {
			env.With(fixtures.StableValidation).It(id, text, func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("old", `spec: {replicas: 5}`))
				crd.Change(ctx, atMost(3))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("new", `spec: {replicas: 5}`))).Error().To(suites.BeInvalidAt("spec.replicas"), "the schema allows less now")
				body(ctx, crd)
			})
		}
		tightened(requirement.ValidationFieldsTightened,
			"reads an object after its schema became stricter", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Get(ctx, "old")).To(haveSpec(`{replicas: 5}`))
				Expect(crd.At("v1").List(ctx)).To(HaveLen(1))
			})
		tightened(requirement.ValidationFieldsRatcheting,
			"updates the valid part of an object after its schema became stricter", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").MergePatch(ctx, "old", `{"spec": {"image": "other"}}`)).To(haveSpec(`{replicas: 5, image: other}`))
			})
		tightened(requirement.ValidationFieldsRatchetingChanged,
			"updates the invalid part of an object after its schema became stricter", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").MergePatch(ctx, "old", `{"spec": {"replicas": 4}}`)).Error().To(suites.BeInvalidAt("spec.replicas"))
				Expect(crd.At("v1").MergePatch(ctx, "old", `{"spec": {"replicas": 3}}`)).To(haveSpec(`{replicas: 3}`))
			})

		env.With(fixtures.Stable, listed(text())).It(requirement.ValidationFieldsRatchetingLists,
			"adds a valid item to lists with one that the schema now forbids, and removes that", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("lists", `{set: [old], atomic: [old]}`))
				crd.Change(ctx, listed(properties{Type: "string", Pattern: "^new"}))
				for _, list := range []string{"set", "atomic"} {
					Expect(crd.At("v1").MergePatch(ctx, "lists", `{"`+list+`": ["old", "newer"]}`)).Error().To(suites.BeInvalidAt(list + "[0]"))
				}
				Expect(crd.At("v1").MergePatch(ctx, "lists", `{"set": ["newer"], "atomic": ["newer"]}`)).Error().NotTo(HaveOccurred())
			})

		env.With(fixtures.Stable, keyed(text())).It(requirement.ValidationFieldsRatchetingKeys,
			"adds to a map and to a list of type map that have what the schema now forbids", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("keys", `{list: [{name: a, value: old}], map: {a: old}}`))
				crd.Change(ctx, keyed(properties{Type: "string", Pattern: "^new"}))
				patch := func(patch string) error { return suites.ErrorOf(crd.At("v1").MergePatch(ctx, "keys", patch)) }
				Expect(patch(`{"list": [{"name": "b", "value": "new"}, {"name": "a", "value": "old"}]}`)).To(Succeed(), "the item with the key of before is as it was")
				Expect(patch(`{"map": {"b": "new"}}`)).To(Succeed(), "the value with the key of before is as it was")
				Expect(patch(`{"list": [{"name": "b", "value": "new"}, {"name": "a", "value": "older"}]}`)).To(suites.BeInvalidAt("list[1].value"), "a change to what is forbidden")
				Expect(patch(`{"list": [{"name": "c", "value": "old"}, {"name": "a", "value": "old"}]}`)).To(suites.BeInvalidAt("list[0].value"), "another key")
				Expect(patch(`{"map": {"a": "older"}}`)).To(suites.BeInvalidAt("map.a"), "a change to what is forbidden")
				Expect(patch(`{"map": {"c": "old"}}`)).To(suites.BeInvalidAt("map.c"), "another key")
			})

		env.With(fixtures.Stable, demanding(nil, nil)).It(requirement.ValidationFieldsRatchetingWhole,
			"updates what a required field is missing from, a list with too many items, and what is beside them", func(ctx SpecContext, crd *suites.Resource) {
				most := int64(1)
				crd.Create(ctx, "v1", fixtures.CronTab("whole", `{foo: {a: old}, list: [a, b]}`))
				crd.Change(ctx, demanding([]string{"b"}, &most))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("forbidden", `{foo: {a: old}, list: [a, b]}`))).Error().To(suites.BeInvalidAt("foo.b", "list"), "the schema forbids it now")
				patch := func(patch string) error { return suites.ErrorOf(crd.At("v1").MergePatch(ctx, "whole", patch)) }
				Expect(patch(`{"spec": {"image": "whole"}}`)).To(Succeed(), "both are as they were")
				Expect(patch(`{"foo": {"a": "other"}}`)).To(suites.BeInvalidAt("foo.b"), "another field of the object changes")
				Expect(patch(`{"list": ["a", "c"]}`)).To(suites.BeInvalidAt("list"), "an item changes, and there are as many")
				Expect(patch(`{"foo": {"b": "new"}, "list": ["a"]}`)).To(Succeed(), "both are corrected")
			})

		env.With(fixtures.StableSubresources).It(requirement.ValidationFieldsRatchetingStatus,
			"updates a status of which the schema now forbids a field", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("status", `spec: {replicas: 1}`))
				patch := func(patch string) error {
					return suites.ErrorOf(crd.At("v1").MergePatch(ctx, "status", patch, "status"))
				}
				env.Require(patch(`{"status": {"replicas": 5}}`), "writing a status")
				crd.Change(ctx, func(crd *definition) {
					most, status := 3.0, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
					status.Properties["replicas"] = properties{Type: "integer", Maximum: &most}
				})
				Expect(patch(`{"status": {"replicas": 4}}`)).To(suites.BeInvalidAt("status.replicas"), "a change to what is forbidden")
				Expect(patch(`{"status": {"labelSelector": "ratcheted"}}`)).To(Succeed(), "the field is as it was")
			})

		env.With(fixtures.Stable, with(text())).It(requirement.ValidationRulesRatcheting,
			"updates an object with a field that a rule now forbids", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("ratcheted", `foo: old`))
				crd.Change(ctx, with(ruled(text(), "self == 'new'")))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("forbidden", `foo: old`))).Error().To(suites.BeInvalidAt("foo"), "the rule forbids it now")
				Expect(crd.At("v1").MergePatch(ctx, "ratcheted", `{"spec": {"image": "ratcheted"}}`)).To(haveSpec(`{image: ratcheted}`))
				Expect(crd.At("v1").MergePatch(ctx, "ratcheted", `{"foo": "older"}`)).Error().To(suites.BeInvalidAt("foo"))
			})
	})
}
