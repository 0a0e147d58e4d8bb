package lifecycle

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func removal(env *suites.Env) {
	Describe("removing a version", func() {
		removed := env.With(fixtures.None)

		removed.It(requirement.LifecycleRemovalStoredVersionKept,
			"drops a version that is still in the status", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.Update(ctx, fixtures.WithVersions("v1"))).To(suites.BeInvalidAt("status.storedVersions[0]"))
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.Update(ctx, fixtures.WithVersions("v1"))).To(suites.BeInvalidAt("status.storedVersions[0]"))
				Expect(crd.Definition(ctx).Spec.Versions).To(HaveLen(2))
			})

		removed.It(requirement.LifecycleRemovalStatusSubresource,
			"removes a version from the status", func(ctx SpecContext, crd *suites.Resource) {
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.SetStoredVersions(ctx, "v1")).To(Succeed())
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{"v1"}))
				Expect(crd.Update(ctx, fixtures.WithVersions("v1"))).To(Succeed())
			})

		removed.It(requirement.LifecycleRemovalMainResourceIgnored,
			"patches and updates the status of the definition itself", func(ctx SpecContext, crd *suites.Resource) {
				crd.Change(ctx, fixtures.StoredAt("v1"))
				both := crd.Definition(ctx).Status.StoredVersions
				Expect(both).To(HaveLen(2))
				Expect(env.CRDs.Patch(ctx, crd.Name(), types.MergePatchType, []byte(`{"status": {"storedVersions": ["v1"]}}`), metav1.PatchOptions{})).Error().NotTo(HaveOccurred())
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal(both))
				Expect(crd.Update(ctx, func(d *definition) { d.Status.StoredVersions = []string{"v1"} })).To(Succeed())
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal(both))
			})

		removed.It(requirement.LifecycleRemovalServedReversible,
			"stops serving a version and serves it again", func(ctx SpecContext, crd *suites.Resource) {
				before := crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Change(ctx, fixtures.NotServed("v1beta1"))
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"))
				crd.Change(ctx, fixtures.Served("v1beta1"))
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(Equal(before))
			})

		env.With(fixtures.Webhook).It(requirement.LifecycleRemovalProcedure,
			"performs the documented steps one by one", func(ctx SpecContext, crd *suites.Resource) {
				population(ctx, crd, 5)

				By("making the new version the storage version, and no longer serving the old one")
				crd.Change(ctx, fixtures.StoredAt("v1"))
				crd.Change(ctx, fixtures.NotServed("v1beta1"))
				Expect(crd.At("v1beta1").List(ctx)).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"))

				By("upgrading the stored objects")
				Expect(rewrite(ctx, crd.At("v1"))).To(Succeed())
				Expect(crd.SetStoredVersions(ctx, "v1")).To(Succeed())

				By("verifying it")
				now := crd.Definition(ctx)
				Expect(fixtures.Version(now, "v1").Storage).To(BeTrue())
				Expect(now.Status.StoredVersions).To(Equal([]string{"v1"}))

				By("dropping the old version, and its support from the webhook")
				crd.Change(ctx, fixtures.WithVersions("v1"))
				crd.Webhook.Break("status-500")
				Expect(crd.At("v1").List(ctx)).To(And(HaveLen(5), HaveEach(HaveField("Object", HaveKeyWithValue("host", "localhost")))))
			})

		managedFields(env)

		removed.It(requirement.LifecycleRemovalTooEarly,
			"drops a version at which an object is still stored", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Change(ctx, fixtures.StoredAt("v1"))
				env.Require(crd.SetStoredVersions(ctx, "v1"), "dropping v1beta1 from the status")
				crd.Change(ctx, fixtures.WithVersions("v1"))
				// With the version back, the object can be deleted with the definition.
				DeferCleanup(func(ctx SpecContext) {
					crd.Change(ctx, func(d *definition) {
						d.Spec.Versions = append(d.Spec.Versions, *fixtures.Version(fixtures.None.New(), "v1beta1"))
						fixtures.StoredAt("v1")(d)
					})
				})
				Expect(crd.Stored(ctx, "local-crontab").APIVersion).To(Equal(crd.APIVersion("v1beta1")))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(MatchError(apierrors.IsInternalError, "IsInternalError"))
				Expect(crd.At("v1").Delete(ctx, "local-crontab")).To(MatchError(apierrors.IsInternalError, "IsInternalError"))
				Expect(crd.InStorage(ctx, "local-crontab")).To(BeTrue())
			})
	})
}
