package lint

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// expiringWithin is how long before its end a caBundle is warned of.
const expiringWithin = 30 * 24 * time.Hour

// knativeInstall is a label of definitions whose webhook fills the caBundle in by itself.
const knativeInstall = "knative.dev/crd-install"

// checkCABundle looks at the certificates that the webhook is verified by, or at what is to fill them in.
func (c *checker) checkCABundle() {
	client := c.client()
	if client == nil {
		return
	}
	injected := c.checkInjection()
	switch {
	case c.badBundle != "":
		c.badCABundle(injected, "is not base64")
	case len(client.CABundle) > 0:
		c.checkCertificates(client.CABundle, injected)
	case client.Service != nil && !injected && c.crd.Labels[knativeInstall] == "" && !c.isScaffold(service{client.Service.Namespace, client.Service.Name}):
		level, advice := Note, "add one, unless a controller of your own does so"
		if c.crd.UID != "" { // it comes from a cluster, where whatever adds one would have done so
			level, advice = Warning, "add one"
		}
		c.foundAs(level, CABundleMissing, clientPath(), "there is no caBundle, and no annotation that makes cert-manager or OpenShift add it; %s", advice)
	}
}

// badCABundle notes a caBundle that cannot be used. What is replaced by a controller hurts until then only.
func (c *checker) badCABundle(injected bool, problem string) {
	path := clientPath().Child("caBundle")
	if injected {
		c.foundAs(Warning, CABundleInvalid, path, "the caBundle %s; the annotation causes it to be replaced, so leave it out", problem)
		return
	}
	c.found(CABundleInvalid, path, "the caBundle %s; put the base64 of the PEM of the authority there, or leave it out if a controller adds it", problem)
}

func (c *checker) checkCertificates(bundle []byte, injected bool) {
	if len(bytes.TrimSpace(bundle)) == 0 {
		c.badCABundle(injected, "is a placeholder that contains only white space")
		return
	}
	certificates, problem := parse(bundle)
	if problem != "" {
		c.badCABundle(injected, problem)
		return
	}
	c.checkValidity(certificates)
	if !slices.ContainsFunc(certificates, authority) {
		c.found(CABundleLeaf, clientPath().Child("caBundle"), "the caBundle contains a server certificate, %s, instead of an authority; use the authority that signed it", subject(certificates[0]))
	}
}

// parse returns the certificates of a bundle, or what is wrong with it.
func parse(bundle []byte) (certificates []*x509.Certificate, problem string) {
	blocks := 0
	for rest := bundle; ; blocks++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, "contains a certificate that cannot be parsed"
		}
		certificates = append(certificates, certificate)
	}
	switch {
	case blocks == 0:
		return nil, "is not PEM"
	case len(certificates) == 0:
		return nil, "contains no certificate"
	}
	return certificates, ""
}

// checkValidity looks at the time that the last certificate to expire has left. Others may be left of a rotation.
func (c *checker) checkValidity(certificates []*x509.Certificate) {
	path := clientPath().Child("caBundle")
	day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	current := slices.DeleteFunc(slices.Clone(certificates), func(x *x509.Certificate) bool { return c.now.After(x.NotAfter) })
	if len(current) == 0 {
		last := slices.MaxFunc(certificates, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		c.found(CABundleExpired, path, "the caBundle (%s) expired on %s; renew it", subject(last), day(last.NotAfter))
		return
	}
	valid := slices.DeleteFunc(slices.Clone(current), func(x *x509.Certificate) bool { return c.now.Before(x.NotBefore) })
	if len(valid) == 0 {
		first := slices.MinFunc(current, func(a, b *x509.Certificate) int { return a.NotBefore.Compare(b.NotBefore) })
		c.found(CABundleNotYetValid, path, "the caBundle (%s) is not valid before %s; check the clock of the issuer", subject(first), day(first.NotBefore))
		return
	}
	last := slices.MaxFunc(current, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	if last.NotAfter.Sub(c.now) < expiringWithin {
		c.found(CABundleExpiring, path, "the caBundle (%s) expires on %s; renew it", subject(last), day(last.NotAfter))
	}
}

// authority reports whether a certificate can vouch for others. Those before version 3 have no extension to say so.
func authority(x *x509.Certificate) bool { return x.IsCA || x.Version < 3 }

func subject(x *x509.Certificate) string {
	if name := x.Subject.CommonName; name != "" {
		return name
	}
	if name := x.Subject.String(); name != "" {
		return name
	}
	return "serial number " + x.SerialNumber.String()
}

// checkInjection looks at the annotations by which a controller fills the caBundle in, and returns whether there is one.
func (c *checker) checkInjection() bool {
	injected := false
	for _, name := range []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret"} {
		value, found := c.crd.Annotations[name]
		injected = injected || found
		if found && c.isWritten(annotationPath(name).String()) && !namespacedName(value) { // what patches have, kustomize has yet to replace
			c.found(InjectionMalformed, annotationPath(name), "%s is %q; it must be namespace/name%s", name, value, templated(value))
		}
	}
	for _, name := range []string{"cert-manager.io/inject-apiserver-ca", "service.beta.openshift.io/inject-cabundle", "service.alpha.openshift.io/inject-cabundle"} {
		value, found := c.crd.Annotations[name]
		injected = injected || found
		if found && value != "true" {
			c.found(InjectionMalformed, annotationPath(name), "%s is %q; it must be \"true\"%s", name, value, templated(value))
		}
	}
	for name := range c.crd.Annotations {
		if strings.HasPrefix(name, "certmanager.k8s.io/inject-") {
			c.found(InjectionLegacy, annotationPath(name), "cert-manager no longer reads %s; use cert-manager.io/inject-ca-from", name)
		}
	}
	return injected
}

func annotationPath(name string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(name)
}

func namespacedName(value string) bool {
	namespace, name, found := strings.Cut(value, "/")
	return found && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// templated says what to do about a value that is yet to be replaced.
func templated(value string) string {
	if strings.Contains(value, "{{") || strings.Contains(value, "$(") || strings.HasPrefix(value, "CERTIFICATE_") {
		return "; this looks like a template: render it first"
	}
	return ""
}
