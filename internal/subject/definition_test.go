package subject

import (
	"bytes"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/wire"
)

// definition returns a definition whose clientConfig is some YAML, with a caBundle if there is one.
func definition(t *testing.T, client string, ca []byte) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	config := new(apiextensionsv1.WebhookClientConfig)
	if err := yaml.UnmarshalStrict([]byte(client), config); err != nil {
		t.Fatal(err)
	}
	config.CABundle = ca
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: config},
		}},
	}
}

func TestFromDefinition(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	other, err := pki.NewAuthority("other")
	if err != nil {
		t.Fatal(err)
	}
	bundle, file := authority.PEM(), other.PEM()
	const full = "service: {name: hook, namespace: system, port: 8443, path: /convert}"
	for name, test := range map[string]struct {
		client string
		ca     []byte
		o      FromOptions
		want   wire.Endpoint
	}{
		"a URL":               {"url: https://hooks.example.com/convert", bundle, FromOptions{}, wire.Endpoint{URL: "https://hooks.example.com/convert", CA: bundle}},
		"on localhost":        {"url: https://LocalHost:9443/", bundle, FromOptions{}, wire.Endpoint{URL: "https://LocalHost:9443/", CA: bundle, HTTP2: true}},
		"on a loopback":       {"url: 'https://[::1]:9443/'", bundle, FromOptions{}, wire.Endpoint{URL: "https://[::1]:9443/", CA: bundle, HTTP2: true}},
		"on another":          {"url: https://127.0.0.2/", bundle, FromOptions{}, wire.Endpoint{URL: "https://127.0.0.2/", CA: bundle, HTTP2: true}},
		"a URL, system roots": {"url: https://hooks.example.com", nil, FromOptions{}, wire.Endpoint{URL: "https://hooks.example.com"}},
		"a URL elsewhere": {
			"url: https://hooks.example.com/convert", bundle,
			FromOptions{Address: "localhost:1234"},
			wire.Endpoint{URL: "https://localhost:1234/convert", CA: bundle, ServerName: "hooks.example.com"},
		},
		"a service": {
			full, bundle,
			FromOptions{Address: "localhost:9443"},
			wire.Endpoint{URL: "https://localhost:9443/convert", CA: bundle, ServerName: "hook.system.svc"},
		},
		"a service, least": {
			"service: {name: hook, namespace: system}", bundle,
			FromOptions{Address: "[::1]:9443"},
			wire.Endpoint{URL: "https://[::1]:9443", CA: bundle, ServerName: "hook.system.svc"},
		},
		"a CA file": {
			full, bundle,
			FromOptions{Address: "localhost:9443", CA: file},
			wire.Endpoint{URL: "https://localhost:9443/convert", CA: file, ServerName: "hook.system.svc"},
		},
		"a CA file for a placeholder": {
			full, []byte("\n"),
			FromOptions{Address: "localhost:9443", CA: file},
			wire.Endpoint{URL: "https://localhost:9443/convert", CA: file, ServerName: "hook.system.svc"},
		},
	} {
		got, err := FromDefinition(definition(t, test.client, test.ca), test.o)
		if err != nil || got.URL != test.want.URL || !bytes.Equal(got.CA, test.want.CA) || got.ServerName != test.want.ServerName || got.HTTP2 != test.want.HTTP2 || got.Timeout != 0 {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, test.want)
		}
	}
}

func TestDefinitionsWithoutAWebhook(t *testing.T) {
	t.Parallel()
	const service = "service: {name: hook, namespace: system}"
	here := FromOptions{Address: "localhost:9443"}
	for name, test := range map[string]struct {
		client, ca string
		o          FromOptions
		want       string
	}{
		"neither":           {"{}", "", here, "one of url and service"},
		"both":              {"{url: https://a/, " + service + "}", "", here, "one of url and service"},
		"an empty URL":      {"url: ''", "", FromOptions{}, "clientConfig.url: webhook URL"},
		"plain HTTP":        {"url: http://a/", "", FromOptions{}, "only over https"},
		"a secret":          {"url: https://me:secret@a/", "", FromOptions{}, "not allowed"},
		"a query":           {"url: https://a/?b", "", FromOptions{}, "not allowed"},
		"no name":           {"service: {namespace: system}", "", here, "both name and namespace"},
		"no namespace":      {"service: {name: hook}", "", here, "both name and namespace"},
		"port 0":            {"service: {name: a, namespace: b, port: 0}", "", here, "service.port: 0 is not a port"},
		"port too high":     {"service: {name: a, namespace: b, port: 65536}", "", here, "service.port: 65536 is not a port"},
		"a relative path":   {"service: {name: a, namespace: b, path: convert}", "", here, "does not begin with a slash"},
		"no address":        {"service: {name: hook, namespace: system, port: 8443}", "", FromOptions{}, "\n  kubectl port-forward -n system service/hook 9443:8443\nand give the address localhost:9443"},
		"no address, least": {service, "", FromOptions{}, "\n  kubectl port-forward -n system service/hook 9443:443\n"},
		"an address only":   {service, "", FromOptions{Address: "localhost"}, `address "localhost": give host:port`},
		"a port only":       {service, "", FromOptions{Address: ":9443"}, "give host:port"},
		"no number":         {service, "", FromOptions{Address: "localhost:https"}, "give host:port"},
		"too many":          {service, "", FromOptions{Address: "localhost:70000"}, "give host:port"},
		"a URL":             {service, "", FromOptions{Address: "https://localhost:9443"}, "give host:port"},
		"no CA":             {service, "", here, "caBundle: missing"},
		"a blank CA":        {service, "\n", here, "caBundle: missing"},
		"a placeholder":     {service, "placeholder", here, "caBundle: it contains no certificate; if it is a placeholder"},
		"and with a URL":    {"url: https://a/", "placeholder", FromOptions{}, "webhook.caFile"},
		"no PEM in CA":      {service, "", FromOptions{Address: here.Address, CA: []byte("nonsense")}, "the CA file contains no certificate"},
	} {
		_, err := FromDefinition(definition(t, test.client, []byte(test.ca)), test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "CustomResourceDefinition widgets.example.com: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
	for want, conversion := range map[string]*apiextensionsv1.CustomResourceConversion{
		"the strategy is None, so there is no webhook": nil,
		"the strategy is None":                         {Strategy: apiextensionsv1.NoneConverter},
		"strategy is None":                             {},
		"neither None nor Webhook":                     {Strategy: "Magic"},
		"webhook: the clientConfig":                    {Strategy: apiextensionsv1.WebhookConverter},
		"which says where the webhook is, is missing":  {Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{}},
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Spec.Conversion = conversion
		if _, err := FromDefinition(crd, here); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
	if _, err := FromDefinition(nil, here); err == nil {
		t.Error("there is a webhook of no definition")
	}
}
