package control

import (
	"context"
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

// registration is the API of admission webhooks and policies.
const registration = admissionregistrationv1.GroupName

// admission is about webhooks and policies that see objects, and may change them, on their way in.
func (c chapter) admission() {
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
				path := c.admits(ctx, crd, older, admissionregistrationv1.Equivalent, `[{"op": "add", "path": "/parent", "value": {}}]`)
				n := 0
				Eventually(ctx, func() (map[string]any, error) {
					n++
					return c.admitted(ctx, crd, newer, fmt.Sprint("defaults-", n))
				}).WithPolling(poll).Should(HaveKeyWithValue("parent", map[string]any{"name": "by-" + older}), "the default of v1beta1 must be filled in")
				Expect(reviews(crd, path)).NotTo(BeEmpty())
			})

		c.env.With(fixtures.Webhook, parent).It(requirement.ControlAdmissionPruned,
			"creates an object to which an admission webhook adds a field that is known and one that is not", func(ctx SpecContext, crd *suites.Resource) {
				c.admits(ctx, crd, newer, admissionregistrationv1.Equivalent, `[{"op": "add", "path": "/parent", "value": {"name": "added"}}, {"op": "add", "path": "/unknown", "value": "added"}]`)
				n := 0
				var created map[string]any
				Eventually(ctx, func() (map[string]any, error) {
					n++
					var err error
					created, err = c.admitted(ctx, crd, newer, fmt.Sprint("pruned-", n))
					return created, err
				}).WithPolling(poll).Should(HaveKeyWithValue("parent", map[string]any{"name": "added"}), "the webhook must change objects")
				Expect(created).NotTo(HaveKey("unknown"), "what no schema has must be removed")
				Expect(crd.At(newer).Get(ctx, fmt.Sprint("pruned-", n))).To(HaveField("Object", Not(HaveKey("unknown"))), "what no schema has must be removed")
			})

		c.env.With(fixtures.Webhook).It(requirement.ControlAdmissionEquivalent,
			"creates, changes and deletes an object at v1 where the rule of an admission webhook names v1beta1", func(ctx SpecContext, crd *suites.Resource) {
				path := c.admits(ctx, crd, older, admissionregistrationv1.Equivalent, `[]`)
				c.inEffect(ctx, crd, newer, path)
				for _, write := range []struct {
					operation admissionv1.Operation
					was, is   string
					do        func() error
				}{
					{admissionv1.Create, "", "localhost:1234", func() error { return suites.ErrorOf(c.admitted(ctx, crd, newer, "equivalent")) }},
					{admissionv1.Update, "localhost:1234", "localhost:4321", func() error { return suites.ErrorOf(crd.At(newer).MergePatch(ctx, "equivalent", `{"port": "4321"}`)) }},
					{admissionv1.Delete, "localhost:4321", "", func() error { return crd.At(newer).Delete(ctx, "equivalent") }},
				} {
					crd.Webhook.Forget()
					Expect(write.do()).To(Succeed(), "%s", write.operation)
					asked := reviews(crd, path)
					Expect(asked).NotTo(BeEmpty(), "the webhook must be asked: %s", write.operation)
					for _, one := range asked {
						Expect(one.Operation).To(Equal(write.operation))
						Expect([]string{one.Kind.Version, one.Resource.Version}).To(HaveEach(older), "it must be asked at the version of its rule: %s", write.operation)
						Expect([]string{one.RequestKind.Version, one.RequestResource.Version}).To(HaveEach(newer), "it must receive the version of the client: %s", write.operation)
					}
					// An API server asks again where its cache did not have the last write yet. What it asks last is what it does.
					last := asked[len(asked)-1]
					Expect([]string{hostPort(last.OldObject.Raw), hostPort(last.Object.Raw)}).To(Equal([]string{write.was, write.is}), "the object must be converted to v1beta1, before and after: %s", write.operation)
				}
			})

		c.env.With(fixtures.Webhook).It(requirement.ControlAdmissionExact,
			"creates objects at v1beta1, which the rule of an admission webhook names, and at v1, which it does not", func(ctx SpecContext, crd *suites.Resource) {
				path := c.admits(ctx, crd, older, admissionregistrationv1.Exact, `[]`)
				c.inEffect(ctx, crd, older, path)
				crd.Webhook.Forget()
				Expect(c.admitted(ctx, crd, newer, "exact")).Error().NotTo(HaveOccurred())
				Expect(reviews(crd, path)).To(BeEmpty(), "it must not be asked about writes at v1")
			})

		c.env.With(fixtures.Webhook).It(requirement.ControlAdmissionPolicy,
			"creates objects at v1 that policies for v1beta1 deny", func(ctx SpecContext, crd *suites.Resource) {
				const policies, bindings = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
				c.env.Needs(ctx, served(registration+"/v1", policies, "admission policies"), may("create", registration, policies), may("create", registration, bindings))
				for _, match := range []admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Equivalent, admissionregistrationv1.Exact} {
					created := c.put(ctx, crd, c.resource(registration+"/v1", policies), denying(crd, match))
					c.put(ctx, crd, c.resource(registration+"/v1", bindings), bound(created.GetName()))
				}
				n := 0
				create := func(version, host string) error {
					n++
					object := fixtures.LocalCronTab.At(version)
					object.SetName(fmt.Sprint("policy-", n))
					if version == newer {
						object.Object["host"], object.Object["port"] = host, "1"
					} else {
						object.Object["hostPort"] = host + ":1"
					}
					return suites.ErrorOf(crd.At(version).Create(ctx, object))
				}
				denied := func(match admissionregistrationv1.MatchPolicyType) OmegaMatcher {
					return MatchError(ContainSubstring("denied by " + string(match)))
				}
				for _, match := range []admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Equivalent, admissionregistrationv1.Exact} {
					Eventually(ctx, func() error { return create(older, string(match)) }).WithPolling(poll).Should(denied(match), "policies must deny what they are about")
				}
				Expect(create(newer, string(admissionregistrationv1.Equivalent))).To(denied(admissionregistrationv1.Equivalent), "Equivalent must apply to v1 as well, with the object at v1beta1")
				Expect(create(newer, string(admissionregistrationv1.Exact))).To(Succeed(), "Exact must not apply to v1")
			})
	})
}

// admits has an admission webhook asked about the objects of a definition at a version, which changes them by a JSON patch, and returns the
// path at which it is asked.
func (c chapter) admits(ctx SpecContext, crd *suites.Resource, version string, match admissionregistrationv1.MatchPolicyType, patch string) string {
	GinkgoHelper()
	const configurations = "mutatingwebhookconfigurations"
	c.env.Needs(ctx, served(registration+"/v1", configurations, "admission webhooks"), may("create", registration, configurations))
	path := "/admit-" + crd.Group()
	crd.Webhook.Also(path)
	crd.Webhook.Serve(admitting(path, patch))
	c.put(ctx, crd, c.resource(registration+"/v1", configurations), sentAt(version, crd, path, match))
	return path
}

// admitted creates an object at a version.
func (c chapter) admitted(ctx context.Context, crd *suites.Resource, version, name string) (map[string]any, error) {
	object := fixtures.LocalCronTab.At(version)
	object.SetName(name)
	created, err := crd.At(version).Create(ctx, object)
	if err != nil {
		return nil, err
	}
	return created.Object, nil
}

// inEffect creates objects at a version until the admission webhook is asked about one.
func (c chapter) inEffect(ctx SpecContext, crd *suites.Resource, version, path string) {
	GinkgoHelper()
	n := 0
	Eventually(ctx, func() ([]*admissionv1.AdmissionRequest, error) {
		n++
		_, err := c.admitted(ctx, crd, version, fmt.Sprint("waiting-", n))
		return reviews(crd, path), err
	}).WithPolling(poll).ShouldNot(BeEmpty(), "the webhook must be asked about writes at %s", version)
}

// reviews returns what an admission webhook was asked at a path.
func reviews(crd *suites.Resource, path string) []*admissionv1.AdmissionRequest {
	var asked []*admissionv1.AdmissionRequest
	for _, received := range crd.Webhook.Received() {
		var review admissionv1.AdmissionReview
		if received.Path == path && json.Unmarshal(received.Body, &review) == nil && review.Request != nil {
			asked = append(asked, review.Request)
		}
	}
	return asked
}

// hostPort is the field of that name of an object in JSON; empty where there is none.
func hostPort(object []byte) string {
	var fields struct {
		HostPort string `json:"hostPort"`
	}
	if json.Unmarshal(object, &fields) != nil {
		return ""
	}
	return fields.HostPort
}

// denying is a policy about objects at v1beta1 that denies the host that is named as its matchPolicy.
func denying(crd *suites.Resource, match admissionregistrationv1.MatchPolicyType) *admissionregistrationv1.ValidatingAdmissionPolicy {
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{MatchPolicy: &match, ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create}, Rule: ruleOf(crd, older)},
			}}},
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf(`!has(object.hostPort) || object.hostPort != '%s:1'`, match),
				Message:    "denied by " + string(match),
			}},
		},
	}
}

// bound has a policy deny.
func bound(policy string) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
}

// ruleOf names the objects of a definition at a version.
func ruleOf(crd *suites.Resource, version string) admissionregistrationv1.Rule {
	return admissionregistrationv1.Rule{APIGroups: []string{crd.Group()}, APIVersions: []string{version}, Resources: []string{"crontabs"}}
}

// sentAt makes API servers send the objects of a definition to its webhook before they store them, at a version and a path.
func sentAt(version string, crd *suites.Resource, path string, match admissionregistrationv1.MatchPolicyType) *admissionregistrationv1.MutatingWebhookConfiguration {
	none, ignore := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore
	url := "https://" + crd.Webhook.Address() + path
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:         "admission." + crd.Group(),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: crd.Webhook.CA()},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
				Rule:       ruleOf(crd, version),
			}},
			MatchPolicy:             &match,
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
