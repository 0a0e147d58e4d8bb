package conversion

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// withoutWebhook makes the definition with hostPort on one side and host and port on the other do without its webhook.
func withoutWebhook(crd *definition) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
}

// nested adds to all versions a field with whatever is in it.
func nested(crd *definition) {
	preserve := true
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	}
}

// differsNot creates an object at the storage version, and compares it with what is read, listed and watched at another.
func differsNot(ctx SpecContext, crd *suites.Resource, object *unstructured.Unstructured, storage, other string) {
	GinkgoHelper()
	stored := crd.Create(ctx, storage, object)
	want := stored.DeepCopy()
	want.SetAPIVersion(crd.APIVersion(other))
	Expect(crd.At(other).Get(ctx, object.GetName())).To(Equal(want), "read at %s", other)
	Expect(crd.At(other).List(ctx)).To(ContainElement(*want), "listed at %s", other)
	watching, err := crd.At(other).WatchOne(ctx, object.GetName())
	Expect(err).NotTo(HaveOccurred())
	defer watching.Stop()
	Eventually(ctx, watching.ResultChan()).Should(Receive(HaveField("Object", Equal(want))), "watched at %s", other)
}

func none(env *suites.Env) {
	Describe("the None strategy", func() {
		env.With(fixtures.None, nested).It(requirement.ConversionNoneOnlyAPIVersion,
			"compares objects at the version they are stored at with the other", func(ctx SpecContext, crd *suites.Resource) {
				object := fixtures.LocalCronTab.At("v1")
				object.Object["spec"] = fixtures.Value(`{list: [{a: 1, b: [x]}, text], number: 1.5, large: 9007199254740993, nothing: null, empty: {}, none: []}`)
				object.SetLabels(map[string]string{"app": "crontab"})
				object.SetAnnotations(map[string]string{"example.com/owner": "somebody"})
				differsNot(ctx, crd, object, "v1beta1", "v1")
				crd.Change(ctx, fixtures.StoredAt("v1"))
				object.SetName("other-way-round")
				differsNot(ctx, crd, object, "v1", "v1beta1")
			})

		env.With(fixtures.None, func(crd *definition) { crd.Spec.Conversion = nil }).It(requirement.ConversionNoneDefault,
			"installs a definition without a conversion", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.Definition(ctx).Spec.Conversion).To(Equal(&apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}))
			})

		env.With(fixtures.Webhook, withoutWebhook).It(requirement.ConversionNonePrunesToSchema,
			"reads an object at a version that knows none of its fields", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKey("hostPort")))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", And(HaveKey("kind"), Not(HaveKey("hostPort")))))
			})

		env.With(fixtures.Webhook, withoutWebhook).It(requirement.ConversionNoneMovesNothing,
			"creates an object at the other version, and writes one back from there", func(ctx SpecContext, crd *suites.Resource) {
				By("creating host and port")
				crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
				Expect(crd.Stored(ctx, "remote-crontab").Object.Object).NotTo(Or(HaveKey("hostPort"), HaveKey("host"), HaveKey("port")))

				By("writing back an object that had hostPort")
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				Expect(crd.Stored(ctx, "local-crontab").Object.Object).To(HaveKey("hostPort"))
				Expect(crd.At("v1").Update(ctx, crd.Get(ctx, "v1", "local-crontab"))).Error().NotTo(HaveOccurred())
				Expect(crd.Stored(ctx, "local-crontab").Object.Object).NotTo(HaveKey("hostPort"))
			})

		env.Refuses(requirement.ConversionNoneWebhookStanzaRejected,
			"submits the None strategy with a webhook", fixtures.Webhook,
			func(crd *definition) { crd.Spec.Conversion.Strategy = apiextensionsv1.NoneConverter }, "spec.conversion.webhookClientConfig")

		env.Refuses(requirement.ConversionStrategyUnknownRejected,
			"submits a strategy named Magic", fixtures.None,
			func(crd *definition) { crd.Spec.Conversion.Strategy = "Magic" }, "spec.conversion.strategy")
	})
}
