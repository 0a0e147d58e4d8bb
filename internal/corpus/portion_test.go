//go:build !nightly

package corpus

import "testing"

// portion is how much less is tried by default than at night.
const portion = 4

// slow leaves a test out of short runs. At night, which is a short run of everything else, it runs.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: it tries hundreds of random inputs")
	}
}
