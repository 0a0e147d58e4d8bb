package storage

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func updating(env *suites.Env) {
	Describe("updating", func() {
		updated := env.With(fixtures.Webhook)

		updated.It(requirement.StorageUpdateRewrites,
			"puts an old object as it is, at each version", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				crd.Create(ctx, "v1beta1", fixtures.RemoteCronTab.At("v1beta1"))
				crd.Change(ctx, fixtures.StoredAt("v1"))
				for version, name := range map[string]string{"v1beta1": "local-crontab", "v1": "remote-crontab"} {
					Expect(crd.Stored(ctx, name).APIVersion).To(Equal(crd.APIVersion("v1beta1")))
					Expect(crd.At(version).Update(ctx, crd.Get(ctx, version, name))).Error().NotTo(HaveOccurred())
					stored := crd.Stored(ctx, name)
					Expect(stored.APIVersion).To(Equal(crd.APIVersion("v1")))
					Expect(stored.Object.Object).To(HaveKey("port"), "it must have been converted")
				}
			})

		updated.It(requirement.StorageUpdateEmptyPatch,
			"patches an old object by an empty merge patch", func(ctx SpecContext, crd *suites.Resource) {
				old(ctx, crd)
				Expect(crd.At("v1").MergePatch(ctx, "local-crontab", "{}")).Error().NotTo(HaveOccurred())
				Expect(crd.FinalVersions(ctx)).To(HaveKeyWithValue("local-crontab", "v1"))
			})

		updated.It(requirement.StorageUpdateGenerationKept,
			"compares resourceVersion and generation before and after", func(ctx SpecContext, crd *suites.Resource) {
				before := old(ctx, crd)
				after, err := crd.At("v1").Update(ctx, before)
				Expect(err).NotTo(HaveOccurred())
				Expect(after.GetResourceVersion()).NotTo(Equal(before.GetResourceVersion()))
				Expect(after.GetGeneration()).To(Equal(before.GetGeneration()))
			})

		updated.It(requirement.StorageUpdateIdempotent,
			"puts an object a second time", func(ctx SpecContext, crd *suites.Resource) {
				first, err := crd.At("v1").Update(ctx, old(ctx, crd))
				env.Require(err, "putting the object the first time")
				before := crd.Stored(ctx, "local-crontab")
				second, err := crd.At("v1").Update(ctx, first)
				Expect(err).NotTo(HaveOccurred())
				Expect(second.GetResourceVersion()).To(Equal(first.GetResourceVersion()))
				Expect(crd.Stored(ctx, "local-crontab")).To(Equal(before))
			})

		updated.It(requirement.StorageUpdateOnlyWay,
			"does everything to an old object but write it", func(ctx SpecContext, crd *suites.Resource) {
				old(ctx, crd)
				before := crd.Stored(ctx, "local-crontab")
				watched(ctx, crd.At("v1"))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).NotTo(BeNil())
				Expect(crd.At("v1").List(ctx)).To(HaveLen(1))
				crd.Change(ctx, fixtures.NotServed("v1beta1"))
				crd.Change(ctx, fixtures.Served("v1beta1"))
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).NotTo(BeNil())
				Expect(crd.Stored(ctx, "local-crontab")).To(Equal(before))
				Expect(before.APIVersion).To(Equal(crd.APIVersion("v1beta1")))
			})
	})
}

// old creates an object at v1beta1, makes v1 the storage version, and returns the object as v1 has it.
func old(ctx SpecContext, crd *suites.Resource) *unstructured.Unstructured {
	crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
	crd.Change(ctx, fixtures.StoredAt("v1"))
	return crd.Get(ctx, "v1", "local-crontab")
}
