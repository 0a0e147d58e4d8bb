package defaulting

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// everywhere has defaults in all places that a schema has.
func everywhere(crd *definition) {
	inner := properties{Type: "object", Properties: map[string]properties{"name": text("inner"), "other": {Type: "string"}}}
	for name, property := range map[string]properties{
		"boolean":  defaulted(properties{Type: "boolean"}, `true`),
		"integer":  defaulted(properties{Type: "integer"}, `1`),
		"string":   text("default"),
		"list":     defaulted(properties{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &properties{Type: "string"}}}, `["default"]`),
		"parent":   inner,
		"filled":   defaulted(inner, `{}`),
		"entries":  {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &inner}},
		"values":   {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &inner}},
		"required": {Type: "object", Required: []string{"name"}, Properties: map[string]properties{"name": text("inner")}},
	} {
		fixtures.WithProperty("v1", name, property)(crd)
	}
}

func requests(env *suites.Env) {
	const all = `{cronSpec: "5 0 * * *", image: my-awesome-cron-image, replicas: 1}`

	Describe("requests", func() {
		documented := env.With(fixtures.StableDefaulting).Together()

		documented.It(requirement.DefaultingRequestDocumented,
			"creates the documents' object, and reads it", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.Defaulted.At("v1"))).To(have("spec", all))
				Expect(crd.At("v1").Get(ctx, "my-new-cron-object")).To(have("spec", all))
			})

		documented.It(requirement.DefaultingRequestWrites,
			"puts, patches and applies objects without fields that have a default", func(ctx SpecContext, crd *suites.Resource) {
				const given = `{cronSpec: "* * * * */5", image: my-awesome-cron-image, replicas: 5}`
				reset := func() {
					object := crd.Get(ctx, "v1", "written")
					object.Object["spec"] = fixtures.Value(given)
					env.Require(suites.ErrorOf(crd.At("v1").Update(ctx, object)), "giving the object values again")
				}
				object := crd.Create(ctx, "v1", fixtures.CronTab("written", `spec: `+given))
				object.Object["spec"] = fixtures.Value(`{image: my-awesome-cron-image}`)
				Expect(crd.At("v1").Update(ctx, object)).To(have("spec", all))
				reset()
				Expect(crd.At("v1").MergePatch(ctx, "written", `{"spec": {"cronSpec": null, "replicas": null}}`)).To(have("spec", all))
				reset()
				Expect(crd.At("v1").JSONPatch(ctx, "written", `[{"op": "replace", "path": "/spec", "value": {"image": "my-awesome-cron-image"}}]`)).To(have("spec", all))
				Expect(crd.At("v1").Apply(ctx, fixtures.CronTab("applied", `spec: {image: my-awesome-cron-image}`), "crdconform")).To(have("spec", all))
			})

		env.With(fixtures.StableDefaulting).It(requirement.DefaultingRequestNotChanged,
			"creates an object with a default, and changes the default", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("before", `spec: {}`))
				crd.Change(ctx, func(crd *definition) {
					spec := fixtures.Version(crd, "v1").Schema.OpenAPIV3Schema.Properties["spec"]
					spec.Properties["replicas"] = defaulted(spec.Properties["replicas"], `7`)
				})
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("after", `spec: {}`))).To(have("spec", `{cronSpec: "5 0 * * *", replicas: 7}`))
				Expect(crd.At("v1").Get(ctx, "before")).To(have("spec", `{cronSpec: "5 0 * * *", replicas: 1}`))
			})

		placed := env.With(fixtures.Stable, everywhere).Together()

		placed.It(requirement.DefaultingRequestKept,
			"creates objects with empty values where there are defaults, and without values", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("not-kept", `{}`))).To(And(
					have("boolean", `true`), have("integer", `1`), have("string", `default`), have("list", `[default]`)), "the defaults are for missing fields")
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("kept", `{boolean: false, integer: 0, string: "", list: []}`))).To(And(
					have("boolean", `false`), have("integer", `0`), have("string", `""`), have("list", `[]`)))
			})

		placed.It(requirement.DefaultingRequestParents,
			"creates objects with and without the parent of a field that has a default", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("without", `{}`))).To(And(haveNo("parent"), have("filled", `{name: inner}`)))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("within", `parent: {}`))).To(have("parent", `{name: inner}`))
			})

		placed.It(requirement.DefaultingRequestItems,
			"creates an object with items and values that lack a field which has a default", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("items", `{entries: [{other: x}, {name: given}], values: {a: {}, b: {name: given}}}`))).To(And(
					have("entries", `[{name: inner, other: x}, {name: given}]`),
					have("values", `{a: {name: inner}, b: {name: given}}`)))
			})

		placed.It(requirement.DefaultingRequestBeforeValidation,
			"creates an object without a required field that has a default", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("required", `required: {}`))).To(have("required", `{name: inner}`))
			})
	})
}
