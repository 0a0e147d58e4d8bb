//go:build nightly

package wire_test

import "testing"

func TestAllHostileServers(t *testing.T) {
	t.Parallel()
	askHostile(t, func(int) bool { return true })
}

func TestAllHostileWires(t *testing.T) {
	t.Parallel()
	compareSenders(t, func(int) bool { return true })
}
