package storage

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// watched watches the object from its creation on, until the watch has reported it.
func watched(ctx SpecContext, objects suites.Objects) {
	GinkgoHelper()
	watching, err := objects.WatchOne(ctx, "local-crontab")
	Expect(err).NotTo(HaveOccurred())
	defer watching.Stop()
	Eventually(ctx, watching.ResultChan()).Should(Receive(HaveField("Object.Object", HaveKeyWithValue("host", "localhost"))), "the watch must report the object")
}

func reading(env *suites.Env) {
	Describe("reading", func() {
		env.With(fixtures.None).It(requirement.StorageReadUnserved,
			"stops serving the version that an object is stored at", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				crd.Change(ctx, fixtures.StoredAt("v1"), fixtures.Served("v1beta1", false))
				read, err := crd.At("v1").Get(ctx, "local-crontab")
				Expect(err).NotTo(HaveOccurred())
				Expect(read.Object).To(And(HaveKeyWithValue("host", "localhost"), HaveKeyWithValue("port", "1234")))
				Expect(crd.FinalVersions(ctx)).To(HaveKeyWithValue("local-crontab", "v1beta1"), "it must have been read from the version that is not served")
			})

		env.With(fixtures.Webhook).It(requirement.StorageReadRequestedVersion,
			"reads and lists an object at both versions", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				for _, version := range []string{"v1beta1", "v1"} {
					read, err := crd.At(version).Get(ctx, "local-crontab")
					Expect(err).NotTo(HaveOccurred())
					Expect(read.GetAPIVersion()).To(Equal(crd.APIVersion(version)))
					listed, err := crd.At(version).List(ctx)
					Expect(err).NotTo(HaveOccurred())
					Expect(listed).To(HaveLen(1))
					Expect(listed[0].GetAPIVersion()).To(Equal(crd.APIVersion(version)))
				}
			})

		env.With(fixtures.Webhook).It(requirement.StorageReadUnchangedOnDisk,
			"gets, lists and watches an object at the other version", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				before := crd.Stored(ctx, "local-crontab")
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKey("host")))
				Expect(crd.At("v1").List(ctx)).To(HaveLen(1))
				watched(ctx, crd.At("v1"))
				Expect(crd.Stored(ctx, "local-crontab")).To(Equal(before))
			})

		env.With(fixtures.Webhook).It(requirement.StorageReadContinued,
			"lists two of three objects, changes the storage version, and lists the third", func(ctx SpecContext, crd *suites.Resource) {
				for _, name := range []string{"first", "second", "third"} {
					object := fixtures.LocalCronTab.At("v1beta1")
					object.SetName(name)
					crd.Create(ctx, "v1beta1", object)
				}
				objects := crd.Everywhere("v1").Namespace(suites.Namespace)
				begun, err := objects.List(ctx, metav1.ListOptions{Limit: 2})
				env.Require(err, "listing the first page")
				crd.Change(ctx, fixtures.StoredAt("v1"))
				rest, err := objects.List(ctx, metav1.ListOptions{Limit: 2, Continue: begun.GetContinue()})
				Expect(err).NotTo(HaveOccurred())
				shown := func(name string) any {
					return HaveField("Object", And(
						HaveKeyWithValue("apiVersion", crd.APIVersion("v1")), HaveKeyWithValue("host", "localhost"),
						HaveKeyWithValue("metadata", HaveKeyWithValue("name", name))))
				}
				Expect(append(begun.Items, rest.Items...)).To(ConsistOf(shown("first"), shown("second"), shown("third")))
				Expect(rest.Items).To(HaveLen(1), "it must go on where it was")
			})

		env.With(fixtures.Deprecation).It(requirement.StorageReadAnyServed,
			"reads an object at each of three versions", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
				for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
					read, err := crd.At(version).Get(ctx, "local-crontab")
					Expect(err).NotTo(HaveOccurred(), version)
					Expect(read.GetAPIVersion()).To(Equal(crd.APIVersion(version)))
					Expect(read.Object).To(HaveKeyWithValue("host", "localhost"))
				}
			})
	})
}
