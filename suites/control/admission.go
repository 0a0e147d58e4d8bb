package control

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// admission is about webhooks that change objects on their way in.
func (c chapter) admission() {
	const group = admissionregistrationv1.GroupName

	// Each version has a default of its own, for a field of an object that only the webhook adds.
	parent := func(crd *apiextensionsv1.CustomResourceDefinition) {
		for _, version := range []string{older, newer} {
			fixtures.WithProperty(version, "parent", apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"name": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"by-` + version + `"`)}},
			}})(crd)
		}
	}

	Describe("admission", func() {
		c.env.With(fixtures.Webhook, parent).It(requirement.ControlAdmissionDefaults,
			"creates an object at v1 that an admission webhook receives at v1beta1, and returns an object without a field that has a default", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(
					ctx, served(group+"/v1", "mutatingwebhookconfigurations", "admission webhooks"), may("create", group, "mutatingwebhookconfigurations"),
				)
				path := "/admit-" + crd.Group()
				crd.Webhook.Also(path)
				crd.Webhook.Serve(admitting(path, `[{"op": "add", "path": "/parent", "value": {}}]`))
				c.put(ctx, crd, c.resource(group+"/v1", "mutatingwebhookconfigurations"), sentAt(older, crd, path))
				n := 0
				Eventually(ctx, func() (map[string]any, error) {
					n++
					object := fixtures.LocalCronTab.At(newer)
					object.SetName(fmt.Sprint("admitted-", n))
					created, err := crd.At(newer).Create(ctx, object)
					if err != nil {
						return nil, err
					}
					return created.Object, nil
				}).WithPolling(poll).Should(HaveKeyWithValue("parent", map[string]any{"name": "by-" + older}), "the default of v1beta1 must be filled in")
			})
	})
}

// sentAt makes API servers send the objects of a definition to its webhook before they store them, at a version and a path.
func sentAt(version string, crd *suites.Resource, path string) *admissionregistrationv1.MutatingWebhookConfiguration {
	none, ignore := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore
	url := "https://" + crd.Webhook.Address() + path
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:         "admission." + crd.Group(),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: crd.Webhook.CA()},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{crd.Group()}, APIVersions: []string{version}, Resources: []string{"crontabs"}},
			}},
			FailurePolicy:           &ignore,
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// admitting admits objects at a path, changed by a JSON patch, and converts objects elsewhere.
func admitting(path, patch string) http.Handler {
	convert := webhook.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			convert.ServeHTTP(w, r)
			return
		}
		var review admissionv1.AdmissionReview
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &review) != nil || review.Request == nil {
			http.Error(w, "want an AdmissionReview", http.StatusBadRequest)
			return
		}
		form := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: []byte(patch), PatchType: &form}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			return // the API server went away
		}
	})
}
