package schema

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// haveSpec matches an object with exactly this spec, in YAML.
func haveSpec(spec string) types.GomegaMatcher {
	return HaveField("Object", HaveKeyWithValue("spec", fixtures.Value(spec)))
}

// someRandomField makes a string of the documents' unknown field a known one.
func someRandomField(crd *definition) {
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["someRandomField"] = properties{Type: "string"}
}

func pruning(env *suites.Env) {
	const written, pruned = `{cronSpec: "* * * * */5", someRandomField: random}`, `{cronSpec: "* * * * */5"}`

	Describe("field pruning", func() {
		stable := env.With(fixtures.Stable).Together()

		stable.It(requirement.SchemaPruningDocumented,
			"creates the documents' object with an unknown field, and reads it", func(ctx SpecContext, crd *suites.Resource) {
				const kept = `{cronSpec: "* * * * */5", image: my-awesome-cron-image}`
				Expect(crd.At("v1").Create(ctx, fixtures.UnknownField.At("v1"))).To(haveSpec(kept))
				Expect(crd.At("v1").Get(ctx, "my-new-cron-object")).To(haveSpec(kept))
			})

		env.With(fixtures.Stable).It(requirement.SchemaPruningPersisted,
			"creates an object with an unknown field, and makes the field a known one", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("before", `spec: `+written))
				crd.Change(ctx, someRandomField)
				Expect(crd.At("v1").Get(ctx, "before")).To(haveSpec(pruned))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("after", `spec: `+written))).To(haveSpec(written), "now the field is known")
			})

		stable.It(requirement.SchemaPruningWrites,
			"puts and patches an unknown field", func(ctx SpecContext, crd *suites.Resource) {
				objects := crd.At("v1")
				object := crd.Create(ctx, "v1", fixtures.CronTab("written", `spec: `+pruned))
				object.Object["spec"] = fixtures.Value(written)
				Expect(objects.Update(ctx, object)).To(haveSpec(pruned))
				Expect(objects.MergePatch(ctx, "written", `{"spec": {"someRandomField": "random"}}`)).To(haveSpec(pruned))
				Expect(objects.JSONPatch(ctx, "written", `[{"op": "add", "path": "/spec/someRandomField", "value": "random"}]`)).To(haveSpec(pruned))
				Expect(objects.Get(ctx, "written")).To(haveSpec(pruned))
			})

		stable.It(requirement.SchemaPruningApplied,
			"applies objects with unknown fields, and without", func(ctx SpecContext, crd *suites.Resource) {
				apply := func(object *unstructured.Unstructured) error {
					return suites.ErrorOf(crd.At("v1").Apply(ctx, object, "crdconform"))
				}
				inMetadata := fixtures.CronTab("applied", `spec: `+pruned)
				env.Require(unstructured.SetNestedField(inMetadata.Object, "x", "metadata", "unknown"), "setting a field of the metadata")
				Expect(apply(fixtures.CronTab("applied", `spec: `+written))).To(MatchError(ContainSubstring(".spec.someRandomField: field not declared in schema")))
				Expect(apply(inMetadata)).To(MatchError(ContainSubstring(".metadata.unknown: field not declared in schema")))
				Expect(crd.At("v1").Get(ctx, "applied")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "it must not be there")
				Expect(apply(fixtures.CronTab("applied", `spec: `+pruned))).To(Succeed())
				Expect(apply(fixtures.CronTab("applied", `spec: {image: other, someRandomField: random}`))).To(MatchError(ContainSubstring(".spec.someRandomField: field not declared in schema")))
				Expect(crd.At("v1").Get(ctx, "applied")).To(haveSpec(pruned), "it must be as it was")
			})

		env.With(fixtures.StableSubresources).It(requirement.SchemaPruningStatus,
			"writes an unknown field of the status", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("status", `spec: {replicas: 1}`))
				Expect(crd.At("v1").MergePatch(ctx, "status", `{"status": {"replicas": 1, "someRandomField": 42}}`, "status")).
					To(HaveField("Object", HaveKeyWithValue("status", fixtures.Value(`{replicas: 1}`))))
			})

		forgotten := func(id requirement.ID, text string, body func(ctx SpecContext, crd *suites.Resource)) {
			env.With(fixtures.Stable, someRandomField).It(id, text, func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.CronTab("forgotten", `spec: `+written))
				crd.Change(ctx, func(crd *definition) {
					delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "someRandomField")
				})
				body(ctx, crd)
			})
		}
		forgotten(requirement.SchemaPruningRead,
			"gets and lists an object with a field that is no longer known", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Get(ctx, "forgotten")).To(haveSpec(pruned))
				Expect(crd.At("v1").List(ctx)).To(ConsistOf(HaveField("Object", HaveKeyWithValue("spec", fixtures.Value(pruned)))))
			})
		forgotten(requirement.SchemaPruningReadKeepsStorage,
			"makes a field unknown and known again", func(ctx SpecContext, crd *suites.Resource) {
				env.Require(suites.ErrorOf(crd.At("v1").Get(ctx, "forgotten")), "reading the object while the field is unknown")
				crd.Change(ctx, someRandomField)
				Expect(crd.At("v1").Get(ctx, "forgotten")).To(haveSpec(written))
			})

		env.Refuses(requirement.SchemaPruningFlagRejected, "submits a definition with preserveUnknownFields",
			fixtures.Stable, func(crd *definition) { crd.Spec.PreserveUnknownFields = true }, "spec.preserveUnknownFields")
	})
}

func controlling(env *suites.Env) {
	haveJSON := func(value string) types.GomegaMatcher {
		return HaveField("Object", HaveKeyWithValue("json", fixtures.Value(value)))
	}

	Describe("controlling pruning", func() {
		arbitrary := env.With(fixtures.Stable, fixtures.WithSchema(fixtures.JSON)).Together()

		arbitrary.It(requirement.SchemaPruningOptedOut,
			"writes every kind of value into a preserved field", func(ctx SpecContext, crd *suites.Resource) {
				for kind, value := range map[string]string{
					"object": `{status: {something: x, list: [{other: 1}]}}`, "list": `[1, {a: b}, [x]]`, "string": `text`, "integer": `42`, "number": `1.5`, "boolean": `false`,
					"empty": `{object: {}, list: [], text: "", zero: 0}`, "null": `{a: null, list: [null]}`,
				} {
					name := "any-" + kind
					Expect(crd.At("v1").Create(ctx, fixtures.CronTab(name, `json: `+value))).To(haveJSON(value))
					Expect(crd.At("v1").Get(ctx, name)).To(haveJSON(value))
					read := crd.Get(ctx, "v1", name)
					read.Object["json"] = fixtures.Value(`{before: ` + value + `}`)
					Expect(crd.At("v1").Update(ctx, read)).To(haveJSON(`{before: ` + value + `}`))
					Expect(crd.At("v1").MergePatch(ctx, name, `{"json": {"patched": {"other": [{"a": 1}]}}}`)).To(haveJSON(`{before: ` + value + `, patched: {other: [{a: 1}]}}`))
				}
			})

		arbitrary.It(requirement.SchemaPruningOptedOutSiblings,
			"creates an object with an unknown field beside a preserved one", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("sibling", `{json: {a: 1}, other: {a: 1}}`))).To(And(haveJSON(`{a: 1}`), HaveField("Object", Not(HaveKey("other")))))
			})

		env.With(fixtures.Stable, fixtures.WithSchema(fixtures.JSONObject)).It(requirement.SchemaPruningOptedOutObjects,
			"creates objects with an object and with other values in a preserved field of type object", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("typed-object", `json: {a: {b: 1}}`))).To(haveJSON(`{a: {b: 1}}`))
				for _, value := range []string{`[1]`, `text`, `42`, `false`} {
					Expect(crd.At("v1").Create(ctx, fixtures.CronTab("typed-other", `json: `+value))).Error().To(suites.BeInvalidAt("json"), value)
				}
			})

		specified := env.With(fixtures.Stable, fixtures.WithSchema(fixtures.JSONSpecified)).Together()

		specified.It(requirement.SchemaPruningSpecifiedProperties,
			"creates the documents' value", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("specified", `json: {spec: {foo: abc, bar: def, something: x}, status: {something: x}}`))).
					To(haveJSON(`{spec: {foo: abc, bar: def}, status: {something: x}}`))
			})

		specified.It(requirement.SchemaPruningSpecifiedAdditionalProperties,
			"creates such a value under various names, and one that is not specified", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("additional", `{additional: {spec: {foo: abc, bar: def, something: x}, status: {something: x}}, json: {status: {something: x}}}`))).
					To(And(HaveField("Object", HaveKeyWithValue("additional", fixtures.Value(`{spec: {foo: abc, bar: def}, status: {}}`))), haveJSON(`{status: {something: x}}`)))
			})
	})
}

// preserved is a field of which nothing is pruned.
func preserved() apiextensionsv1.JSONSchemaProps {
	preserve := true
	return properties{Type: "object", XPreserveUnknownFields: &preserve}
}
