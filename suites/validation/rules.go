package validation

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func rules(env *suites.Env) {
	Describe("rules", func() {
		documented := env.With(fixtures.Rules).Together()

		documented.It(requirement.ValidationRulesDocumented,
			"creates the documents' object, and one with its replicas in range", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("in-range", `spec: {minReplicas: 0, replicas: 5, maxReplicas: 10}`))).Error().NotTo(HaveOccurred())
				object := fixtures.ReplicasOutOfRange.At("v1")
				object.SetName("out-of-range")
				Expect(crd.At("v1").Create(ctx, object)).Error().To(suites.BeInvalidAt("spec"))
			})

		documented.It(requirement.ValidationRulesMessage,
			"reads the error of a rule that has a message", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("message", `spec: {minReplicas: 0, replicas: 20, maxReplicas: 10}`))).
					Error().To(MatchError(ContainSubstring("replicas should be smaller than or equal to maxReplicas.")))
			})

		documented.It(requirement.ValidationRulesSeveral,
			"creates an object that breaks two rules", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("several", `spec: {minReplicas: 30, replicas: 20, maxReplicas: 10}`))).Error().To(And(
					MatchError(ContainSubstring("replicas should be greater than or equal to minReplicas.")),
					MatchError(ContainSubstring("replicas should be smaller than or equal to maxReplicas."))))
			})

		env.With(fixtures.Rules, func(crd *definition) {
			for i := range 2 {
				crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].XValidations[i].Message = ""
			}
		}).It(requirement.ValidationRulesDefaultMessage,
			"reads the error of a rule that has no message", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("default-message", `spec: {minReplicas: 0, replicas: 20, maxReplicas: 10}`))).
					Error().To(MatchError(ContainSubstring("failed rule: self.replicas <= self.maxReplicas")))
			})

		metadata(env)
	})
}

// metadata are the specs of what rules may use of metadata.
func metadata(env *suites.Env) {
	accessible := func(crd *definition) {
		const name, generated = "self.metadata.name != 'forbidden'", "!has(self.metadata.generateName) || self.metadata.generateName != 'forbidden-'"
		preserve := true
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		*schema = ruled(*schema, "self.apiVersion.endsWith('/v1') && self.kind == 'CronTab'", name, generated)
		schema.Properties["foo"] = ruled(properties{Type: "object", XEmbeddedResource: true, XPreserveUnknownFields: &preserve},
			"self.apiVersion == 'v1' && self.kind == 'Pod'", name, generated)
	}
	env.With(fixtures.Stable, accessible).It(requirement.ValidationRulesMetadataAccessible,
		"creates objects with apiVersions, kinds, names and generated names that rules allow and forbid", func(ctx SpecContext, crd *suites.Resource) {
			create := func(name, fields string) error {
				return suites.ErrorOf(crd.At("v1").Create(ctx, fixtures.CronTab(name, fields)))
			}
			const allowed = `{apiVersion: v1, kind: Pod, metadata: {name: allowed, generateName: allowed-}}`
			Expect(create("metadata-allowed", `{metadata: {generateName: allowed-}, foo: `+allowed+`}`)).To(Succeed())
			Expect(create("forbidden", `{foo: `+allowed+`}`)).To(MatchError(ContainSubstring("metadata.name")))
			Expect(create("metadata-generated", `{metadata: {generateName: forbidden-}, foo: `+allowed+`}`)).To(MatchError(ContainSubstring("metadata.generateName")))
			Expect(create("metadata-embedded", `foo: {apiVersion: v1, kind: Node, metadata: {name: allowed}}`)).To(suites.BeInvalidAt("foo"))
			Expect(create("metadata-embedded", `foo: {apiVersion: v1, kind: Pod, metadata: {name: forbidden}}`)).To(suites.BeInvalidAt("foo"))
			Expect(create("metadata-embedded", `foo: {apiVersion: v1, kind: Pod, metadata: {generateName: forbidden-}}`)).To(suites.BeInvalidAt("foo"))
		})

	env.It(requirement.ValidationRulesOtherMetadata,
		"submits rules that use labels, annotations and the namespace", func(ctx SpecContext) {
			submit := func(field string) error {
				return env.Submit(ctx, requirement.ValidationRulesOtherMetadata, fixtures.Stable, func(crd *definition) {
					schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
					*schema = ruled(*schema, "!has(self.metadata."+field+")")
				})
			}
			env.Require(submit("generateName"), "submitting a rule that uses metadata.generateName")
			for _, field := range []string{"labels", "annotations", "namespace", "uid", "finalizers"} {
				Expect(submit(field)).To(MatchError(ContainSubstring("undefined field '"+field+"'")), field)
			}
		})
}
