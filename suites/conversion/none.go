package conversion

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// withoutWebhook makes the definition with hostPort on one side and host and port on the other do without its webhook.
func withoutWebhook(crd *definition) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
}

func none(env *suites.Env) {
	Describe("the None strategy", func() {
		env.With(fixtures.None).It(requirement.ConversionNoneOnlyAPIVersion,
			"compares an object at the version it is stored at with the other", func(ctx SpecContext, crd *suites.Resource) {
				stored := crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
				read, err := crd.At("v1").Get(ctx, "local-crontab")
				Expect(err).NotTo(HaveOccurred())
				Expect(read.GetAPIVersion()).To(Equal(crd.APIVersion("v1")))
				read.SetAPIVersion(stored.GetAPIVersion())
				Expect(read).To(Equal(stored))
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
