package proof

import (
	"context"

	"k8s.io/client-go/rest"
)

// Job is what a migrator is to do.
type Job struct {
	Config     *rest.Config
	Definition string
	Drop       string // version that managed fields must not name afterwards, beside those that are not served; may be empty
}

// Migrator migrates the objects of a definition to its storage version. The error says why the migration is not complete, with the
// objects that were refused.
type Migrator func(ctx context.Context, j Job) error
