package versions

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func serving(env *suites.Env, none suites.Setup) {
	Describe("serving", func() {
		none.It(requirement.VersionsServingPathPerVersion,
			"creates, reads, updates, lists and deletes an object at each version", func(ctx SpecContext, crd *suites.Resource) {
				for _, version := range []string{"v1beta1", "v1"} {
					objects := crd.At(version)
					created, err := objects.Create(ctx, fixtures.LocalCronTab.At("v1"))
					Expect(err).NotTo(HaveOccurred())
					created.Object["port"] = "4321"
					Expect(objects.Update(ctx, created)).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
					Expect(objects.Get(ctx, "local-crontab")).To(HaveField("GetAPIVersion()", crd.APIVersion(version)))
					Expect(objects.List(ctx)).To(HaveLen(1))
					Expect(objects.Delete(ctx, "local-crontab")).To(Succeed())
					Expect(objects.List(ctx)).To(BeEmpty())
				}
			})

		none.It(requirement.VersionsServingDiscovery,
			"looks for the resource in the discovery document of each version", func(ctx SpecContext, crd *suites.Resource) {
				for _, version := range []string{"v1beta1", "v1"} {
					shown := crd.Discovered(ctx, version)
					Expect(shown).NotTo(BeNil())
					Expect(shown.Kind).To(Equal("CronTab"))
					Expect(shown.Verbs).To(ContainElements("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"))
				}
			})

		env.With(fixtures.None).It(requirement.VersionsServingServedFlag,
			"stops serving one version and serves it again", func(ctx SpecContext, crd *suites.Resource) {
				statuses := func() [2]int {
					return [2]int{env.Get(ctx, crd.Path("v1beta1")).Status, env.Get(ctx, crd.Path("v1")).Status}
				}
				Expect(statuses()).To(Equal([2]int{200, 200}))
				env.Require(crd.Update(ctx, fixtures.NotServed("v1beta1")), "switching v1beta1 off")
				Eventually(ctx, statuses).Should(Equal([2]int{404, 200}))
				env.Require(crd.Update(ctx, fixtures.Served("v1beta1")), "switching v1beta1 on")
				Eventually(ctx, statuses).Should(Equal([2]int{200, 200}))
			})

		env.With(fixtures.Removal).It(requirement.VersionsServingUnservedNotFound,
			"sends requests of every verb to a version that is not served", func(ctx SpecContext, crd *suites.Resource) {
				object := crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
				object.SetAPIVersion(crd.APIVersion("v1beta1"))
				unserved := crd.At("v1beta1")
				notFound := MatchError(apierrors.IsNotFound, "IsNotFound")
				Expect(unserved.Get(ctx, "local-crontab")).Error().To(notFound)
				Expect(unserved.List(ctx)).Error().To(notFound)
				Expect(unserved.WatchOne(ctx, "local-crontab")).Error().To(notFound)
				Expect(unserved.Create(ctx, fixtures.RemoteCronTab.At("v1"))).Error().To(notFound)
				Expect(unserved.Update(ctx, object)).Error().To(notFound)
				Expect(unserved.MergePatch(ctx, "local-crontab", `{"port": "4321"}`)).Error().To(notFound)
				Expect(unserved.JSONPatch(ctx, "local-crontab", `[{"op": "replace", "path": "/port", "value": "4321"}]`)).Error().To(notFound)
				Expect(unserved.Apply(ctx, fixtures.LocalCronTab.At("v1"), "crdconform")).Error().To(notFound)
				Expect(unserved.Delete(ctx, "local-crontab")).To(notFound)
				Expect(unserved.DeleteAll(ctx)).To(notFound)
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("port", "1234")), "nothing of this may have reached the object")
			})

		env.With(fixtures.None).It(requirement.VersionsServingNoneServed,
			"stops serving all versions", func(ctx SpecContext, crd *suites.Resource) {
				env.Require(crd.Update(ctx, fixtures.NotServed("v1beta1"), fixtures.NotServed("v1")), "switching both versions off")
				Eventually(ctx, func() []int {
					return []int{
						env.Get(ctx, "/apis/"+crd.Group()).Status,
						env.Get(ctx, crd.Path("v1beta1")).Status,
						env.Get(ctx, crd.Path("v1")).Status,
					}
				}).Should(HaveEach(http.StatusNotFound))
				Expect(apihelpers.IsCRDConditionTrue(crd.Definition(ctx), apiextensionsv1.Established)).To(BeTrue())
			})

		env.With(fixtures.Stable).It(requirement.VersionsServingNamespacedEndpoint,
			"creates an object and reads it by its path", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.MyNewCronObject.At("v1"))
				path := "/apis/" + crd.Group() + "/v1/namespaces/" + suites.Namespace + "/crontabs/my-new-cron-object"
				Expect(env.Get(ctx, path).Status).To(Equal(http.StatusOK))
			})

		env.With(fixtures.Stable).It(requirement.VersionsServingKind,
			"creates objects of the kind and of another", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.MyNewCronObject.At("v1"))).To(HaveField("GetKind()", "CronTab"))
				other := fixtures.Valid.At("v1")
				other.SetName("other")
				other.SetKind("CronJob")
				Expect(crd.At("v1").Create(ctx, other)).Error().To(suites.BeInvalidAt("kind"))
			})

		env.It(requirement.VersionsServingEstablished, "creates a definition and waits for the condition and the endpoint", func(ctx SpecContext) {
			crd := env.With(fixtures.Stable).Add(ctx, requirement.VersionsServingEstablished)
			Eventually(ctx, func() bool {
				return apihelpers.IsCRDConditionTrue(crd.Definition(ctx), apiextensionsv1.Established)
			}).Should(BeTrue())
			Eventually(ctx, func() int { return env.Get(ctx, crd.Path("v1")).Status }).Should(Equal(http.StatusOK))
		})

		env.It(requirement.VersionsServingMinimumVersion, "asks the API server for its version", func(SpecContext) {
			Expect(env.Minor().Less(requirement.Minor{Major: 1, Minor: 16})).To(BeFalse(), "the API server is %s", env.Version())
		})
	})
}
