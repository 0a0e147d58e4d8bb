package existing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Right is something that a run does and must be allowed to do: a verb on a resource, or on a path that belongs to no
// resource.
type Right struct {
	Verb     string
	Group    string // API group of the resource; empty for the core group
	Resource string // plural, with a slash before a subresource
	Path     string // in place of a resource
}

// String is the right as people say it, such as "create services".
func (r Right) String() string {
	switch {
	case r.Path != "":
		return r.Verb + " " + r.Path
	case r.Group != "":
		return r.Verb + " " + r.Resource + " of " + r.Group
	}
	return r.Verb + " " + r.Resource
}

func (r Right) review() *authorizationv1.SelfSubjectAccessReview {
	review := &authorizationv1.SelfSubjectAccessReview{}
	if r.Path != "" {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: r.Verb, Path: r.Path}
		return review
	}
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: subresource}
	return review
}

// definitions is the plural of CustomResourceDefinitions.
const definitions = "customresourcedefinitions"

// Rights returns what a run with the options needs to be allowed to do. Custom resources are those of the definitions that are
// checked, or those of all groups of the run, of which one stands for the others.
func Rights(options Options) []Right {
	verbs := func(group, resource string, verbs ...string) []Right {
		rights := make([]Right, 0, len(verbs))
		for _, verb := range verbs {
			rights = append(rights, Right{Verb: verb, Group: group, Resource: resource})
		}
		return rights
	}
	// All authenticated users may ask for these, unless that right was removed.
	group := (&Cluster{options: options}).Domain()
	rights := []Right{{Verb: "get", Path: "/version"}, {Verb: "get", Path: "/apis"}, {Verb: "get", Path: "/apis/" + group}}
	if options.ReadOnly {
		return append(rights, verbs(apiextensionsv1.GroupName, definitions, "get", "list")...)
	}
	rights = slices.Concat(rights,
		verbs(apiextensionsv1.GroupName, definitions, "create", "get", "list", "update", "patch", "delete"),
		verbs(apiextensionsv1.GroupName, definitions+"/status", "get", "update", "patch"),
	)
	const status, scale = "status", "scale"
	custom := func(group, plural string, subresources ...string) {
		rights = append(rights, verbs(group, plural, "create", "get", "list", "watch", "update", "patch", "delete", "deletecollection")...)
		for _, subresource := range subresources {
			rights = append(rights, verbs(group, plural+"/"+subresource, "get", "update", "patch")...)
		}
	}
	for _, crd := range options.Definitions {
		var subresources []string
		has := func(which func(*apiextensionsv1.CustomResourceSubresources) bool) bool {
			return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
				return v.Subresources != nil && which(v.Subresources)
			})
		}
		if has(func(s *apiextensionsv1.CustomResourceSubresources) bool { return s.Status != nil }) {
			subresources = append(subresources, status)
		}
		if has(func(s *apiextensionsv1.CustomResourceSubresources) bool { return s.Scale != nil }) {
			subresources = append(subresources, scale)
		}
		custom(crd.Spec.Group, crd.Spec.Names.Plural, subresources...)
	}
	switch {
	case len(options.Definitions) == 0:
		custom(group, plural, status, scale)
	case options.WebhookHost != "": // the object of the probe
		rights = append(rights, verbs(group, plural, "create", "get", "patch")...)
	}
	if unroutable(options.WebhookHost) == "" {
		rights = slices.Concat(rights,
			verbs("", "namespaces", "create", "get", "delete"),
			verbs("", "services", "create", "update", "delete"),
			verbs(discoveryv1.GroupName, "endpointslices", "create", "delete"),
		)
	}
	return rights
}

// MissingError lists the rights that the user does not have.
type MissingError struct {
	Missing []Right

	custom bool // whether the definitions are the user's
}

func (e *MissingError) Error() string {
	var all []string
	for i := 0; i < len(e.Missing); {
		right, verbs := e.Missing[i], []string(nil)
		for ; i < len(e.Missing) && e.Missing[i].Path == right.Path && e.Missing[i].Group == right.Group && e.Missing[i].Resource == right.Resource; i++ {
			verbs = append(verbs, e.Missing[i].Verb)
		}
		right.Verb = strings.Join(verbs, ", ")
		all = append(all, right.String())
	}
	but := ""
	if e.custom {
		but = ", with resources of your own"
	}
	return fmt.Sprintf("the user may not %s; deploy/rbac.yaml of crdconform has the required rights%s", strings.Join(all, "; "), but)
}

// preflight asks the API server whether the user has rights. The error is a MissingError when the user lacks any.
func (c *Cluster) preflight(ctx context.Context, rights []Right) error {
	reviews := c.client.AuthorizationV1().SelfSubjectAccessReviews()
	var missing []Right
	for _, right := range rights {
		answer, err := reviews.Create(ctx, right.review(), metav1.CreateOptions{})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return errors.New("the rights of the user are unknown: the API server rejects SelfSubjectAccessReviews, which system:basic-user allows")
		case err != nil:
			return fmt.Errorf("checking whether the user may %s: %w", right, redacted(err, c.config))
		case !answer.Status.Allowed:
			missing = append(missing, right)
		}
	}
	if len(missing) > 0 {
		return &MissingError{missing, len(c.options.Definitions) > 0}
	}
	return nil
}
