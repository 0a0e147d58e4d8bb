// Package lifecycle checks what happens to definitions and objects in the long run: upgrades of stored objects, removal
// of versions, finalizers and deletion, and what is left of the past.
package lifecycle

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on the life of a definition.
var Area = suites.Area{Name: "lifecycle", Register: register}

func register(env *suites.Env) {
	upgrade(env)
	removal(env)
	finalizers(env)
	deletion(env)
	undecodable(env)
	legacy(env)
}

type definition = apiextensionsv1.CustomResourceDefinition
