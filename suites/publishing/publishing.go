// Package publishing checks what API servers publish of definitions for clients: the schemas in OpenAPI documents, printer columns
// in tables, and categories in discovery.
package publishing

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on what is published of definitions.
var Area = suites.Area{Name: "publishing", Register: register}

func register(env *suites.Env) {
	c := chapter{env}
	c.openAPI()
	c.columns()
	c.categories()
	c.versions()
}

// chapter declares the specs.
type chapter struct{ env *suites.Env }

type (
	definition = apiextensionsv1.CustomResourceDefinition
	column     = apiextensionsv1.CustomResourceColumnDefinition
	schema     = apiextensionsv1.JSONSchemaProps
)
