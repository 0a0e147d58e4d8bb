// Package storage checks at which version objects are stored, when that changes, and what the API server records of it.
// What is stored is read from etcd, where that can be reached, and not concluded from what the API server says; elsewhere it
// is what Resource.FinalVersions finds out, or not judged.
package storage

import (
	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on writing, reading and updating objects of several versions.
var Area = suites.Area{Name: "storage", Register: register}

func register(env *suites.Env) {
	writing(env)
	reading(env)
	undecodable(env)
	updating(env)
	sequence(env)
	storedVersions(env)
}
