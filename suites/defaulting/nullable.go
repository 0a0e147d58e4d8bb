package defaulting

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func nullable(env *suites.Env) {
	Describe("nulls", func() {
		documented := env.With(fixtures.Stable, fixtures.WithSchema(fixtures.Nullable)).Together()

		documented.It(requirement.DefaultingNullableDocumented,
			"creates the documents' object with three nulls", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("documented", `spec: {foo: null, bar: null, baz: null}`))).To(have("spec", `{foo: default, bar: null}`))
				Expect(crd.At("v1").Get(ctx, "documented")).To(have("spec", `{foo: default, bar: null}`))
			})

		documented.It(requirement.DefaultingNullableDefaulted,
			"creates, puts and patches a null where there is a default", func(ctx SpecContext, crd *suites.Resource) {
				filled := have("spec", `{foo: default}`)
				object, err := crd.At("v1").Create(ctx, fixtures.CronTab("defaulted", `spec: {foo: null}`))
				Expect(object, err).To(filled)
				object.Object["spec"] = fixtures.Value(`{foo: null}`)
				Expect(crd.At("v1").Update(ctx, object)).To(filled)
				Expect(crd.At("v1").JSONPatch(ctx, "defaulted", `[{"op": "replace", "path": "/spec/foo", "value": null}]`)).To(filled)
			})

		documented.It(requirement.DefaultingNullableRemoved,
			"creates and patches a null where there is no default", func(ctx SpecContext, crd *suites.Resource) {
				removed := have("spec", `{foo: given}`)
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("removed", `spec: {foo: given, baz: null}`))).To(removed)
				Expect(crd.At("v1").JSONPatch(ctx, "removed", `[{"op": "add", "path": "/spec/baz", "value": null}]`)).To(removed)
			})

		env.With(fixtures.Stable, func(crd *definition) {
			foo := text("default")
			foo.Nullable = true
			fixtures.WithProperty("v1", "foo", foo)(crd)
		}).It(requirement.DefaultingNullableKept,
			"creates an object with a null and one without a value where there is a default", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("null", `foo: null`))).To(have("foo", `null`))
				Expect(crd.At("v1").Get(ctx, "null")).To(have("foo", `null`))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("missing", `{}`))).To(have("foo", `default`))
			})
	})
}
