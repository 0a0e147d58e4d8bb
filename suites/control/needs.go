package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/suites"
)

// served is the need for a resource of the control plane. What it is for is said in words.
func served(groupVersion, resource, purpose string) suites.Need {
	return func(ctx SpecContext, env *suites.Env) string {
		if serves(ctx, env, groupVersion, resource) {
			return ""
		}
		return fmt.Sprintf("%s, but this API server does not serve %s of %s", purpose, resource, groupVersion)
	}
}

// serves reports whether discovery shows a resource or a subresource.
func serves(ctx SpecContext, env *suites.Env, groupVersion, resource string) bool {
	path := "/api/" + groupVersion
	if strings.Contains(groupVersion, "/") {
		path = "/apis/" + groupVersion
	}
	answer := env.Get(ctx, path)
	if answer.Status == http.StatusNotFound {
		return false
	}
	var list metav1.APIResourceList
	env.Require(decode(answer, &list), "reading discovery of %s", groupVersion)
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
}

// namespacesEnforced is the need for namespaces that are more than a part of a path.
func namespacesEnforced(ctx SpecContext, env *suites.Env) string {
	return served("v1", "namespaces/finalize", "namespaces that must exist")(ctx, env)
}

// aggregation is the need for the aggregator.
func aggregation(ctx SpecContext, env *suites.Env) string {
	return served("apiregistration.k8s.io/v1", "apiservices", "the aggregator of a control plane")(ctx, env)
}

// controllers is the need for kube-controller-manager at work. It holds a lease where there can be several; where there is no
// lease, what it creates for each namespace shows that it works.
func controllers(ctx SpecContext, env *suites.Env) string {
	const purpose = "the controllers of a control plane, and "
	answer := env.Get(ctx, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager")
	if answer.Status == http.StatusOK {
		var lease coordinationv1.Lease
		env.Require(decode(answer, &lease), "reading the lease of kube-controller-manager")
		if idle := idleFor(lease, answer.Header); idle > 0 {
			return fmt.Sprintf("%snone are active here: kube-controller-manager has not renewed its lease for %s", purpose, idle.Round(time.Second))
		}
		return ""
	}
	account := env.Get(ctx, "/api/v1/namespaces/"+suites.Namespace+"/serviceaccounts/default")
	if account.Status == http.StatusOK {
		return ""
	}
	if answer.Status == http.StatusForbidden || account.Status == http.StatusForbidden {
		return purpose + "the user of this run may read neither the lease of kube-controller-manager nor the service account of the namespace " + suites.Namespace
	}
	return fmt.Sprintf("%snone are active here: kube-controller-manager has no lease (HTTP status %d), and the namespace %s has no service account made by it (%d)",
		purpose, answer.Status, suites.Namespace, account.Status)
}

// namespacesEnd is the need for something that ends a namespace which is being deleted: its controller, or else this run.
func namespacesEnd(ctx SpecContext, env *suites.Env) string {
	if controllers(ctx, env) == "" {
		return ""
	}
	lacking := may("update", "", "namespaces/finalize")(ctx, env)
	if lacking != "" {
		lacking = "the namespace controller, or in its place " + lacking
	}
	return lacking
}

// missedRenewals is how many times its own duration a lease may go without being renewed before its holder counts as gone.
// Holders give up after one, and a new one may need a moment.
const missedRenewals = 4

// idleFor returns how long a lease was not renewed, by the clock of the server, when that is too long; otherwise 0.
func idleFor(lease coordinationv1.Lease, header http.Header) time.Duration {
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	if lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return 0 // it is not renewed, so it says nothing
	}
	idle := now.Sub(lease.Spec.RenewTime.Time)
	if idle <= missedRenewals*time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
		return 0
	}
	return idle
}

// may is the need for a right. A server that has no reviews of access refuses nothing either, or will say so itself.
func may(verb, group, resource string) suites.Need { return mayOn(verb, group, resource, "") }

// mayOn is the need for a right to what has a name, or to all where that is empty.
func mayOn(verb, group, resource, named string) suites.Need {
	return func(ctx SpecContext, env *suites.Env) string {
		name, sub, _ := strings.Cut(resource, "/")
		review := authorizationv1.SelfSubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: suites.Namespace, Verb: verb, Group: group, Resource: name, Subresource: sub, Name: named,
			}},
		}
		if reviewed(ctx, env, &review, nil) && !review.Status.Allowed {
			return fmt.Sprintf("the right to %s %s, which the user of this run does not have", verb, strings.TrimSuffix(resource+"."+group, "."))
		}
		return ""
	}
}

// rightTo is the need for a resource of custom objects other than crontabs. Roles know no patterns of groups, so it is one for all groups.
func rightTo(resource string) suites.Need { return may("list", "*", resource) }

// reviewed asks the server for a review of access, and reports whether it gave one.
func reviewed(ctx SpecContext, env *suites.Env, review *authorizationv1.SelfSubjectAccessReview, header http.Header) bool {
	body, err := json.Marshal(review)
	env.Require(err, "encoding a review of access")
	sent := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	maps.Copy(sent, header)
	answer := env.Do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, sent)
	return answer.Status == http.StatusCreated && json.Unmarshal(answer.Body, review) == nil
}

// decode reads the JSON of a successful answer.
func decode(answer suites.Answer, into any) error {
	if answer.Status < 200 || answer.Status > 299 {
		return fmt.Errorf("HTTP status %d: %s", answer.Status, answer.Body[:min(len(answer.Body), 500)])
	}
	return json.Unmarshal(answer.Body, into)
}

// preferred returns the version of a group that discovery prefers, and nothing when there is no such group.
func preferred(ctx SpecContext, env *suites.Env, group string) string {
	answer := env.Get(ctx, "/apis/"+group)
	if answer.Status == http.StatusNotFound {
		return ""
	}
	var found metav1.APIGroup
	env.Require(decode(answer, &found), "reading discovery of %s", group)
	return found.PreferredVersion.Version
}
