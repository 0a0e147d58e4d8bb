// Package subresources checks the status and scale subresources of custom objects.
package subresources

import (
	"context"
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on subresources.
var Area = suites.Area{Name: "subresources", Register: register}

func register(env *suites.Env) {
	c := chapter{env: env, documented: env.With(fixtures.StableSubresources, bounded).Together()}
	c.status()
	c.scale()
	c.versions()
}

// chapter declares the specs.
type chapter struct {
	env *suites.Env

	// documented is the documents' definition with both subresources and with bounds on the replicas, for specs that only
	// create objects, each under a name that no other has.
	documented suites.Setup
}

type (
	definition = apiextensionsv1.CustomResourceDefinition
	schema     = apiextensionsv1.JSONSchemaProps
)

// bounded limits the replicas of the spec as the documents do elsewhere.
func bounded(crd *definition) {
	changed(func(root *schema) {
		root.Properties["spec"].Properties["replicas"] = schema{Type: "integer", Minimum: new(1.0), Maximum: new(10.0)}
	})(crd)
}

// changed changes the schema of every version.
func changed(change func(root *schema)) fixtures.Option {
	return func(crd *definition) {
		for i := range crd.Spec.Versions {
			change(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
	}
}

// scalable creates the documents' object with three replicas under a name.
func scalable(ctx context.Context, crd *suites.Resource, name string) *unstructured.Unstructured {
	GinkgoHelper()
	return crd.Create(ctx, "v1", named(name))
}

// named is the documents' object with three replicas under a name.
func named(name string) *unstructured.Unstructured {
	object := fixtures.Scalable.At("v1")
	object.SetName(name)
	return object
}

// put sets a field of an object and returns the object.
func put(object *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		panic("subresources: " + err.Error()) // the objects are ours
	}
	return object
}

// discovered returns what discovery says of the resources of a version, by their names.
func (c chapter) discovered(ctx context.Context, crd *suites.Resource, version string) map[string]metav1.APIResource {
	answer := c.env.Get(ctx, "/apis/"+crd.APIVersion(version))
	var list metav1.APIResourceList
	c.env.Require(json.Unmarshal(answer.Body, &list), "reading discovery")
	all := map[string]metav1.APIResource{}
	for _, resource := range list.APIResources {
		all[resource.Name] = resource
	}
	return all
}

// sends sends an object to a path, in a form that both the object and the answer have.
func (c chapter) sends(ctx context.Context, method, path, form string, body []byte) suites.Answer {
	return c.env.Do(ctx, method, path, body, http.Header{"Content-Type": {form}, "Accept": {form}})
}
