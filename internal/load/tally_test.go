package load

import (
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/requirement"
)

// TestToleratedOnce keeps one example of what all responses have and is tolerated, and each of what counts.
func TestToleratedOnce(t *testing.T) {
	t.Parallel()
	all := newTally()
	for n := range uint64(3) {
		e := exchange{}
		e.judgement.Violations = []contract.Violation{
			{Requirement: requirement.WebhookResponseContentType, Severity: contract.Tolerated},
			{Requirement: requirement.WebhookResponseUID, Severity: contract.Rejected},
		}
		e.response.Body = []byte("{}")
		all.violations(n, e)
	}
	kept, files := map[requirement.ID]int{}, 0
	for _, f := range firstFindings(all.sum.Findings) {
		kept[f.Requirement]++
		files += len(f.Files)
	}
	if kept[requirement.WebhookResponseContentType] != 1 || kept[requirement.WebhookResponseUID] != 3 || files != 6 || all.sum.Violations[requirement.WebhookResponseContentType] != 3 {
		t.Errorf("kept %v with %d files, of %v", kept, files, all.sum.Violations)
	}
	two := firstFindings(append(all.sum.Findings, all.sum.Findings...)) // of two workers
	if len(two) != 7 {
		t.Errorf("of two workers %d findings are kept", len(two))
	}
}
