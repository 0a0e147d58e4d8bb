package conversion

import (
	"net/url"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func client(env *suites.Env) {
	Describe("contacting the webhook", func() {
		clientRefusals(env)
		byURL(env)
		byService(env)
		caBundle(env)
	})
}

// config changes how a definition refers to its webhook.
func config(change func(*apiextensionsv1.WebhookClientConfig)) fixtures.Option {
	return func(crd *definition) { change(crd.Spec.Conversion.Webhook.ClientConfig) }
}

// atURL refers to the webhook by a URL.
func atURL(u string) fixtures.Option {
	return config(func(c *apiextensionsv1.WebhookClientConfig) { c.Service, c.URL = nil, &u })
}

// service changes the service reference of a definition.
func service(change func(*apiextensionsv1.ServiceReference)) fixtures.Option {
	return config(func(c *apiextensionsv1.WebhookClientConfig) { change(c.Service) })
}

func clientRefusals(env *suites.Env) {
	const at = "spec.conversion.webhookClientConfig"
	env.Refuses(requirement.ConversionClientWebhookRequired,
		"submits the Webhook strategy without a webhook", fixtures.Webhook,
		func(crd *definition) { crd.Spec.Conversion.Webhook = nil }, at)
	env.Refuses(requirement.ConversionClientURLAndService,
		"submits a URL and a service", fixtures.Webhook,
		config(func(c *apiextensionsv1.WebhookClientConfig) { u := "https://example.com"; c.URL = &u }), at)
	env.Refuses(requirement.ConversionClientURLOrService,
		"submits neither a URL nor a service", fixtures.Webhook,
		config(func(c *apiextensionsv1.WebhookClientConfig) { c.Service = nil }), at)
	env.Refuses(requirement.ConversionClientURLScheme,
		"submits a URL that begins with http://", fixtures.WebhookURL, atURL("http://my-webhook.example.com:9443/my-webhook-path"), at+".url")
	env.Refuses(requirement.ConversionClientURLUserinfo,
		"submits a URL with a user and a password", fixtures.WebhookURL, atURL("https://user:password@my-webhook.example.com"), at+".url")
	env.Refuses(requirement.ConversionClientURLFragment,
		"submits a URL with a fragment", fixtures.WebhookURL, atURL("https://my-webhook.example.com/#fragment"), at+".url")
	env.Refuses(requirement.ConversionClientURLQuery,
		"submits a URL with a query", fixtures.WebhookURL, atURL("https://my-webhook.example.com/?query=1"), at+".url")
	env.Refuses(requirement.ConversionClientServicePathSlash,
		"submits a path that does not begin with a slash", fixtures.WebhookService,
		service(func(s *apiextensionsv1.ServiceReference) { path := "my-path"; s.Path = &path }), at+".service.path")
	env.Refuses(requirement.ConversionClientPreserveUnknownFields,
		"submits preserveUnknownFields", fixtures.Webhook,
		func(crd *definition) { crd.Spec.PreserveUnknownFields = true }, "spec.preserveUnknownFields")

	// The field that is named is the wrong one on servers up to 1.37, so either will do.
	missing := func(id requirement.ID, text string, change func(*apiextensionsv1.ServiceReference)) {
		env.It(id, text, func(ctx SpecContext) {
			env.Require(env.Submit(ctx, id, fixtures.WebhookService), "submitting the definition as it is")
			Expect(env.Submit(ctx, id, fixtures.WebhookService, service(change))).To(Or(
				suites.BeInvalidAt(at+".service.name"), suites.BeInvalidAt(at+".service.namespace")))
		})
	}
	missing(requirement.ConversionClientServiceNameRequired,
		"submits a service without a name", func(s *apiextensionsv1.ServiceReference) { s.Name = "" })
	missing(requirement.ConversionClientServiceNamespaceRequired,
		"submits a service without a namespace", func(s *apiextensionsv1.ServiceReference) { s.Namespace = "" })

	env.It(requirement.ConversionClientServicePortRange,
		"submits the ports 0, 1, 65535 and 70000", func(ctx SpecContext) {
			submit := func(port int32) error {
				return env.Submit(ctx, requirement.ConversionClientServicePortRange, fixtures.WebhookService,
					service(func(s *apiextensionsv1.ServiceReference) { s.Port = &port }))
			}
			Expect(submit(1)).To(Succeed())
			Expect(submit(65535)).To(Succeed())
			Expect(submit(0)).To(suites.BeInvalidAt(at + ".service.port"))
			Expect(submit(70000)).To(suites.BeInvalidAt(at + ".service.port"))
		})
}

// convert creates an object and reads it at the other version, which the webhook has to convert.
func convert(ctx SpecContext, crd *suites.Resource) {
	crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
	Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKeyWithValue("host", "localhost")))
}

func byURL(env *suites.Env) {
	env.With(fixtures.Webhook).It(requirement.ConversionClientURLCalled,
		"looks at where the request arrives", func(ctx SpecContext, crd *suites.Resource) {
			crd.Webhook.Also("/my-webhook-path/below")
			crd.Change(ctx, atURL("https://"+crd.Webhook.Address()+"/my-webhook-path/below"))
			crd.Webhook.Forget()
			convert(ctx, crd)
			Expect(crd.Webhook.Received()).To(ContainElement(And(
				HaveField("Path", "/my-webhook-path/below"),
				HaveField("Host", crd.Webhook.Address()))))
		})

	env.With(fixtures.Webhook).It(requirement.ConversionClientURLIP,
		"has a webhook called by its IP address", func(ctx SpecContext, crd *suites.Resource) {
			u, err := url.Parse(*crd.Definition(ctx).Spec.Conversion.Webhook.ClientConfig.URL)
			env.Require(err, "parsing the URL of the webhook")
			if isIP := MatchRegexp(`^[0-9.]+$|:`); !matches(isIP, u.Hostname()) {
				Skip("the API server reaches the webhook by the name " + u.Hostname() + ", not by an address")
			}
			convert(ctx, crd)
			Expect(crd.Webhook.Received()).NotTo(BeEmpty())
		})
}

func matches(matcher interface{ Match(any) (bool, error) }, value any) bool {
	ok, err := matcher.Match(value)
	return ok && err == nil
}

// throughService makes a definition refer to its webhook by the documents' service reference, changed by a function, and
// routes the service to the webhook.
func throughService(ctx SpecContext, env *suites.Env, crd *suites.Resource, change func(*apiextensionsv1.ServiceReference)) {
	reference := fixtures.WebhookService.New().Spec.Conversion.Webhook.ClientConfig.Service
	change(reference)
	port := int32(443)
	if reference.Port != nil {
		port = *reference.Port
	}
	services := env.Services()
	env.Require(services.Route(ctx, reference.Namespace, reference.Name, port, crd.Webhook.Address()), "routing the service")
	DeferCleanup(func(ctx SpecContext) {
		env.Require(services.Route(ctx, reference.Namespace, reference.Name, port, ""), "removing the route of the service")
	})
	path := "/"
	if reference.Path != nil {
		path = *reference.Path
	}
	crd.Webhook.Also(path)
	crd.Change(ctx, config(func(c *apiextensionsv1.WebhookClientConfig) { c.URL, c.Service = nil, reference }))
	crd.Webhook.Forget()
}

func byService(env *suites.Env) {
	env.With(fixtures.Webhook).It(requirement.ConversionClientServicePortDefault,
		"has a service called that is referred to without a port", func(ctx SpecContext, crd *suites.Resource) {
			throughService(ctx, env, crd, func(s *apiextensionsv1.ServiceReference) { s.Port = nil })
			Expect(crd.Definition(ctx).Spec.Conversion.Webhook.ClientConfig.Service.Port).To(HaveValue(Equal(int32(443))))
			convert(ctx, crd)
		})

	env.With(fixtures.Webhook).It(requirement.ConversionClientServicePortUsed,
		"has a service called on port 1234", func(ctx SpecContext, crd *suites.Resource) {
			throughService(ctx, env, crd, func(*apiextensionsv1.ServiceReference) {})
			Expect(crd.Definition(ctx).Spec.Conversion.Webhook.ClientConfig.Service.Port).To(HaveValue(Equal(int32(1234))))
			convert(ctx, crd)
			Expect(crd.Webhook.Received()).To(ContainElement(HaveField("Host", HaveSuffix(":1234"))))
		})

	env.With(fixtures.Webhook).It(requirement.ConversionClientServicePathDefault,
		"has a service called that is referred to without a path", func(ctx SpecContext, crd *suites.Resource) {
			throughService(ctx, env, crd, func(s *apiextensionsv1.ServiceReference) { s.Path = nil })
			convert(ctx, crd)
			Expect(crd.Webhook.Received()).To(ContainElement(HaveField("Path", "/")))
		})

	env.With(fixtures.Webhook).It(requirement.ConversionClientServicePathUsed,
		"has a service called at /my-path", func(ctx SpecContext, crd *suites.Resource) {
			throughService(ctx, env, crd, func(*apiextensionsv1.ServiceReference) {})
			convert(ctx, crd)
			Expect(crd.Webhook.Received()).To(ContainElement(HaveField("Path", "/my-path")))
		})

	env.With(fixtures.Webhook).It(requirement.ConversionClientServerName,
		"has a service called that presents its certificate, and then another's", func(ctx SpecContext, crd *suites.Resource) {
			throughService(ctx, env, crd, func(*apiextensionsv1.ServiceReference) {})
			convert(ctx, crd)
			Expect(crd.Webhook.Received()).To(ContainElement(HaveField("TLS.ServerName", "my-service-name.my-service-namespace.svc")))
			throughService(ctx, env, crd, func(s *apiextensionsv1.ServiceReference) { s.Name = suites.WrongName + s.Name })
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(And(failConversion(), MatchError(ContainSubstring("x509"))))
			Expect(crd.Webhook.Received()).To(BeEmpty())
		})
}

func caBundle(env *suites.Env) {
	bundle := func(pem []byte) fixtures.Option {
		return config(func(c *apiextensionsv1.WebhookClientConfig) { c.CABundle = pem })
	}
	garbage := bundle([]byte("this is not a certificate"))

	env.It(requirement.ConversionClientCABundleOptional, "submits a webhook without a caBundle", func(ctx SpecContext) {
		Expect(env.Submit(ctx, requirement.ConversionClientCABundleOptional, fixtures.WebhookURL, bundle(nil))).To(Succeed())
	})

	env.With(fixtures.Webhook).It(requirement.ConversionClientSystemRoots,
		"removes the caBundle of a webhook whose authority the system does not trust", func(ctx SpecContext, crd *suites.Resource) {
			convert(ctx, crd)
			crd.Change(ctx, bundle(nil))
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(And(failConversion(), MatchError(ContainSubstring("x509"))))
		})

	env.It(requirement.ConversionClientCABundleInvalidCreate,
		"creates a definition whose caBundle is not a certificate", func(ctx SpecContext) {
			crd := env.With(fixtures.Webhook).Add(ctx, requirement.ConversionClientCABundleInvalidCreate, garbage)
			Eventually(ctx, func() *apiextensionsv1.CustomResourceDefinitionCondition {
				return apihelpers.FindCRDCondition(crd.Definition(ctx), apiextensionsv1.Established)
			}).Should(HaveValue(And(
				HaveField("Status", apiextensionsv1.ConditionFalse),
				HaveField("Reason", "InvalidCABundle"))))
		})

	env.With(fixtures.Webhook).It(requirement.ConversionClientCABundleInvalidUpdate,
		"updates a definition to a caBundle that is not a certificate", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.Update(ctx, garbage)).To(suites.BeInvalidAt("spec.conversion.webhookClientConfig.caBundle"))
		})

	wrong := func(ctx SpecContext, crd *suites.Resource) {
		authority, err := pki.NewAuthority("another authority")
		env.Require(err, "making another authority")
		convert(ctx, crd)
		crd.Change(ctx, bundle(authority.PEM()))
	}
	env.With(fixtures.Webhook).It(requirement.ConversionClientCABundleWrong,
		"changes the caBundle to another authority's", func(ctx SpecContext, crd *suites.Resource) {
			wrong(ctx, crd)
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(And(failConversion(), MatchError(ContainSubstring("x509"))))
			Expect(crd.At("v1").Create(ctx, fixtures.RemoteCronTab.At("v1"))).Error().To(failConversion())
		})
	env.With(fixtures.Webhook).It(requirement.ConversionClientCABundleWrongSparesStorageVersion,
		"reads at the storage version after the caBundle changed to another authority's", func(ctx SpecContext, crd *suites.Resource) {
			wrong(ctx, crd)
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(failConversion())
			Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(HaveField("Object", HaveKey("hostPort")))
			Expect(crd.At("v1beta1").List(ctx)).To(HaveLen(1))
		})
}
