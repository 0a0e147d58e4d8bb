//go:build nightly

package webhook

import (
	"slices"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/requirement"
)

// TestFaultsSpareOthers gives the reference webhook one fault after the other: none may be found by the spec of a requirement that it does
// not break.
func TestFaultsSpareOthers(t *testing.T) {
	for _, fault := range webhook.Faults() {
		t.Run(fault.Name, func(t *testing.T) { caught(t, fault, nil) })
	}
}

// TestFaultsWithoutSamples gives the reference webhook one fault after the other where there is nothing but the definition: what is found with
// samples is found without.
func TestFaultsWithoutSamples(t *testing.T) {
	d, err := corpus.NewDefinition(fixtures.Reference.New())
	if err != nil {
		t.Fatal(err)
	}
	bare, err := corpus.New(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := corpus.NewDefinition(fixtures.EarlierReference())
	if err != nil {
		t.Fatal(err)
	}
	bare.Earlier = []*corpus.Definition{earlier}
	for _, fault := range webhook.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			wanted := func(id requirement.ID) bool {
				return slices.Contains(fault.Breaks, id) && id != requirement.WebhookConversionDocumentedExample
			}
			if !slices.ContainsFunc(fault.Breaks, wanted) {
				t.Skip("it shows in the documents' example only, which is a sample")
			}
			t.Parallel()
			for _, result := range judgeOn(t, bare, wanted, fault) {
				if result.Verdict != fault.Verdict && result.Verdict != requirement.Tolerated {
					t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
				}
			}
		})
	}
}

// TestUnlawfulStrangersInAnyOrder has the verdicts on them be the same whatever the order of the specs.
func TestUnlawfulStrangersInAnyOrder(t *testing.T) { unlawful(t, 3) }
