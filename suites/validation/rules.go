package validation

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

		messages(env)
		metadata(env)
	})
}

// messages are the specs of what a rule says of its errors.
func messages(env *suites.Env) {
	setup := env.With(fixtures.Stable, func(crd *definition) {
		forbidden := apiextensionsv1.FieldValueForbidden
		expressed, reasoned, named := ruled(properties{Type: "string", MaxLength: new(int64(20))}, "self == 'kept'"), ruled(integer(), "self < 10", "self < 20"), ruled(object(map[string]properties{"inner": integer()}), "self.inner < 10")
		expressed.XValidations[0].Message = "it is silent"
		expressed.XValidations[0].MessageExpression = "self == 'silent' ? '' : 'it is ' + self + ', not kept'"
		reasoned.XValidations[0].Reason = &forbidden
		named.XValidations[0].FieldPath = ".inner"
		maps.Copy(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties, map[string]properties{"expressed": expressed, "reasoned": reasoned, "named": named})
	}).Together()
	alone := func(name string) suites.Setup {
		return setup.Apart(func(crd *definition) {
			maps.DeleteFunc(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties, func(other string, _ properties) bool { return other != name })
		})
	}

	alone("expressed").It(requirement.ValidationRulesMessageExpression,
		"reads the errors of a rule with a message expression that results in a text, and in none", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("expressed", `expressed: broken`))).Error().To(And(
				suites.BeInvalidAt("expressed"), MatchError(ContainSubstring("it is broken, not kept")), MatchError(Not(ContainSubstring("it is silent")))))
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("expressed", `expressed: silent`))).Error().To(And(
				suites.BeInvalidAt("expressed"), MatchError(ContainSubstring("it is silent"))))
		})

	alone("reasoned").It(requirement.ValidationRulesReason,
		"reads the error of an object that breaks a rule with a reason and one without", func(ctx SpecContext, crd *suites.Resource) {
			_, err := crd.At("v1").Create(ctx, fixtures.CronTab("reasoned", `reasoned: 20`))
			Expect(err).To(suites.BeInvalidAt("reasoned"))
			status, ok := err.(apierrors.APIStatus)
			Expect(ok).To(BeTrue(), "it must be the error of an API server")
			Expect(status.Status().Details.Causes).To(ConsistOf(
				HaveField("Type", metav1.CauseTypeFieldValueInvalid), HaveField("Type", metav1.CauseType(apiextensionsv1.FieldValueForbidden))))
		})

	alone("named").It(requirement.ValidationRulesFieldPath,
		"reads the error of a rule with a field path", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("named", `named: {inner: 10}`))).Error().To(suites.BeInvalidAt("named.inner"))
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
