//go:build nightly

package webhook

import "testing"

// TestKindsOfBugsWithAnySeed has what TestKindsOfBugs wants be so with other seeds.
func TestKindsOfBugsWithAnySeed(t *testing.T) { kinds(t, 2, 3) }
