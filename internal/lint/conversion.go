package lint

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func webhookPath() *field.Path { return specPath().Child("conversion", "webhook") }
func clientPath() *field.Path  { return webhookPath().Child("clientConfig") }

// converts reports whether the definition has a webhook.
func (d *definition) converts() bool {
	conversion := d.crd.Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter
}

// client returns how the webhook is reached, or nil.
func (d *definition) client() *apiextensionsv1.WebhookClientConfig {
	if !d.converts() || d.crd.Spec.Conversion.Webhook == nil {
		return nil
	}
	return d.crd.Spec.Conversion.Webhook.ClientConfig
}

// checkConversion looks at the webhook, all but its caBundle.
func (c *checker) checkConversion() {
	if !c.converts() {
		return
	}
	if versions := c.crd.Spec.Versions; len(versions) == 1 {
		c.found(WebhookOneVersion, specPath().Child("conversion", "strategy"), "there is a conversion webhook but only one version, %s, so there is nothing to convert; use None until there is a second version", versions[0].Name)
	}
	if webhook := c.crd.Spec.Conversion.Webhook; webhook != nil {
		c.checkReviewVersions(webhook.ConversionReviewVersions)
	}
	client := c.client()
	if client == nil {
		return
	}
	if client.URL != nil {
		c.checkURL(*client.URL, clientPath().Child("url"))
	}
	if client.Service != nil {
		c.checkService(client.Service, clientPath().Child("service"))
		c.checkElsewhere(client.Service, clientPath().Child("service"))
	}
}

func (c *checker) checkReviewVersions(versions []string) {
	path := webhookPath().Child("conversionReviewVersions")
	known := []string{"v1", "v1beta1"}
	if len(versions) == 0 || !slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(known, v) }) {
		c.found(ReviewVersionsNone, path, "the list contains no version of ConversionReview that API servers support; add v1 (a version of ConversionReview, not of the definition)")
		return
	}
	for i, name := range versions {
		if slices.Contains(known, name) {
			continue
		}
		if _, own := c.version(name); own {
			c.found(ReviewVersionsUnknown, path.Index(i), "%s is a version of this definition, but the list is for versions of ConversionReview; remove it", name)
		} else {
			c.found(ReviewVersionsUnknown, path.Index(i), "there is no version %s of ConversionReview; remove it", name)
		}
	}
	if !slices.Contains(versions, "v1") {
		c.found(ReviewVersionsOld, path, "only v1beta1 of ConversionReview is listed, which is deprecated; make the webhook support v1, and list it first")
	}
}

func (c *checker) checkURL(text string, path *field.Path) {
	u, err := url.Parse(text)
	if err != nil {
		c.found(URLInvalid, path, "the URL cannot be parsed; write https://host:port/path")
		return
	}
	for _, problem := range []struct {
		there bool
		what  string
	}{
		{u.Scheme != "https", "does not begin with https://"},
		{u.Host == "", "has no host"},
		{u.User != nil, "has a user"},
		{u.RawQuery != "" || u.ForceQuery, "has a query"},
		{u.Fragment != "", "has a fragment"},
	} {
		if problem.there {
			c.found(URLInvalid, path, "the URL %s, so API servers reject it; write https://host:port/path", problem.what)
			return
		}
	}
	switch host := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")); {
	case inCluster(host):
		c.found(URLInCluster, path, "%s is a service of the cluster, whose name API servers may be unable to resolve; use a service reference", host)
	case local(host):
		c.found(URLLocalhost, path, "%s works only if the webhook runs on the host of every API server; otherwise use a service reference", host)
	}
}

// inCluster reports whether a host is a service, or anything else in the usual domain of a cluster.
func inCluster(host string) bool {
	labels := strings.Split(host, ".")
	return len(labels) >= 3 && labels[2] == "svc" || strings.HasSuffix(host, ".cluster.local")
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

func (c *checker) checkService(service *apiextensionsv1.ServiceReference, path *field.Path) {
	if service.Namespace == "" {
		c.found(ServiceInvalid, path.Child("namespace"), "the service reference has no namespace; add it")
	}
	if service.Name == "" {
		c.found(ServiceInvalid, path.Child("name"), "the service reference has no name; add it")
	}
	if port := service.Port; port != nil && (*port < 1 || *port > 65535) {
		c.found(ServiceInvalid, path.Child("port"), "%s is not a port; use 1 to 65535, or leave it out for 443", strconv.Itoa(int(*port)))
	}
	if p := service.Path; p != nil && !strings.HasPrefix(*p, "/") {
		c.found(ServiceInvalid, path.Child("path"), "the path %q does not begin with a slash; write %q", *p, "/"+*p)
	}
}
