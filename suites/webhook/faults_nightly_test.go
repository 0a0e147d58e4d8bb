//go:build nightly

package webhook

import (
	"flag"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

var (
	mutantsFlag = flag.Int("mutants", 18, "TestAllMutantsAreCaught tries one mutant in so many, 1 for all, which takes an hour")
	seedsFlag   = flag.Int("seeds", 1, "TestAllSeedsAreCaught judges each fault with so many seeds")
)

// TestFaultsSpareOthers gives the reference webhook one fault after the other: none may be found by the spec of a requirement that it does
// not break.
func TestFaultsSpareOthers(t *testing.T) {
	for _, fault := range webhook.Faults() {
		t.Run(fault.Name, func(t *testing.T) { caught(t, fault, nil) })
	}
}

// TestAllMutantsAreCaught tries as many mutants as -mutants says.
func TestAllMutantsAreCaught(t *testing.T) { mutants(t, *mutantsFlag) }

// TestAllSeedsAreCaught judges each of the webhooks with bugs that random objects are likely to miss.
func TestAllSeedsAreCaught(t *testing.T) { seeds(t, 1, *seedsFlag) }

// TestUnlawfulStrangersInAnyOrder has the verdicts on them be the same whatever the order of the specs.
func TestUnlawfulStrangersInAnyOrder(t *testing.T) { unlawful(t, 3) }
