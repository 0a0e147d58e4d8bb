package doctor

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/requirement"
)

// soon is how long before its end a certificate is warned of.
const soon = 30 * 24 * time.Hour

const clientPath = "spec.conversion.webhook.clientConfig"

// local returns the webhook if it is a service, and else says why a requirement on services does not apply.
func (j *judge) local(id requirement.ID) *Webhook {
	switch {
	case j.Webhook == nil:
		j.spared(id, noWebhook)
	case !j.Webhook.Service:
		j.spared(id, "its webhook is called by a URL")
	default:
		return j.Webhook
	}
	return nil
}

// before reports whether something that has to be there first is missing, which another requirement is about.
func (j *judge) before(id requirement.ID, what Thing, other requirement.ID) bool {
	switch {
	case what.Unseen != "":
		j.unseen(id, what.Unseen)
	case !what.There || what.Wrong != "":
		j.spared(id, fmt.Sprintf("%s is violated", other))
	default:
		return false
	}
	return true
}

func (j *judge) namespace() {
	id := requirement.DoctorWebhookNamespace
	w := j.local(id)
	if w == nil {
		return
	}
	name := j.client().Service.Namespace
	switch {
	case w.Namespace.Unseen != "":
		j.unseen(id, w.Namespace.Unseen)
	case !w.Namespace.There:
		j.violates(id, "", clientPath+".service.namespace", fmt.Sprintf("the namespace %s of its webhook does not exist", name), "install the webhook again, or set spec.conversion.strategy to None if its versions have the same schema")
	case w.Namespace.Going:
		j.violates(id, "", clientPath+".service.namespace", fmt.Sprintf("the namespace %s of its webhook is being deleted", name), "delete the objects and the definition first, while the webhook can still convert them")
	default:
		j.passes(id)
	}
}

func (j *judge) service() {
	id := requirement.DoctorWebhookService
	w := j.local(id)
	if w == nil || j.before(id, w.Namespace, requirement.DoctorWebhookNamespace) {
		return
	}
	s := j.client().Service
	switch {
	case w.Exists.Unseen != "":
		j.unseen(id, w.Exists.Unseen)
	case !w.Exists.There:
		j.violates(id, "", clientPath+".service.name", fmt.Sprintf("the service %s/%s of its webhook does not exist", s.Namespace, s.Name), fmt.Sprintf("kubectl get services --namespace %s %s shows those that do", s.Namespace, j.flags))
	case w.Exists.Wrong != "":
		j.violates(id, "", clientPath+".service.name", fmt.Sprintf("the service %s/%s of its webhook cannot be called: %s", s.Namespace, s.Name, w.Exists.Wrong), "give the service a selector")
	case !w.Port.There:
		j.violates(id, "", clientPath+".service.port", fmt.Sprintf("the service %s/%s of its webhook has no port %d; %s", s.Namespace, s.Name, portOf(s), w.Port.Wrong), "name a port of the service in the definition; 443 is the default")
	default:
		j.passes(id)
	}
}

func (j *judge) endpoints() {
	id := requirement.DoctorWebhookEndpoints
	w := j.local(id)
	if w == nil || j.before(id, w.Namespace, requirement.DoctorWebhookNamespace) || j.before(id, w.Exists, requirement.DoctorWebhookService) || j.before(id, w.Port, requirement.DoctorWebhookService) {
		return
	}
	s := j.client().Service
	switch {
	case w.Unseen != "":
		j.unseen(id, w.Unseen)
	case w.Ready == 0:
		j.violates(id, "", clientPath+".service", fmt.Sprintf("the service %s/%s of its webhook has no ready endpoint (of %d)", s.Namespace, s.Name, w.Endpoints), fmt.Sprintf("kubectl get pods --namespace %s %s shows whether its pods run", s.Namespace, j.flags))
	case len(w.Workloads) > 1:
		j.violates(id, requirement.PartWarning, clientPath+".service", fmt.Sprintf("behind the service %s/%s of its webhook are the pods of %s, each of which gets a part of the conversions", s.Namespace, s.Name, strings.Join(w.Workloads, " and of ")),
			fmt.Sprintf("narrow the selector of the service to the pods of the webhook; kubectl get pods --namespace %s --show-labels %s shows what they have in common", s.Namespace, j.flags))
	default:
		j.passes(id)
	}
}

// down returns the requirement that says why no conversion can succeed, if one does.
func (j *judge) down() requirement.ID {
	for _, r := range j.results {
		if r.Verdict == requirement.Failed && strings.HasPrefix(string(r.ID), "doctor.webhook.") {
			return r.ID
		}
	}
	return ""
}

func (j *judge) converts() {
	id := requirement.DoctorWebhookConverts
	if j.Webhook == nil {
		j.spared(id, noWebhook)
		return
	}
	if j.Unconvertible {
		j.spared(id, j.Unconverted)
		return
	}
	var wrong []string
	for _, c := range j.Conversions {
		if c.Err == nil || isUnnamed(c.Err) {
			continue
		}
		if missing(c.Err) {
			j.unseen(id, c.Err.Error())
			return
		}
		wrong = append(wrong, c.Err.Error())
	}
	switch cause := j.down(); {
	case len(wrong) == 0 && len(j.unnamed()) > 0:
		j.spared(id, fmt.Sprintf("%s is violated", requirement.DoctorStorageReadable))
	case len(wrong) == 0:
		j.passes(id)
	case cause != "":
		j.spared(id, fmt.Sprintf("%s is violated", cause))
	default:
		j.violates(id, "", clientPath, strings.Join(wrong, "\n"), "crdconform check --from-crd checks the webhook; its log says more")
	}
}

func (j *judge) bundle() {
	id := requirement.DoctorCertificateBundle
	switch {
	case j.Webhook == nil:
		j.spared(id, noWebhook)
	case j.Unlinted == "" && len(j.client().CABundle) == 0 && j.Webhook.Service:
		j.violates(id, "", clientPath+".caBundle", "there is no caBundle"+j.injector(), "put the authority that signed the certificate of the webhook there")
	case !j.lintVerdict(id, j.linted(func(r lint.RuleID) bool { return slices.Contains(rules(id), r) }), requirement.PartWarning):
		j.passes(id)
	}
}

// injector says who should have filled the caBundle in.
func (j *judge) injector() string {
	for name, value := range j.Annotations {
		if strings.Contains(name, "/inject-") {
			return fmt.Sprintf(", although %s is %q: nobody filled it in", name, value)
		}
	}
	return ""
}

func (j *judge) expiry() {
	id := requirement.DoctorCertificateExpiry
	if j.Webhook == nil {
		j.spared(id, noWebhook)
		return
	}
	if j.lintVerdict(id, j.linted(func(r lint.RuleID) bool { return slices.Contains(rules(id), r) }), requirement.PartSoon) {
		return
	}
	for _, certificate := range j.Webhook.Chain {
		day := certificate.NotAfter.UTC().Format(time.DateOnly)
		switch {
		case j.now.After(certificate.NotAfter):
			j.violates(id, "", clientPath, fmt.Sprintf("the certificate that its webhook serves (%s) expired on %s", subject(certificate), day), "renew it, and restart the webhook if it does not read it again")
			return
		case j.now.Before(certificate.NotBefore):
			j.violates(id, "", clientPath, fmt.Sprintf("the certificate that its webhook serves (%s) is not valid before %s", subject(certificate), certificate.NotBefore.UTC().Format(time.RFC3339)), "check the clock of the issuer")
			return
		case certificate.NotAfter.Sub(j.now) < soon:
			j.violates(id, requirement.PartSoon, clientPath, fmt.Sprintf("the certificate that its webhook serves (%s) expires on %s", subject(certificate), day), "renew it, and restart the webhook if it does not read it again")
			return
		}
	}
	if j.Webhook.Chain == nil {
		j.spared(id, "its authority is valid, and the certificate that its webhook serves was not seen: "+j.Webhook.Unreached)
		return
	}
	j.passes(id)
}

func (j *judge) served() {
	id := requirement.DoctorCertificateServed
	if j.Webhook == nil {
		j.spared(id, noWebhook)
		return
	}
	for _, r := range j.results {
		if r.ID == requirement.DoctorCertificateBundle && r.Verdict == requirement.Failed {
			j.spared(id, fmt.Sprintf("%s is violated", r.ID))
			return
		}
	}
	w := j.Webhook
	switch {
	case j.Trust != nil:
		j.violates(id, "", clientPath+".caBundle", fmt.Sprintf("API servers do not accept the certificate that its webhook serves: %v", j.Trust), "put the authority of that certificate into the caBundle, or issue one for "+w.ServerName)
	case w.Chain != nil:
		j.passes(id)
	case w.Broken:
		j.violates(id, "", clientPath, w.Unreached, "serve HTTPS at that port")
	case j.converted():
		j.passes(id)
	default:
		j.spared(id, w.Unreached)
	}
}

// converted reports whether an API server was seen to convert by the webhook, which it does for a certificate that it verified only.
func (j *judge) converted() bool {
	ok := func(c Conversion) bool { return c.Err == nil }
	return len(j.Conversions) > 1 && !slices.ContainsFunc(j.Conversions, func(c Conversion) bool { return !ok(c) })
}

// subject names a certificate.
func subject(x *x509.Certificate) string {
	if name := x.Subject.String(); name != "" {
		return name
	}
	return "serial number " + x.SerialNumber.String()
}
