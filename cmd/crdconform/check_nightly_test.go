//go:build nightly

package main

import (
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestCheckFindsAllFaults has check meet every fault.
func TestCheckFindsAllFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range webhook.Faults() {
		t.Run(fault.Name, func(t *testing.T) { findsFault(t, fault) })
	}
}
