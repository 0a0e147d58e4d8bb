package requirement

import "fmt"

// Verdict is the outcome for one requirement.
type Verdict int

// The verdicts. Only Passed and Tolerated speak for the party that is judged; Unknown and Errored say that crdconform
// could not look.
const (
	Unknown       Verdict = iota // never judged; counts as Errored
	NotApplicable                // not judged, for a reason that is given
	Passed
	Tolerated    // the documents are violated in a way that API servers accept; fails when strict
	KnownFailing // failed, as the list of known failures says
	Failed
	Errored // the harness could not look
)

func names() []string {
	return []string{"Unknown", "NotApplicable", "Passed", "Tolerated", "KnownFailing", "Failed", "Errored"}
}

// String returns the name of the verdict as it appears in reports.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(names()) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return names()[v]
}

// MarshalText returns the name of the verdict; an invalid number is an error.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < 0 || int(v) >= len(names()) {
		return nil, fmt.Errorf("%d is not a verdict", int(v))
	}
	return []byte(v.String()), nil
}

// UnmarshalText reads what MarshalText writes; any other name is an error.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range names() {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a verdict, want one of %v", text, names())
}
