package storage

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// addV1 adds v1 to a definition that has v1beta1 alone, and makes it the storage version.
func addV1(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Versions = fixtures.None.New().Spec.Versions
	fixtures.StoredAt("v1")(crd)
}

func storedVersions(env *suites.Env) {
	Describe("previous storage versions", func() {
		env.With(fixtures.Deprecation).It(requirement.StorageStoredVersionsRecorded,
			"makes one version after the other the storage version", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1"}))
				crd.Change(ctx, fixtures.StoredAt("v1beta1"))
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1", "v1beta1"}))
				crd.Change(ctx, fixtures.StoredAt("v1alpha1"))
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.Definition(ctx).Status.StoredVersions).To(ConsistOf("v1", "v1beta1", "v1alpha1"))
			})

		env.With(fixtures.None, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Status.StoredVersions = []string{"v1", "v1beta1"}
		}).It(requirement.StorageStoredVersionsUserValueIgnored,
			"installs a definition that brings a value", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1beta1"}))
			})

		env.With(fixtures.Deprecation).It(requirement.StorageStoredVersionsNoOtherInStorage,
			"creates and updates objects at every version", func(ctx SpecContext, crd *suites.Resource) {
				for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
					object := fixtures.LocalCronTab.At("v1")
					object.SetName(version)
					created := crd.Create(ctx, version, object)
					created.Object["port"] = "4321"
					Expect(crd.At(version).Update(ctx, created)).Error().NotTo(HaveOccurred())
				}
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1"}))
				Expect(crd.FinalVersions(ctx)).To(And(HaveLen(3), HaveEach("v1")))
			})

		env.With(fixtures.None).It(requirement.StorageStoredVersionsCurrentDropped,
			"drops the storage version from the status and changes the definition", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.SetStoredVersions(ctx, "v1")).To(Succeed())
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1"}))
				crd.Change(ctx, fixtures.NotServed("v1"))
				Expect(crd.Definition(ctx).Status.StoredVersions).To(ConsistOf("v1", "v1beta1"))
			})

		env.With(fixtures.None).It(requirement.StorageStoredVersionsUnknownBlocks,
			"adds a version to the status that the definition does not have", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.SetStoredVersions(ctx, "v1beta1", "v2")).To(Succeed())
				Expect(crd.Update(ctx, fixtures.NotServed("v1"))).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
				Expect(crd.SetStoredVersions(ctx, "v1beta1")).To(Succeed())
				Expect(crd.Update(ctx, fixtures.NotServed("v1"))).To(Succeed())
			})
	})
}
