package reports

import (
	"slices"

	"github.com/crdconform/crdconform/requirement"
)

// Outcome is what a run amounts to.
type Outcome string

// The outcomes.
const (
	Conformant    Outcome = "Conformant"    // everything that was to be judged was, and conforms
	Partial       Outcome = "Partial"       // nothing speaks against it, but a MUST could not be judged, or what was judged is known to fail
	NonConformant Outcome = "NonConformant" // something failed
	Unjudged      Outcome = "Unjudged"      // the harness could not judge, or nothing that was to be judged is applicable
	Interrupted   Outcome = "Interrupted"   // somebody stopped it
)

// Failing reports whether a result counts against whom it judges.
func (r *Report) Failing(result Result) bool {
	return result.Verdict == requirement.Failed || r.Strict && result.Verdict == requirement.Tolerated
}

// With returns the results with one of the verdicts, in their order.
func (r *Report) With(verdicts ...requirement.Verdict) []Result {
	var found []Result
	for _, result := range r.Results {
		if slices.Contains(verdicts, result.Verdict) {
			found = append(found, result)
		}
	}
	return found
}
