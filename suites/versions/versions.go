// Package versions checks how the versions of a definition are declared, served, named, ordered and deprecated.
package versions

import (
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on specifying several versions.
var Area = suites.Area{Name: "versions", Register: register}

func register(env *suites.Env) {
	none := env.With(fixtures.None).InTurn()
	serving(env, none)
	definition(env)
	scope(env, none)
	names(env, none)
	clients(env)
	priority(env, none)
	deprecation(env)
	usage(env)
	manifests(env)
}
