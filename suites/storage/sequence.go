package storage

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func sequence(env *suites.Env) {
	Describe("the documents' series of events", func() {
		started := env.With(fixtures.None, fixtures.WithVersions("v1beta1"))

		started.It(requirement.StorageSequenceFiveSteps,
			"goes through the five events and looks into storage after each", func(ctx SpecContext, crd *suites.Resource) {
				By("1: creating an object while v1beta1 is the storage version")
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				Expect(crd.Stored(ctx, "local-crontab").APIVersion).To(Equal(crd.APIVersion("v1beta1")))

				By("2: adding v1 as the storage version")
				crd.Change(ctx, addV1)
				Expect(crd.Stored(ctx, "local-crontab").APIVersion).To(Equal(crd.APIVersion("v1beta1")))

				By("3: reading the object at both versions")
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(HaveField("GetAPIVersion()", crd.APIVersion("v1beta1")))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("GetAPIVersion()", crd.APIVersion("v1")))
				Expect(crd.Stored(ctx, "local-crontab").APIVersion).To(Equal(crd.APIVersion("v1beta1")))

				By("4: creating a second object")
				crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
				Expect(crd.Stored(ctx, "local-crontab").APIVersion).To(Equal(crd.APIVersion("v1beta1")))
				Expect(crd.Stored(ctx, "remote-crontab").APIVersion).To(Equal(crd.APIVersion("v1")))

				By("5: updating the first object")
				Expect(crd.At("v1").MergePatch(ctx, "local-crontab", `{"port": "4321"}`)).Error().NotTo(HaveOccurred())
				Expect(crd.Stored(ctx, "local-crontab").APIVersion).To(Equal(crd.APIVersion("v1")))
				Expect(crd.Stored(ctx, "remote-crontab").APIVersion).To(Equal(crd.APIVersion("v1")))
			})

		started.It(requirement.StorageSequenceIdenticalReads,
			"compares an object at the two versions", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Change(ctx, addV1)
				atV1beta1, err := crd.At("v1beta1").Get(ctx, "local-crontab")
				Expect(err).NotTo(HaveOccurred())
				atV1, err := crd.At("v1").Get(ctx, "local-crontab")
				Expect(err).NotTo(HaveOccurred())
				Expect(atV1.GetAPIVersion()).NotTo(Equal(atV1beta1.GetAPIVersion()))
				atV1.SetAPIVersion(atV1beta1.GetAPIVersion())
				Expect(atV1).To(Equal(atV1beta1))
			})
	})
}
