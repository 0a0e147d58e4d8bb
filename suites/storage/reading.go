package storage

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
				crd.Change(ctx, fixtures.StoredAt("v1"), fixtures.NotServed("v1beta1"))
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
			"begins a list, changes the storage version and objects, and continues the list", func(ctx SpecContext, crd *suites.Resource) {
				create := func(name string) {
					object := fixtures.LocalCronTab.At("v1beta1")
					object.SetName(name)
					crd.Create(ctx, "v1beta1", object)
				}
				names := []string{"first", "second", "third", "fourth", "fifth"}
				for _, name := range names {
					create(name)
				}
				page := func(after string) *unstructured.UnstructuredList {
					GinkgoHelper()
					list, err := crd.Everywhere("v1").Namespace(suites.Namespace).List(ctx, metav1.ListOptions{Limit: 2, Continue: after})
					Expect(err).NotTo(HaveOccurred())
					return list
				}
				begun := page("")
				crd.Change(ctx, fixtures.StoredAt("v1"))
				for _, name := range names {
					env.Require(suites.ErrorOf(crd.At("v1").MergePatch(ctx, name, "{}")), "upgrading %s", name)
				}
				env.Require(crd.At("v1").Delete(ctx, "third"), "deleting an object")
				create("sixth")
				listed := begun.Items
				for after := begun.GetContinue(); after != "" && len(listed) <= len(names); {
					next := page(after)
					listed, after = append(listed, next.Items...), next.GetContinue()
				}
				var shown []any
				for _, name := range names {
					shown = append(shown, HaveField("Object", And(
						HaveKeyWithValue("apiVersion", crd.APIVersion("v1")), HaveKeyWithValue("host", "localhost"),
						HaveKeyWithValue("metadata", HaveKeyWithValue("name", name)))))
				}
				Expect(listed).To(ConsistOf(shown...), "it must show what was there when it began, each object once")
			})

		env.With(fixtures.Webhook).It(requirement.StorageReadFollowed,
			"watches at two versions while objects and the storage version change, and resumes watches that end", followed)

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
