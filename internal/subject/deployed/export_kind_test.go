//go:build kind

package deployed

import (
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/kind"
)

// Shared returns the cluster that the tests share and the image that they deploy, for tests that import what imports this package.
func Shared(t *testing.T) (*kind.Cluster, *Archive, Options) {
	t.Helper()
	c, archive := shared(t)
	return c, archive, options(t, c)
}

// Another returns another image of what Shared returns the image of.
func Another(t *testing.T, c *kind.Cluster) Image {
	t.Helper()
	return another(t, c, "--address=:9443")
}

// Gone fails the test if anything of a run is left.
func Gone(t *testing.T, o Options) {
	t.Helper()
	gone(t, o)
}
