package schema

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func embedded(env *suites.Env) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: my-pod, labels: {app: cron}}, spec: {nodeName: node-1, containers: [{name: cron}]}}`

	Describe("embedded objects", func() {
		env.Refuses(requirement.SchemaEmbeddedType, "submits an embedded object without a type",
			fixtures.RawExtension, func(crd *definition) {
				untyped := preserved()
				untyped.Type, untyped.XEmbeddedResource = "", true
				with(untyped)(crd)
			}, at+".properties[foo].type")

		env.Refuses(requirement.SchemaEmbeddedNothingSpecified, "submits an embedded object without properties",
			fixtures.RawExtension, with(properties{Type: "object", XEmbeddedResource: true}), at+".properties[foo].properties")

		objects := env.With(fixtures.Stable, fixtures.WithSchema(fixtures.Embedded)).Together()

		objects.It(requirement.SchemaEmbeddedWhole,
			"creates an object that holds a pod", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("whole", `foo: `+pod))).To(HaveField("Object", HaveKeyWithValue("foo", fixtures.Value(pod))))
			})

		objects.It(requirement.SchemaEmbeddedSpecified,
			"creates an object that holds a pod where its spec is specified in part", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("specified", `specified: `+pod))).To(HaveField("Object", HaveKeyWithValue("specified",
					fixtures.Value(`{apiVersion: v1, kind: Pod, metadata: {name: my-pod, labels: {app: cron}}, spec: {nodeName: node-1}}`))))
			})

		objects.It(requirement.SchemaEmbeddedTypeMeta,
			"creates objects that hold one with and without an apiVersion and a kind", func(ctx SpecContext, crd *suites.Resource) {
				create := func(foo string) error {
					return suites.ErrorOf(crd.At("v1").Create(ctx, fixtures.CronTab("type-meta", `foo: `+foo)))
				}
				Expect(create(`{kind: Pod}`)).To(suites.BeInvalidAt("foo.apiVersion"))
				Expect(create(`{apiVersion: v1}`)).To(suites.BeInvalidAt("foo.kind"))
				Expect(create(`{apiVersion: a/b/c, kind: Pod}`)).To(suites.BeInvalidAt("foo.apiVersion"))
				Expect(create(`{apiVersion: v1, kind: not/a/kind}`)).To(suites.BeInvalidAt("foo.kind"))
				Expect(create(`{apiVersion: v1, kind: Pod}`)).To(Succeed())
			})

		objects.It(requirement.SchemaEmbeddedMetadata,
			"creates objects that contain one with all kinds of metadata", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("metadata-name", `foo: {apiVersion: v1, kind: Pod, metadata: {name: not/a/name}}`))).
					Error().To(suites.BeInvalidAt("foo.metadata.name"))
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("metadata-unknown", `foo: {apiVersion: v1, kind: Pod, metadata: {name: my-pod, unknown: x}}`))).
					To(HaveField("Object", HaveKeyWithValue("foo", fixtures.Value(`{apiVersion: v1, kind: Pod, metadata: {name: my-pod}}`))))
			})
	})
}
