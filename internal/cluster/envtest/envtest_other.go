//go:build !unix

package envtest

import (
	"context"
	"errors"

	"github.com/crdconform/crdconform/cluster"
)

// Cluster cannot be had on this system.
type Cluster struct{ cluster.Cluster }

// Validate has nothing against any options: Start says what is.
func (Options) Validate() error { return nil }

// Start fails: controller-runtime's envtest, as of v0.25.2, cannot be built for Windows.
func Start(context.Context, Options) (*Cluster, error) {
	return nil, errors.New("envtest: crdconform cannot run kube-apiserver on this system; use another kind of cluster, or Linux or macOS")
}
