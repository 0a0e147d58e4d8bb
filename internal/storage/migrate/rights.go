package migrate

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mayDo asks the API server whether the user may do what the steps need, in all namespaces. One that can't be asked will say so when a
// request is refused.
func (m *migration) mayDo(ctx context.Context) error {
	group, resource := m.crd.Spec.Group, m.crd.Spec.Names.Plural
	wanted := []authorizationv1.ResourceAttributes{
		{Group: group, Resource: resource, Verb: "list"},
		{Group: group, Resource: resource, Verb: "get"},
		{Group: group, Resource: resource, Verb: "patch"},
	}
	if m.takes(StoredVersions) {
		wanted = append(wanted, authorizationv1.ResourceAttributes{
			Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Subresource: "status", Name: m.name, Verb: "patch",
		})
	}
	var missing []string
	for i := range wanted {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &wanted[i]}}
		answer, err := m.everything.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return fmt.Errorf("asking for the rights of the user: %w", err)
		case !answer.Status.Allowed:
			missing = append(missing, rightOf(wanted[i]))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the user may not %s in all namespaces; a ClusterRole has to allow it", strings.Join(missing, ", "))
	}
	return nil
}

// rightOf is a right as people say it, such as "patch crontabs.example.com".
func rightOf(a authorizationv1.ResourceAttributes) string {
	resource := a.Resource + "." + a.Group
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return a.Verb + " " + resource
}
