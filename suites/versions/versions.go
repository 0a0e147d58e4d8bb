// Package versions checks how the versions of a definition are declared, served, named, ordered and deprecated.
package versions

import "github.com/crdconform/crdconform/internal/suites"

// Area is the chapter on specifying several versions.
var Area = suites.Area{Name: "versions", Register: register}

func register(env *suites.Env) {
	serving(env)
	definition(env)
	scope(env)
	names(env)
	clients(env)
	priority(env)
	deprecation(env)
	usage(env)
	manifests(env)
}
