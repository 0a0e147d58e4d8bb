// Package objects checks what custom objects and definitions have in common with all objects of the API: how they are written, read,
// selected, listed and watched.
package objects

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on what all objects have in common.
var Area = suites.Area{Name: "objects", Register: register}

func register(env *suites.Env) {
	c := chapter{env: env, stable: env.With(fixtures.Stable, lists).Together()}
	c.writing()
	c.typeMeta()
	c.metadata()
	c.reading()
	c.selectors()
	c.definitions()
}

// chapter declares the specs.
type chapter struct {
	env *suites.Env

	// stable is the documents' definition, with lists, for specs that only create objects, each under a name that no other has.
	stable suites.Setup
}

type (
	definition = apiextensionsv1.CustomResourceDefinition
	schema     = apiextensionsv1.JSONSchemaProps
)

// named is the documents' object under a name.
func named(name string) *unstructured.Unstructured {
	object := fixtures.MyNewCronObject.At("v1")
	object.SetName(name)
	return object
}

// create creates the documents' object under a name.
func create(ctx context.Context, crd *suites.Resource, name string) *unstructured.Unstructured {
	GinkgoHelper()
	return crd.Create(ctx, "v1", named(name))
}

// put sets a field of an object and returns the object.
func put(object *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		panic("objects: " + err.Error()) // the objects are ours
	}
	return object
}

// send sends a body in a form, and asks for the answer in the same.
func (c chapter) send(ctx context.Context, method, path, form string, body []byte) suites.Answer {
	return c.env.Do(ctx, method, path, body, http.Header{"Content-Type": {form}, "Accept": {form}})
}
