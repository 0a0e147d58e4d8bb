package storage

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func writing(env *suites.Env) {
	Describe("writing", func() {
		env.With(fixtures.None, fixtures.WithVersions("v1beta1")).It(requirement.StorageWriteInitialVersion,
			"creates objects at the only version and looks for them in storage", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Create(ctx, "v1beta1", fixtures.RemoteCronTab.At("v1"))
				Expect(crd.FinalVersions(ctx)).To(Equal(map[string]string{"local-crontab": "v1beta1", "remote-crontab": "v1beta1"}))
			})

		env.With(fixtures.None).It(requirement.StorageWriteStorageVersion,
			"creates objects at both versions and looks for them in storage", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
				Expect(crd.FinalVersions(ctx)).To(Equal(map[string]string{"local-crontab": "v1beta1", "remote-crontab": "v1beta1"}))
			})
	})

	Describe("changing the storage version", func() {
		changed := env.With(fixtures.None)

		changed.It(requirement.StorageChangeKeepsExisting,
			"compares an object in storage before and after", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				before := crd.Stored(ctx, "local-crontab")
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.Stored(ctx, "local-crontab")).To(Equal(before))
				Expect(before.APIVersion).To(Equal(crd.APIVersion("v1beta1")))
			})

		changed.It(requirement.StorageChangeNewObjects,
			"creates objects at both versions after it", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Change(ctx, fixtures.StoredAt("v1"))
				crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
				other := fixtures.RemoteCronTab.At("v1")
				other.SetName("other-crontab")
				crd.Create(ctx, "v1beta1", other)
				Expect(crd.FinalVersions(ctx)).To(And(HaveKeyWithValue("remote-crontab", "v1"), HaveKeyWithValue("other-crontab", "v1")))
			})

		changed.It(requirement.StorageChangeUpdatedObjects,
			"changes a field of an old object after it", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Change(ctx, fixtures.StoredAt("v1"))
				Expect(crd.Stored(ctx, "local-crontab").APIVersion).To(Equal(crd.APIVersion("v1beta1")), "the change itself must not convert it")
				object := crd.Get(ctx, "v1beta1", "local-crontab")
				object.Object["port"] = "4321"
				Expect(crd.At("v1beta1").Update(ctx, object)).Error().NotTo(HaveOccurred())
				stored := crd.Stored(ctx, "local-crontab")
				Expect(stored.APIVersion).To(Equal(crd.APIVersion("v1")))
				Expect(stored.Object.Object).To(HaveKeyWithValue("port", "4321"))
			})
	})
}
