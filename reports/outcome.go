package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// Conclude puts the results in order, counts them and sets the outcome. Subjects stay in the order in which they first come;
// the results of each are in the order of the catalogue, and those that it does not have come last.
func (r *Report) Conclude() {
	r.APIVersion, r.Kind = APIVersion, ReportKind
	if r.Results == nil {
		r.Results = []Result{} // which is a list in JSON too
	}
	r.sort()
	r.Counts = map[requirement.Verdict]int{}
	for _, result := range r.Results {
		r.Counts[result.Verdict]++
	}
	r.Outcome = r.outcome()
}

func (r *Report) sort() {
	subjects, places := map[string]int{}, map[requirement.ID]int{}
	for i, subject := range r.Subjects() {
		subjects[subject] = i
	}
	catalogue := requirement.All()
	for i, entry := range catalogue {
		places[entry.ID] = i - len(catalogue) // below 0, which those have that are not in it
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(subjects[a.Subject]-subjects[b.Subject], places[a.ID]-places[b.ID])
	})
}

func (r *Report) outcome() Outcome {
	failed := r.Counts[requirement.Failed] > 0 || r.Strict && r.Counts[requirement.Tolerated] > 0 ||
		r.Load.failing() || len(r.Load.missed()) > 0 || r.Load.unreached() || len(r.Load.regressed()) > 0
	errored := r.Error != "" || r.Counts[requirement.Errored] > 0 || r.Counts[requirement.Unknown] > 0 ||
		r.Load.void() != "" || r.Load.cut() != "" || len(r.Load.incomparable()) > 0 || r.Load.unmeasured() != "" || len(r.Results) == 0 && r.Load.nothing() || r.idle()
	switch {
	case r.Interrupted:
		return Interrupted
	case failed:
		return NonConformant
	case errored:
		return Unjudged
	case slices.ContainsFunc(r.Results, Result.skipped):
		return Partial
	case r.Load.nothing() && r.Counts[requirement.Passed]+r.Counts[requirement.Tolerated] == 0:
		return Partial // nothing was found to hold either
	}
	return Conformant
}

// idle tells whether no requirement is applicable and no load was measured, so that nothing was judged. That requirements do not hold
// for the minor of an API server is an answer, as a matrix of several minors shows it.
func (r *Report) idle() bool {
	minor := minorOf(r)
	judged := func(result Result) bool { return result.Verdict != requirement.NotApplicable }
	bound := func(result Result) bool { return boundOf(result, minor) != "" }
	return len(r.Results) > 0 && r.Load.nothing() && !slices.ContainsFunc(r.Results, judged) &&
		slices.ContainsFunc(r.Results, func(result Result) bool { return !bound(result) })
}

// idleness says why nothing is applicable: the reason that most requirements have.
func (r *Report) idleness() string {
	times, most := map[string]int{}, ""
	for _, result := range r.Results {
		times[result.Brief()]++
	}
	for _, result := range r.Results { // of several the first
		if why := result.Brief(); times[why] > times[most] {
			most = why
		}
	}
	text := fmt.Sprintf("none of %s is applicable", r.requirements(len(r.Results)))
	if len(r.Results) == 1 {
		text = "the only requirement is not applicable"
	}
	if n := times[most]; n < len(r.Results) {
		text += fmt.Sprintf(", %d because", n)
	}
	return joined(text, ": ", most)
}

// skipped tells whether a result leaves open what was to be judged.
func (r Result) skipped() bool {
	return r.Verdict == requirement.NotApplicable && r.Level == requirement.Must && !r.Immaterial
}

// Failing tells whether a result counts against whom it judges.
func (r *Report) Failing(result Result) bool {
	return result.Verdict == requirement.Failed || r.Strict && result.Verdict == requirement.Tolerated
}

// Problem tells whether a result counts against whom it judges, or could not be had.
func (r *Report) Problem(result Result) bool {
	return r.Failing(result) || result.Verdict == requirement.Errored
}

// Headline says in one sentence what the run came to.
func (r *Report) Headline() string {
	switch r.Outcome {
	case Conformant:
		if len(r.Results) == 0 {
			return r.Load.praise()
		}
		return fmt.Sprintf("Conforms: %s passed%s", r.requirements(r.Counts[requirement.Passed]), r.others())
	case Partial:
		return fmt.Sprintf("Conforms as far as it was judged: %s passed%s", r.requirements(r.Counts[requirement.Passed]), r.others())
	case NonConformant:
		return r.failures()
	case Unjudged:
		return r.unjudged()
	case Interrupted:
		judged := r.requirements(len(r.Results) - r.Counts[requirement.Unknown])
		switch {
		case r.Load != nil && len(r.Results) == 0:
			judged = many(r.Load.Requests(), "response") + " under load"
		case r.Load != nil:
			judged += " and " + many(r.Load.Requests(), "response") + " under load"
		case len(r.Results) == 0:
			judged = "nothing"
		}
		return fmt.Sprintf("Interrupted with %s judged", judged)
	}
	return "Not concluded"
}

// failures says what failed: requirements, or else requests under load; and the objectives that were missed.
func (r *Report) failures() string {
	failed := r.Counts[requirement.Failed]
	if r.Strict {
		failed += r.Counts[requirement.Tolerated]
	}
	missed, behind := "", ""
	if r.Load != nil {
		missed, behind = r.Load.misses(), r.Load.behind()
	}
	switch {
	case failed > 0 || r.Load == nil:
		return joined(fmt.Sprintf("Does not conform: %d of %s failed", failed, r.requirements(len(r.Results))), "; under load, ", missed)
	case r.Load.failing():
		return joined(joined("Does not conform: "+r.Load.ofJudged("request")+" failed", "; ", missed), "; ", behind)
	}
	return joined("Does not meet its objectives under load: "+missed, "; ", behind)
}

func (r *Report) unjudged() string {
	unknown := r.Counts[requirement.Errored] + r.Counts[requirement.Unknown]
	switch {
	case r.Error != "":
		return "Could not judge: " + firstLine(r.Error)
	case unknown > 0:
		return fmt.Sprintf("Could not judge %d of %s", unknown, r.requirements(len(r.Results)))
	case r.Load.void() != "":
		return "Could not judge the load: " + r.Load.void()
	case r.Load.cut() != "":
		return "Could not judge all of the load: " + r.Load.cut()
	case r.Load.unmeasured() != "":
		return "Could not judge the load through the API server: " + r.Load.unmeasured()
	case len(r.Load.incomparable()) > 0:
		return "Could not compare with the baseline: " + told(r.Load.incomparable()[0])
	}
	if r.idle() {
		return "Could not judge: " + r.idleness()
	}
	return "Could not judge: there was nothing to judge"
}

// unsaid is the error if the headline has not said all of it.
func (r *Report) unsaid() string {
	if strings.HasSuffix(r.Headline(), strings.TrimSpace(Visible(r.Error))) {
		return ""
	}
	return r.Error
}

// others counts the verdicts that are neither Passed nor bad.
func (r *Report) others() string {
	var text strings.Builder
	for _, v := range []struct {
		verdict requirement.Verdict
		words   string
	}{{requirement.Tolerated, "tolerated"}, {requirement.KnownFailing, "known to fail"}, {requirement.NotApplicable, "not applicable"}} {
		if n := r.Counts[v.verdict]; n > 0 {
			fmt.Fprintf(&text, ", %d %s", n, v.words)
		}
	}
	return text.String()
}

// requirements is a number of results. When several definitions were judged, each requirement is counted for each of them.
func (r *Report) requirements(n int) string {
	definitions := len(slices.DeleteFunc(r.Subjects(), func(subject string) bool { return subject == "" }))
	if definitions > 1 {
		return fmt.Sprintf("%s for %d definitions", counted(n, "requirement"), definitions)
	}
	return counted(n, "requirement")
}
