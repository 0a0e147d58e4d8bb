package control

import (
	"cmp"
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// webhook is about webhooks that run as pods behind a service.
func (c chapter) webhook() {
	Describe("a webhook in the cluster", Label(suites.Slow), func() {
		// They are converted by the pods, and by no webhook of the specs.
		unconverted := c.env.With(fixtures.Webhook, convertedBy(nil))

		unconverted.It(requirement.ControlWebhookService,
			"creates and reads objects that the pods convert, and one with another caBundle", func(ctx SpecContext, crd *suites.Resource) {
				hook := c.deployed()
				config := hook.ClientConfig()
				crd.Change(ctx, convertedBy(&config))
				Expect(crd.At(newer).Create(ctx, crd.Object(newer, fixtures.RemoteCronTab.At(newer)))).
					Error().NotTo(HaveOccurred(), "the pods must convert what is created")
				Expect(crd.Get(ctx, older, "remote-crontab").Object).To(HaveKeyWithValue("hostPort", "example.com:2345"), "it must be converted")
				crd.Create(ctx, older, fixtures.LocalCronTab.At(older))
				Expect(crd.Get(ctx, newer, "local-crontab").Object).To(SatisfyAll(HaveKeyWithValue("host", "localhost"), HaveKeyWithValue("port", "1234")), "it must be converted back")

				other, err := pki.NewAuthority("somebody else")
				c.env.Require(err, "making an authority")
				config.CABundle = other.PEM()
				crd.Change(ctx, convertedBy(&config))
				another := crd.Object(newer, fixtures.RemoteCronTab.At(newer))
				another.SetName("another")
				Expect(crd.At(newer).Create(ctx, another)).Error().To(MatchError(ContainSubstring("x509: ")), "the certificate must be verified by the caBundle")
				config = hook.ClientConfig() // so that the definition can go
				crd.Change(ctx, convertedBy(&config))
			})

		unconverted.It(requirement.ControlWebhookReplacedPod,
			"has clients create objects that the pods convert, and deletes a pod meanwhile", func(ctx SpecContext, crd *suites.Resource) {
				hook := c.deployed()
				if hook.Replicas < 2 {
					c.env.Inapplicable("needs a webhook with two pods, but this one has one")
				}
				config := hook.ClientConfig()
				crd.Change(ctx, convertedBy(&config))
				object := crd.Object(newer, fixtures.RemoteCronTab.At(newer))
				objects := crd.Everywhere(newer).Namespace(suites.Namespace)
				outage, err := hook.KillUnderLoad(ctx, deployed.Kills{Grace: -1, Convert: func(ctx context.Context) error {
					// It is converted to the stored version and back, and not stored.
					return suites.ErrorOf(objects.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
				}})
				c.env.Require(err, "replacing a pod")
				c.env.Attach("outage.txt", []byte(outage.String()+"\n"))
				Expect(outage.Problem()).To(Succeed(), "the other pods must convert")
			})
	})
}

// deployed returns the webhook that runs as pods, or skips the spec where there is none.
func (c chapter) deployed() *deployed.Webhook {
	GinkgoHelper()
	c.env.Require(c.options.Undeployed, "deploying a webhook")
	if c.options.Webhook == nil {
		c.env.Inapplicable("needs a webhook that runs as pods of the cluster, and " + cmp.Or(c.options.NoWebhook, "none was deployed"))
	}
	return c.options.Webhook
}

// convertedBy gives a definition another webhook, or none.
func convertedBy(config *apiextensionsv1.WebhookClientConfig) fixtures.Option {
	conversion := &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	if config != nil {
		conversion.Strategy = apiextensionsv1.WebhookConverter
		conversion.Webhook = &apiextensionsv1.WebhookConversion{ClientConfig: config.DeepCopy(), ConversionReviewVersions: []string{"v1"}}
	}
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Conversion = conversion.DeepCopy() }
}
