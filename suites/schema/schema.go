// Package schema checks what a schema must be like for API servers to take it, and which fields of objects are kept for it.
package schema

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on structural schemas and pruning.
var Area = suites.Area{Name: "schema", Register: register}

func register(env *suites.Env) {
	structural(env)
	root(env)
	pruning(env)
	controlling(env)
	fieldValidation(env)
	intOrString(env)
	embedded(env)
	severalVersions(env)
}

type (
	definition = apiextensionsv1.CustomResourceDefinition
	properties = apiextensionsv1.JSONSchemaProps
)

// at is where API servers see the parts of the schema of a definition that has one version.
const at = "spec.validation.openAPIV3Schema"

// changed changes the schema of the first version of a definition.
func changed(change func(schema *properties)) func(crd *definition) {
	return func(crd *definition) { change(crd.Spec.Versions[0].Schema.OpenAPIV3Schema) }
}

// with gives the schema of the first version another property foo.
func with(foo properties) func(crd *definition) {
	return changed(func(schema *properties) { schema.Properties["foo"] = foo })
}
