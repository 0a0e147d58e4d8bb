//go:build nightly

package record

import "testing"

func TestTenSecondsOfManySeeds(t *testing.T) { lastTenSeconds(t, 20) }
