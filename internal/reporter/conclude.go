// Package reporter concludes reports, merges and compares them, and writes them in every format.
package reporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Conclude puts the results in order, counts them and sets the outcome. Subjects stay in the order in which they first come;
// the results of each are in the order of the catalogue, and those that it does not have come last.
func Conclude(r *reports.Report) {
	r.APIVersion, r.Kind = reports.APIVersion, reports.ReportKind
	if r.Results == nil {
		r.Results = []reports.Result{} // which is a list in JSON too
	}
	sortResults(r)
	r.Counts = map[requirement.Verdict]int{}
	for _, result := range r.Results {
		r.Counts[result.Verdict]++
	}
	r.Outcome = outcomeOf(r)
}

func sortResults(r *reports.Report) {
	subjects, places := map[string]int{}, map[requirement.ID]int{}
	for i, subject := range Subjects(r) {
		subjects[subject] = i
	}
	catalogue := requirement.All()
	for i, entry := range catalogue {
		places[entry.ID] = i - len(catalogue) // below 0, which those have that are not in it
	}
	slices.SortStableFunc(r.Results, func(a, b reports.Result) int {
		return cmp.Or(subjects[a.Subject]-subjects[b.Subject], places[a.ID]-places[b.ID])
	})
}

func outcomeOf(r *reports.Report) reports.Outcome {
	failed := r.Counts[requirement.Failed] > 0 || r.Strict && r.Counts[requirement.Tolerated] > 0 ||
		failing(r.Load) || len(missedTargets(r.Load)) > 0 || unreached(r.Load) || len(regressed(r.Load)) > 0
	errored := r.Error != "" || r.Counts[requirement.Errored] > 0 || r.Counts[requirement.Unknown] > 0 ||
		voidLoad(r.Load) != "" || cutShort(r.Load) != "" || len(incomparable(r.Load)) > 0 || unmeasured(r.Load) != "" || len(r.Results) == 0 && unloaded(r.Load) || idle(r) != nil || uncovered(r) != ""
	switch {
	case r.Interrupted:
		return reports.Interrupted
	case failed:
		return reports.NonConformant
	case errored:
		return reports.Unjudged
	case slices.ContainsFunc(r.Results, skipped), cut(r), thin(r):
		return reports.Partial
	case unloaded(r.Load) && r.Counts[requirement.Passed]+r.Counts[requirement.Tolerated] == 0:
		return reports.Partial // nothing was found to hold either
	}
	return reports.Conformant
}

// idle returns results that say nothing, because no requirement is applicable and no load was measured: all there are, or all of one
// definition, which those of others do not stand in for. Requirements that do not hold for the minor of an API server do count as an
// answer, which a matrix of several minors shows.
func idle(r *reports.Report) []reports.Result {
	if !unloaded(r.Load) {
		return nil
	}
	minor := minorOf(r)
	judged := func(result reports.Result) bool { return result.Verdict != requirement.NotApplicable }
	open := func(result reports.Result) bool { return boundOf(result, minor) == "" }
	if !slices.ContainsFunc(r.Results, judged) && slices.ContainsFunc(r.Results, open) {
		return r.Results
	}
	for _, subject := range Subjects(r) {
		of := slices.DeleteFunc(slices.Clone(r.Results), func(result reports.Result) bool { return result.Subject != subject })
		isOpen := slices.ContainsFunc(of, func(result reports.Result) bool { return open(result) && !result.Immaterial })
		if subject != "" && isOpen && !slices.ContainsFunc(of, judged) {
			return of
		}
	}
	return nil
}

// idleness says why none of some results is applicable: the most frequent reason.
func idleness(r *reports.Report, results []reports.Result) string {
	times, most := map[string]int{}, ""
	for _, result := range results {
		times[Brief(result)]++
	}
	for _, result := range results { // of several the first
		if why := Brief(result); times[why] > times[most] {
			most = why
		}
	}
	all := requirements(r, len(results))
	if len(results) < len(r.Results) {
		all = fmt.Sprintf("%s for %s", visible.Count(len(results), "requirement", ""), results[0].Subject)
	}
	text := fmt.Sprintf("none of %s is applicable", all)
	if len(r.Results) == 1 {
		text = "the only requirement is not applicable"
	}
	if n := times[most]; n < len(results) {
		text += fmt.Sprintf(", %d because", n)
	}
	return joined(text, ": ", most)
}

// skipped reports whether a result leaves its requirement unjudged.
func skipped(r reports.Result) bool {
	return r.Verdict == requirement.NotApplicable && r.Level == requirement.Must && !r.Immaterial
}

// cut reports whether a time budget left something open.
func cut(r *reports.Report) bool {
	return r.Webhook != nil && slices.ContainsFunc(r.Webhook.Kinds, func(k reports.Kind) bool { return k.Cut })
}

// Problem reports whether a result counts against the judged side, or could not be obtained.
func Problem(r *reports.Report, result reports.Result) bool {
	return r.Failing(result) || result.Verdict == requirement.Errored
}

// Headline says in one sentence what the run came to.
func Headline(r *reports.Report) string {
	switch r.Outcome {
	case reports.Conformant:
		if len(r.Results) == 0 {
			return praise(r.Load)
		}
		return fmt.Sprintf("Conforms: %s passed%s", requirements(r, r.Counts[requirement.Passed]), otherCounts(r))
	case reports.Partial:
		return fmt.Sprintf("Conforms, not fully judged%s: %s passed%s", leftOpen(r), requirements(r, r.Counts[requirement.Passed]), otherCounts(r))
	case reports.NonConformant:
		return failureHeadline(r)
	case reports.Unjudged:
		return unjudgedHeadline(r)
	case reports.Interrupted:
		judged := requirements(r, len(r.Results)-r.Counts[requirement.Unknown])
		switch {
		case r.Load != nil && len(r.Results) == 0:
			judged = many(Requests(r.Load), "response") + " under load"
		case r.Load != nil:
			judged += " and " + many(Requests(r.Load), "response") + " under load"
		case len(r.Results) == 0:
			judged = "nothing"
		}
		return fmt.Sprintf("Interrupted with %s judged", judged)
	}
	return "Not concluded"
}

// leftOpen says in parentheses what keeps a run from being fully judged; empty if that is only that nothing was found to hold.
func leftOpen(r *reports.Report) string {
	if cut(r) { // specs that had no time left are not applicable
		return " (the time budget ended)"
	}
	var open []string
	for _, result := range r.Results {
		if id := string(result.ID); skipped(result) && !slices.Contains(open, id) {
			open = append(open, id)
		}
	}
	everywhere := ""
	if subjectCount(r) > 1 {
		everywhere = " everywhere"
	}
	switch {
	case len(open) > 0:
		return fmt.Sprintf(" (%s could not be judged%s)", visible.First(open, 1), everywhere)
	case thin(r):
		return " (too few fields were exercised)"
	}
	return ""
}

// failureHeadline says what failed: requirements, or otherwise requests under load; and which objectives were missed.
func failureHeadline(r *reports.Report) string {
	failed, strictly := r.Counts[requirement.Failed], ""
	if n := r.Counts[requirement.Tolerated]; r.Strict && n > 0 {
		failed += n
		strictly = fmt.Sprintf(", %d of them tolerated unless strict", n)
	}
	if n := r.Counts[requirement.Unknown]; n > 0 && r.Error == "" { // otherwise the error says why
		strictly += fmt.Sprintf(", %d not judged", n)
	}
	missed, late := "", ""
	if r.Load != nil {
		missed, late = misses(r.Load), behind(r.Load)
	}
	switch {
	case failed > 0 || r.Load == nil:
		return incomplete(r, joined(fmt.Sprintf("Does not conform: %d of %s failed", failed, requirements(r, len(r.Results)))+strictly, "; under load, ", missed))
	case failing(r.Load):
		return incomplete(r, joined(joined("Does not conform: "+failedOf(r.Load, "request")+" failed", "; ", missed), "; ", late))
	}
	return incomplete(r, joined("Does not meet its objectives under load: "+missed, "; ", late))
}

// incomplete adds to a headline what kept the run from judging everything.
func incomplete(r *reports.Report, headline string) string {
	return joined(headline, ". Incomplete: ", firstLine(r.Error))
}

func unjudgedHeadline(r *reports.Report) string {
	unknown := r.Counts[requirement.Errored] + r.Counts[requirement.Unknown]
	switch {
	case r.Error != "":
		return "Could not judge: " + firstLine(r.Error)
	case unknown > 0:
		return fmt.Sprintf("Could not judge %d of %s", unknown, requirements(r, len(r.Results)))
	case voidLoad(r.Load) != "":
		return fmt.Sprintf("Could not judge the load%s: %s", failedToo(r.Load), voidLoad(r.Load))
	case cutShort(r.Load) != "":
		return "Could not judge all of the load: " + cutShort(r.Load)
	case unmeasured(r.Load) != "":
		return "Could not judge the load through the API server: " + unmeasured(r.Load)
	case len(incomparable(r.Load)) > 0:
		return "Could not compare with the baseline: " + rowText(incomparable(r.Load)[0])
	}
	if text := uncovered(r); text != "" {
		return "Could not judge all of it: " + text
	}
	if results := idle(r); results != nil {
		return "Could not judge: " + idleness(r, results)
	}
	return "Could not judge: there was nothing to judge"
}

// failedToo says how many requests failed in a load that is void.
func failedToo(l *loadgen.Load) string {
	if failed := FailedRequests(l); failed > 0 {
		return fmt.Sprintf(" (%s of %s failed)", wholeNumber(failed), many(Requests(l), "request"))
	}
	return ""
}

// unsaid returns the error unless the headline already contains all of it.
func unsaid(r *reports.Report) string {
	if strings.HasSuffix(Headline(r), strings.TrimSpace(visible.Text(r.Error))) {
		return ""
	}
	return r.Error
}

// otherCounts counts the verdicts that are neither Passed nor bad.
func otherCounts(r *reports.Report) string {
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

// requirements returns a number of results as text. With several definitions or upgrades, a requirement counts once for each.
func requirements(r *reports.Report, n int) string {
	if legs := len(r.Upgrade); legs > 1 {
		return fmt.Sprintf("%s of %d upgrades", visible.Count(n, "requirement", ""), legs)
	}
	if of := subjectCount(r); of > 1 {
		return fmt.Sprintf("%s for %d definitions", visible.Count(n, "requirement", ""), of)
	}
	return visible.Count(n, "requirement", "")
}

// subjectCount is how many definitions, or upgrades, there are results about.
func subjectCount(r *reports.Report) int {
	return len(slices.DeleteFunc(Subjects(r), func(subject string) bool { return subject == "" }))
}
