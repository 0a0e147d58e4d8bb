package reporter

import (
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// libraryTolerated are the requirements that the conversion webhook of controller-runtime violates in ways that API servers accept, and
// fewOfLibrary is how many of them say that a webhook is built with it.
func libraryTolerated() []requirement.ID {
	return []requirement.ID{
		requirement.WebhookResponseContentType, requirement.WebhookRequestUnknownReviewVersion, requirement.WebhookConversionIdentity, requirement.WebhookFailureStatus,
	}
}

const fewOfLibrary = 3

// unpassed are results that neither passed nor failed, or passed although they are known to be flaky, for one reason.
type unpassed struct {
	verdict requirement.Verdict
	reason  string
	ids     []string
}

// which names the results: the first, and how many others there are.
func (n unpassed) which() string {
	return visible.First(n.ids, 1)
}

// material reports whether anybody could do something about a result. The rest is shown only where there is room for it.
func material(result reports.Result) bool { return !result.Immaterial }

// whatever is any result.
func whatever(reports.Result) bool { return true }

// unpassedResults groups those results that neither passed nor failed by the reasons. Problems are shown elsewhere.
func unpassedResults(report *reports.Report, shown func(reports.Result) bool) []unpassed {
	ofLibrary := 0
	for _, result := range report.With(requirement.Tolerated) {
		if slices.Contains(libraryTolerated(), result.ID) {
			ofLibrary++
		}
	}
	var all []unpassed
	for _, v := range []requirement.Verdict{requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing, requirement.Passed} {
		for _, result := range report.With(v) {
			if !shown(result) || Problem(report, result) || v == requirement.Passed && !flakyPass(result) {
				continue
			}
			n := unpassed{verdict: v, reason: Brief(result) + alsoIn(result)}
			if ofLibrary >= fewOfLibrary && slices.Contains(libraryTolerated(), result.ID) && v == requirement.Tolerated {
				n.reason = "as in webhooks built with controller-runtime: its content type, review version, identity and result status"
			}
			at := slices.IndexFunc(all, func(other unpassed) bool { return other.verdict == v && other.reason == n.reason })
			if at < 0 {
				at, all = len(all), append(all, n)
			}
			all[at].ids = append(all[at].ids, string(result.ID))
		}
	}
	return all
}

// alsoIn names the fields that something is Tolerated in beside those of which its reason begins; empty if there are none.
func alsoIn(result reports.Result) string {
	first, _, _ := strings.Cut(result.Reason, "\n")
	var shown, others []string
	for _, f := range result.Findings {
		if strings.Contains(first, f.Message) {
			put(&shown, f.Field)
		}
	}
	for _, f := range result.Findings {
		if !slices.Contains(shown, visible.Text(f.Field)) {
			put(&others, f.Field)
		}
	}
	if result.Verdict != requirement.Tolerated || len(shown) == 0 || len(others) == 0 {
		return ""
	}
	return "; also " + visible.First(others, 3)
}

// unpassedFacts says what a run that passes left open, in a line for each reason.
func unpassedFacts(r *reports.Report) []Fact {
	var facts []Fact
	if passes(r) {
		for _, n := range unpassedResults(r, whatever) {
			facts = append(facts, Fact{Name: n.verdict.String(), Value: n.which() + ": " + n.reason})
		}
	}
	return facts
}
