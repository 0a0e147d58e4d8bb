//go:build nightly

package webhook

import "testing"

// TestKindsOfBugsWithAnySeed has what TestKindsOfBugs wants be so with each of several seeds.
func TestKindsOfBugsWithAnySeed(t *testing.T) { kinds(t, 5) }
