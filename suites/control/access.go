package control

import (
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) access() {
	Describe("RBAC", func() {
		two := c.env.With(fixtures.Webhook, fixtures.WithSubresources())

		two.It(requirement.ControlAccessGroup,
			"grants read access with a rule for the group", func(ctx SpecContext, crd *suites.Resource) {
				somebody := c.somebody(ctx)
				for _, version := range []string{older, newer} {
					Expect(somebody.status(ctx, http.MethodGet, crd.Path(version))).To(Equal(http.StatusForbidden), "no access to %s has been granted yet", version)
				}
				somebody.let(ctx, crd, rule(crd.Group(), "crontabs", "list"))
				for _, version := range []string{older, newer} {
					Eventually(ctx, func() int { return somebody.status(ctx, http.MethodGet, crd.Path(version)) }).Should(Equal(http.StatusOK), "the rule must apply at %s", version)
					Expect(somebody.status(ctx, http.MethodDelete, crd.Path(version))).To(Equal(http.StatusForbidden), "the rule must not allow another verb at %s", version)
				}
			})

		two.It(requirement.ControlAccessNoVersions,
			"tries to grant read access with a rule that names a version", func(ctx SpecContext, crd *suites.Resource) {
				somebody := c.somebody(ctx)
				// The rule for the status shows when the role is in force.
				somebody.let(ctx, crd, rule(crd.APIVersion(newer), "crontabs", "list"), rule(crd.Group(), "crontabs."+newer, "list"), rule(crd.Group(), "crontabs/status", "get"))
				status := crd.Path(newer, "local-crontab", "status")
				Eventually(ctx, func() int { return somebody.status(ctx, http.MethodGet, status) }).ShouldNot(Equal(http.StatusForbidden), "the role must take effect")
				for _, version := range []string{older, newer} {
					Expect(somebody.status(ctx, http.MethodGet, crd.Path(version))).To(Equal(http.StatusForbidden), "a rule that names a version must not allow anything at %s", version)
				}
			})

		two.It(requirement.ControlAccessSubresources,
			"grants access to objects, and then to their subresources", func(ctx SpecContext, crd *suites.Resource) {
				somebody := c.somebody(ctx)
				object := fixtures.LocalCronTab.At(older)
				object.Object["spec"] = map[string]any{"replicas": int64(1)}
				crd.Create(ctx, older, object)
				asked := func(version string, sub ...string) int {
					return somebody.status(ctx, http.MethodGet, crd.Path(version, append([]string{"local-crontab"}, sub...)...))
				}
				somebody.let(ctx, crd, rule(crd.Group(), "crontabs", "get"))
				for _, version := range []string{older, newer} {
					Eventually(ctx, func() int { return asked(version) }).Should(Equal(http.StatusOK), "the object must be allowed at %s", version)
					for _, sub := range []string{"status", "scale"} {
						Expect(asked(version, sub)).To(Equal(http.StatusForbidden), "the %s must not be allowed at %s", sub, version)
					}
				}
				somebody.let(ctx, crd, rule(crd.Group(), "crontabs/status", "get"), rule(crd.Group(), "crontabs/scale", "get"))
				for _, version := range []string{older, newer} {
					for _, sub := range []string{"status", "scale"} {
						Eventually(ctx, func() int { return asked(version, sub) }).Should(Equal(http.StatusOK), "the %s must be allowed at %s", sub, version)
					}
				}
			})
	})
}

// somebody is a user who may do only what specs allow, each in a group of its own. It exists only by impersonation.
type somebody struct{ chapter }

// nobodyElse is the name of the user. The user who runs this may be given the right to impersonate it and nobody else.
const nobodyElse = "crdconform:somebody"

// somebody makes up a user, or skips the spec where RBAC is not in force.
func (c chapter) somebody(ctx SpecContext) somebody {
	GinkgoHelper()
	const rbac = "rbac.authorization.k8s.io"
	s := somebody{c}
	c.env.Needs(
		ctx, served(rbac+"/v1", "rolebindings", "RBAC"), mayOn("impersonate", "", "users", nobodyElse),
		may("create", rbac, "roles"), may("create", rbac, "rolebindings"), s.mayNothing,
	)
	return s
}

// mayNothing is the need for an API server that rejects everything that is not allowed.
func (s somebody) mayNothing(ctx SpecContext, env *suites.Env) string {
	review := authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: suites.Namespace, Verb: "get", Group: "nothing.crdconform.dev", Resource: "nothing",
		}},
	}
	if reviewed(ctx, env, &review, s.header()) && review.Status.Allowed {
		return "RBAC, but this API server allows everything to everyone"
	}
	return ""
}

// header makes the API server take a request for one of the user's.
func (s somebody) header() http.Header { return http.Header{"Impersonate-User": {nobodyElse}} }

// status returns the HTTP status that the user gets.
func (s somebody) status(ctx SpecContext, method, path string) int {
	GinkgoHelper()
	return s.env.Do(ctx, method, path, nil, s.header()).Status
}

// let lets the user do something in the namespace of the run, for the rest of the spec.
func (s somebody) let(ctx SpecContext, crd *suites.Resource, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	const version = "rbac.authorization.k8s.io/v1"
	role := s.put(ctx, crd, s.in(version, "roles"), &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Rules:      rules,
	})
	s.put(ctx, crd, s.in(version, "rolebindings"), &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.GetName()},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: nobodyElse}},
	})
	fmt.Fprintf(GinkgoWriter, "%s may now: %v\n", nobodyElse, rules)
}

// rule allows a verb for a resource.
func rule(group, resource, verb string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
}
