package reports

import (
	"slices"

	"github.com/crdconform/crdconform/requirement"
)

// Outcome is the overall result of a run.
type Outcome string

// The outcomes.
const (
	// Conformant means that everything that was to be judged was judged, and conforms.
	Conformant Outcome = "Conformant"
	// Partial means that nothing failed, but something is open: a MUST could not be judged, the time budget ended, less than 95% of
	// the fields were exercised although no minimum was set, or everything that was judged is known to fail.
	Partial Outcome = "Partial"
	// NonConformant means that something failed.
	NonConformant Outcome = "NonConformant"
	// Unjudged means that crdconform could not judge, that nothing that was to be judged is applicable, be it for one definition, or
	// that fewer fields were exercised than the minimum that was set.
	Unjudged Outcome = "Unjudged"
	// Interrupted means that the run was stopped.
	Interrupted Outcome = "Interrupted"
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
