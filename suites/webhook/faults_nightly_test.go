//go:build nightly

package webhook

import (
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestFaultsSpareOthers gives the reference webhook one fault after the other: none may be found by the spec of a requirement that it does
// not break.
func TestFaultsSpareOthers(t *testing.T) {
	for _, fault := range webhook.Faults() {
		t.Run(fault.Name, func(t *testing.T) { caught(t, fault, nil) })
	}
}

// TestUnlawfulStrangersInAnyOrder has the verdicts on them be the same whatever the order of the specs.
func TestUnlawfulStrangersInAnyOrder(t *testing.T) { unlawful(t, 3) }
