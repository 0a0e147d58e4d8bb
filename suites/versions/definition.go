package versions

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

type definitionType = apiextensionsv1.CustomResourceDefinition

func definition(env *suites.Env) {
	Describe("definition", func() {
		env.Refuses(requirement.VersionsDefinitionNoStorageVersion,
			"submits a definition without a storage version", fixtures.None,
			func(crd *definitionType) { fixtures.Version(crd, "v1beta1").Storage = false }, "spec.versions")

		env.Refuses(requirement.VersionsDefinitionTwoStorageVersions,
			"submits a definition with two storage versions", fixtures.None,
			func(crd *definitionType) { fixtures.Version(crd, "v1").Storage = true }, "spec.versions")

		env.Refuses(requirement.VersionsDefinitionName,
			"submits a definition named after another group", fixtures.None,
			func(crd *definitionType) { crd.Name = "crontabs.other.example.com" }, "metadata.name")

		env.Refuses(requirement.VersionsDefinitionDuplicateVersion,
			"submits a definition with v1 twice", fixtures.None,
			func(crd *definitionType) {
				crd.Spec.Versions = append(crd.Spec.Versions, *fixtures.Version(crd, "v1"))
			}, "spec.versions")

		env.Refuses(requirement.VersionsDefinitionVersionLabel,
			"submits a definition with a version named V1.0", fixtures.None,
			func(crd *definitionType) { fixtures.Version(crd, "v1").Name = "V1.0" }, "spec.versions[1].name")

		env.Refuses(requirement.VersionsDefinitionGroupDot,
			"submits a definition in the group example", fixtures.None,
			fixtures.InGroup("example"), "spec.group")

		env.It(requirement.VersionsDefinitionProtectedGroup,
			"submits definitions in groups under k8s.io and kubernetes.io, without the annotation and with it", func(ctx SpecContext) {
				const annotation = "api-approved.kubernetes.io"
				approved := func(crd *definitionType) {
					crd.Annotations = map[string]string{annotation: "https://github.com/kubernetes/kubernetes/pull/78458"}
				}
				for _, group := range []string{"crdconform.k8s.io", "crdconform.kubernetes.io"} {
					inGroup := fixtures.InGroup(group)
					Expect(env.Submit(ctx, requirement.VersionsDefinitionProtectedGroup, fixtures.None, inGroup)).
						To(suites.BeInvalidAt("metadata.annotations["+annotation+"]"), group)
					Expect(env.Submit(ctx, requirement.VersionsDefinitionProtectedGroup, fixtures.None, inGroup, approved)).To(Succeed(), group)
				}
			})

		env.Refuses(requirement.VersionsDefinitionScopeRequired,
			"submits a definition without a scope", fixtures.None,
			func(crd *definitionType) { crd.Spec.Scope = "" }, "spec.scope")

		env.Refuses(requirement.VersionsDefinitionSchemaRequired,
			"submits a definition with a version that has no schema", fixtures.None,
			func(crd *definitionType) { fixtures.Version(crd, "v1").Schema = nil }, "spec.versions[1].schema.openAPIV3Schema")

		env.With(fixtures.Webhook).It(requirement.VersionsDefinitionSchemaPerVersion,
			"creates an object with values that one version takes and the other does not", func(ctx SpecContext, crd *suites.Resource) {
				invalid := fixtures.LocalCronTab.At("v1beta1")
				invalid.Object["host"], invalid.Object["hostPort"] = int64(5), "localhost:1234"
				Expect(crd.At("v1beta1").Create(ctx, invalid)).Error().NotTo(HaveOccurred(), "v1beta1 knows no host")
				invalid.SetName("remote-crontab")
				Expect(crd.At("v1").Create(ctx, invalid)).Error().To(suites.BeInvalidAt("host"), "v1 has a host of type string")
			})
	})
}
