package lint

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdconform/crdconform/internal/manifest"
)

// scaffold is the service of kubebuilder's layout, whose names kustomize completes in another folder, config/default.
var scaffold = service{namespace: "system", name: "webhook-service"}

// service is the name of a Service. Without a namespace, it is installed in whichever the user says.
type service struct{ namespace, name string }

func (s service) String() string { return s.namespace + "/" + s.name }

// is reports whether another service is the same one, as far as that is known.
func (s service) is(other service) bool {
	return s.name == other.name && (other.namespace == "" || s.namespace == other.namespace)
}

// inScaffold reports whether kustomize has yet to complete the namespace.
func (s service) inScaffold() bool { return s.namespace == scaffold.namespace && s.ends(scaffold) }

// ends reports whether the service is called as another one, with or without the prefix of a project.
func (s service) ends(other service) bool {
	return s.name == other.name || strings.HasSuffix(s.name, "-"+other.name)
}

// services returns the Services among manifests. Definitions, which are large, are passed over unread.
func services(name string, data []byte) []service {
	var all []service
	for _, d := range manifest.Documents(name, data) {
		if bytes.Contains(d.Text, []byte("CustomResourceDefinition")) {
			continue
		}
		var one struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
		}
		if inJSON, err := d.LastJSON(); err == nil && json.Unmarshal(inJSON, &one) == nil && one.Kind == "Service" {
			all = append(all, service{one.Metadata.Namespace, one.Metadata.Name})
		}
	}
	return all
}

// isScaffold reports whether the webhook is at the service of kubebuilder's layout, in whose place another kustomization puts the real one
// when it adds what injects the caBundle.
func (c *checker) isScaffold(to service) bool {
	return (c.built != nil || c.unbuilt != nil || len(c.patches) > 0) && to.inScaffold()
}

// checkElsewhere looks at whether the webhook's service is what the manifests beside the definition install.
func (c *checker) checkElsewhere(reference *apiextensionsv1.ServiceReference, path *field.Path) {
	to := service{reference.Namespace, reference.Name}
	switch {
	case c.isScaffold(to):
		return
	case to.inScaffold():
		c.found(ServiceElsewhere, path.Child("namespace"), "the namespace system stands for the one that kustomize is to fill in, so API servers do not find the service %s; give users the output of kustomize build config/default, or write the namespace", to)
		return
	}
	all := c.services()
	means := func(other service) bool {
		return other.ends(to) && (other.namespace == "" || other.namespace == to.namespace || other.name == to.name)
	}
	if i := slices.IndexFunc(all, means); i >= 0 && !slices.ContainsFunc(all, to.is) {
		c.found(ServiceElsewhere, path, "the webhook is at the service %s, but what is installed beside the definition is %s: API servers do not find the former; write the names of the latter", to, strings.TrimPrefix(all[i].String(), "/"))
	}
}
