package subject

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/loopback"
	"github.com/crdconform/crdconform/internal/wire"
)

// FromOptions adds to what a definition says of its webhook.
type FromOptions struct {
	// Address is where to connect to, host:port, whatever the definition says. Services need it, since their names are known
	// inside of their cluster only.
	Address string

	CA []byte // PEM certificates to verify the webhook by; empty for the caBundle of the definition
}

// FromDefinition returns the webhook of a definition as its spec.conversion says. The Host of the requests has the port of
// the address when there is one. The errors say what the definition lacks, and what to do about it.
func FromDefinition(crd *apiextensionsv1.CustomResourceDefinition, o FromOptions) (wire.Endpoint, error) {
	if crd == nil {
		return wire.Endpoint{}, errors.New("webhook of a CustomResourceDefinition: there is no definition")
	}
	e, err := fromConversion(crd.Spec.Conversion, o)
	if err != nil {
		return wire.Endpoint{}, fmt.Errorf("CustomResourceDefinition %s: %w", cmp.Or(crd.Name, "without a name"), err)
	}
	return e, nil
}

func fromConversion(conversion *apiextensionsv1.CustomResourceConversion, o FromOptions) (wire.Endpoint, error) {
	switch {
	case conversion == nil || conversion.Strategy == "" || conversion.Strategy == apiextensionsv1.NoneConverter:
		return wire.Endpoint{}, errors.New("spec.conversion: the strategy is None, so there is no webhook to check")
	case conversion.Strategy != apiextensionsv1.WebhookConverter:
		return wire.Endpoint{}, fmt.Errorf("spec.conversion.strategy: %q is neither None nor Webhook", conversion.Strategy)
	case conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil:
		return wire.Endpoint{}, errors.New("spec.conversion.webhook: the clientConfig, which says where the webhook is, is missing")
	}
	config := conversion.Webhook.ClientConfig
	if (config.URL == nil) == (config.Service == nil) {
		return wire.Endpoint{}, errors.New("spec.conversion.webhook.clientConfig: exactly one of url and service is required")
	}
	if err := checkAddress(o.Address); err != nil {
		return wire.Endpoint{}, err
	}
	where := fromService
	if config.URL != nil {
		where = fromURL
	}
	e, err := where(config, o.Address)
	if err != nil {
		return wire.Endpoint{}, fmt.Errorf("spec.conversion.webhook.clientConfig.%w", err)
	}
	e.CA, err = authority(config, o.CA)
	return e, err
}

func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || number == 0 || host == "" || strings.ContainsAny(host, "/@ ") {
		return fmt.Errorf("address %q: give host:port, such as localhost:9443", address)
	}
	return nil
}

func fromURL(config *apiextensionsv1.WebhookClientConfig, address string) (wire.Endpoint, error) {
	e := wire.Endpoint{URL: *config.URL}
	if _, err := wire.Connect(e); err != nil {
		return e, fmt.Errorf("url: %w", err)
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return e, fmt.Errorf("url: %w", err)
	}
	e.HTTP2 = loopback.Is(u.Hostname())
	if address != "" {
		e.ServerName, u.Host = u.Hostname(), address
		e.URL = u.String()
	}
	return e, nil
}

func fromService(config *apiextensionsv1.WebhookClientConfig, address string) (wire.Endpoint, error) {
	service := config.Service
	if service.Name == "" || service.Namespace == "" {
		return wire.Endpoint{}, errors.New("service: both name and namespace are required")
	}
	port, path := int32(443), ""
	if service.Port != nil {
		port = *service.Port
	}
	if port < 1 || port > 65535 {
		return wire.Endpoint{}, fmt.Errorf("service.port: %d is not a port", port)
	}
	if service.Path != nil {
		path = *service.Path
	}
	if path != "" && !strings.HasPrefix(path, "/") {
		return wire.Endpoint{}, fmt.Errorf("service.path: %q does not begin with a slash", path)
	}
	name := service.Name + "." + service.Namespace + ".svc"
	if address == "" {
		inside := net.JoinHostPort(name, strconv.Itoa(int(port)))
		return wire.Endpoint{}, fmt.Errorf("service: %s can be resolved only inside of its cluster; run\n"+
			"  kubectl port-forward -n %s service/%s 9443:%d\n"+
			"and give the address localhost:9443 (webhook.fromCRD.address in the configuration file), or %s inside of the cluster",
			inside, service.Namespace, service.Name, port, inside)
	}
	at := url.URL{Scheme: "https", Host: address, Path: path}
	e := wire.Endpoint{URL: at.String(), ServerName: name}
	if _, err := wire.Connect(e); err != nil {
		return e, fmt.Errorf("service: %w", err)
	}
	return e, nil
}

// authority returns the certificates to verify a webhook by: those given, or those of the definition.
func authority(config *apiextensionsv1.WebhookClientConfig, given []byte) ([]byte, error) {
	const remedy = "give the authority's certificate in a file (webhook.caFile in the configuration file)"
	switch {
	case len(given) > 0:
		if !x509.NewCertPool().AppendCertsFromPEM(given) {
			return nil, errors.New("the CA file contains no certificate; give PEM, beginning with -----BEGIN CERTIFICATE-----")
		}
		return given, nil
	case len(config.CABundle) == 0 && config.URL != nil:
		return nil, nil // the roots of the system, as for API servers
	case len(bytes.TrimSpace(config.CABundle)) == 0:
		return nil, errors.New("spec.conversion.webhook.clientConfig.caBundle: missing; something in the cluster may add it, so take the definition from there, or " + remedy)
	case !x509.NewCertPool().AppendCertsFromPEM(config.CABundle):
		return nil, errors.New("spec.conversion.webhook.clientConfig.caBundle: it contains no certificate; if it is a placeholder, take the definition from the cluster, or " + remedy)
	}
	return config.CABundle, nil
}
