package versions

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// other is a namespace that every cluster has, besides the one of the run.
const other = "kube-system"

func scope(env *suites.Env, none suites.Setup) {
	Describe("scope", func() {
		none.It(requirement.VersionsScopeNamespaced,
			"creates objects of one name in two namespaces, and asks for one outside of any", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.LocalCronTab.At("v1"))).To(HaveField("GetNamespace()", suites.Namespace))
				second := fixtures.LocalCronTab.At("v1")
				second.Object["port"] = "4321"
				Expect(crd.At("v1").In(other).Create(ctx, second)).To(HaveField("GetNamespace()", other))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("port", "1234")))
				Expect(crd.At("v1").In(other).Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
				Expect(env.Get(ctx, "/apis/"+crd.APIVersion("v1")+"/crontabs/local-crontab").Status).To(Equal(http.StatusNotFound))
			})

		env.With(fixtures.None, func(crd *definitionType) { crd.Spec.Scope = apiextensionsv1.ClusterScoped }).It(requirement.VersionsScopeCluster,
			"creates an object outside of namespaces, and asks for it in one", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.LocalCronTab.At("v1"))).To(HaveField("GetNamespace()", BeEmpty()))
				Expect(env.Get(ctx, "/apis/"+crd.APIVersion("v1")+"/crontabs/local-crontab").Status).To(Equal(http.StatusOK))
				Expect(env.Get(ctx, "/apis/"+crd.APIVersion("v1")+"/namespaces/default/crontabs/local-crontab").Status).To(Equal(http.StatusNotFound))
			})

		none.It(requirement.VersionsScopeDefinitionsClusterWide,
			"creates objects in two namespaces, lists them all, and asks for the definition in a namespace", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.LocalCronTab.At("v1"))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").In(other).Create(ctx, fixtures.RemoteCronTab.At("v1"))).Error().NotTo(HaveOccurred())
				Expect(crd.At("v1").In("").List(ctx)).To(HaveLen(2))
				Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+crd.Name()).Status).To(Equal(http.StatusOK))
				Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1/namespaces/default/customresourcedefinitions/"+crd.Name()).Status).To(Equal(http.StatusNotFound))
			})
	})
}
