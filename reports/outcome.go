package reports

import (
	"slices"

	"github.com/crdconform/crdconform/requirement"
)

// Outcome is the overall result of a run.
type Outcome string

// The outcomes.
const (
	Conformant    Outcome = "Conformant"    // everything that was to be judged was judged, and conforms
	Partial       Outcome = "Partial"       // nothing failed, but a MUST could not be judged, or what was judged is known to fail
	NonConformant Outcome = "NonConformant" // something failed
	Unjudged      Outcome = "Unjudged"      // the harness could not judge, or nothing that was to be judged is applicable
	Interrupted   Outcome = "Interrupted"   // the run was stopped
)

// Failing reports whether a result counts against the judged party.
func (r *Report) Failing(result Result) bool {
	return result.Verdict == requirement.Failed || r.Strict && result.Verdict == requirement.Tolerated
}

// With returns the results that have one of the verdicts, in their order.
func (r *Report) With(verdicts ...requirement.Verdict) []Result {
	var found []Result
	for _, result := range r.Results {
		if slices.Contains(verdicts, result.Verdict) {
			found = append(found, result)
		}
	}
	return found
}
