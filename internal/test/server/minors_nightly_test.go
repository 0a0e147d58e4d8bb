//go:build nightly

package server_test

import (
	"os"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/minors"
)

// builtMinors returns the folder of CRDCONFORM_TEST_MINORS, or skips the test.
func builtMinors(t *testing.T) minors.Programs {
	t.Helper()
	dir := os.Getenv("CRDCONFORM_TEST_MINORS") //nolint:forbidigo // tests get what they run on from the environment
	if dir == "" {
		t.Skip("API servers of older minors take minutes to build: run \"crdconform matrix minors build\", and set CRDCONFORM_TEST_MINORS to the folder")
	}
	return minors.Programs{Dir: dir}
}

// TestMinorsOlder runs API servers of all older minors.
func TestMinorsOlder(t *testing.T) {
	t.Parallel()
	from := builtMinors(t)
	for _, minor := range minors.All() {
		t.Run(minor.String(), func(t *testing.T) {
			c, err := minors.Start(t.Context(), minors.Options{Minor: minor, Programs: from, WatchCache: minor.Minor%2 == 0})
			if err != nil {
				t.Fatal(err)
			}
			release, _ := minors.Release(minor)
			worksAsCluster(t, c, release)
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
