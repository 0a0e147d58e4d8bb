package requirement

import "fmt"

// Verdict is the outcome for one requirement.
type Verdict int

// The verdicts. Only Passed and Tolerated speak for the judged party; Unknown and Errored mean that crdconform could not judge.
const (
	Unknown       Verdict = iota // never judged, for example because the run was cut short
	NotApplicable                // not judged, for a given reason
	Passed
	Tolerated    // the documents are violated in a way that API servers accept; fails when strict
	KnownFailing // failed, and is in the list of known failures
	Failed
	Errored // the harness could not judge
)

func names() []string {
	return []string{"Unknown", "NotApplicable", "Passed", "Tolerated", "KnownFailing", "Failed", "Errored"}
}

// String returns the name of the verdict, as in reports.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(names()) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return names()[v]
}

// MarshalText returns the name of the verdict. An invalid number is an error.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < 0 || int(v) >= len(names()) {
		return nil, fmt.Errorf("%d is not a verdict", int(v))
	}
	return []byte(v.String()), nil
}

// UnmarshalText parses the output of MarshalText; any other name is an error.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range names() {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a verdict, want one of %v", text, names())
}
