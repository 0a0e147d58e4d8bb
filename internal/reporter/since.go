package reporter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

func changeSorts() []reports.ChangeSort {
	return []reports.ChangeSort{reports.NewlyFailing, reports.NoLongerJudged, reports.NewlyTolerated, reports.OtherChange, reports.NewlyJudged, reports.NewlyPassing}
}

// Since compares a report with an earlier one, whose name is for people. It fails when they have no requirement and no load test
// in common, unless all that the earlier one has is missing.
func Since(r *reports.Report, name string, before *reports.Report) (*reports.Changes, error) {
	c := &reports.Changes{Baseline: name, Started: before.Started, Outcome: before.Outcome, Headline: Headline(before), Requirements: []reports.Change{}}
	then := map[[2]string]reports.Result{}
	for _, result := range before.Results {
		then[[2]string{string(result.ID), result.Subject}] = result
	}
	common := 0
	for _, result := range r.Results {
		key := [2]string{string(result.ID), result.Subject}
		was, found := then[key]
		delete(then, key)
		if found {
			common++
		}
		switch {
		case found && was.Verdict == result.Verdict && before.Failing(was) == r.Failing(result):
			c.Same++
		case found:
			addChange(c, was.Verdict.String(), &result, changeSort(r, before, &was, &result))
		default:
			addChange(c, "", &result, changeSort(r, before, nil, &result))
		}
	}
	for _, was := range before.Results {
		if _, gone := then[[2]string{string(was.ID), was.Subject}]; gone {
			c.Requirements = append(c.Requirements, reports.Change{
				ID: was.ID, Subject: was.Subject, Sort: changeSort(r, before, &was, nil), Before: was.Verdict.String(), Reason: "it was not selected, or the run did not reach it",
			})
		}
	}
	if common == 0 && (r.Load == nil || before.Load == nil) && (!empty(r) || empty(before)) {
		return nil, errors.New("the reports have no requirement in common; give two runs of the same webhook or API server")
	}
	slices.SortStableFunc(c.Requirements, func(a, b reports.Change) int {
		return cmp.Compare(slices.Index(changeSorts(), a.Sort), slices.Index(changeSorts(), b.Sort))
	})
	c.LoadChanges = loadChanges(before.Load, r.Load)
	c.Notes = differences(r, before)
	if r.Load != nil || before.Load != nil {
		c.LoadNote = cmp.Or(noted(name, Unfit(before.Load)), noted("this run", Unfit(r.Load)))
	}
	return c, nil
}

// empty reports whether there is neither a result nor a load test.
func empty(r *reports.Report) bool { return len(r.Results) == 0 && unloaded(r.Load) }

// noted says of which run something is true.
func noted(run, what string) string {
	if what == "" {
		return ""
	}
	return run + ": " + what
}

func addChange(c *reports.Changes, before string, now *reports.Result, sort reports.ChangeSort) {
	c.Requirements = append(c.Requirements, reports.Change{
		ID: now.ID, Subject: now.Subject, Sort: sort, Before: before, Now: now.Verdict.String(), Reason: visible.Cut(flat(now.Reason), 160),
	})
}

// changeSort says what it amounts to that a requirement came to something else. A result that there is not is nil.
func changeSort(r *reports.Report, earlier *reports.Report, before, now *reports.Result) reports.ChangeSort {
	failed, fails := before != nil && earlier.Failing(*before), now != nil && r.Failing(*now)
	switch {
	case fails && !failed:
		return reports.NewlyFailing
	case judged(before) && !judged(now):
		return reports.NoLongerJudged
	case now != nil && now.Verdict == requirement.Tolerated && before != nil && before.Verdict == requirement.Passed:
		return reports.NewlyTolerated
	case judged(now) && !judged(before):
		return reports.NewlyJudged
	case now != nil && now.Verdict == requirement.Passed:
		return reports.NewlyPassing
	}
	return reports.OtherChange
}

// judged reports whether a result says something about whom it judges.
func judged(r *reports.Result) bool {
	return r != nil && r.Verdict != requirement.Unknown && r.Verdict != requirement.Errored && r.Verdict != requirement.NotApplicable
}

// differences says how two runs differ beside their results.
func differences(r *reports.Report, before *reports.Report) []string {
	var notes []string
	add := func(what, then, now string) {
		if then != now {
			notes = append(notes, fmt.Sprintf("%s: %s before, %s now", what, cmp.Or(then, "none"), cmp.Or(now, "none")))
		}
	}
	cluster := func(r *reports.Report) string {
		if r.Cluster == nil {
			return ""
		}
		return r.Cluster.String()
	}
	add("crdconform", before.Tool, r.Tool)
	add("Kubernetes", cluster(before), cluster(r))
	add("strict", strconv.FormatBool(before.Strict), strconv.FormatBool(r.Strict))
	add("webhook", webhookPlace(before.Webhook), webhookPlace(r.Webhook))
	add("upgrade", upgradeText(before), upgradeText(r))
	then, now := kindTexts(before.Webhook), kindTexts(r.Webhook)
	for _, name := range slices.Sorted(maps.Keys(then)) {
		add(name, then[name], now[name])
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, known := then[name]; !known {
			add(name, "", now[name])
		}
	}
	return notes
}

// kindTexts says what a webhook was judged with, by definition.
func kindTexts(w *reports.Webhook) map[string]string {
	if w == nil {
		return nil
	}
	all := map[string]string{}
	for _, kind := range w.Kinds {
		name := cmp.Or(kind.Definition, "definition")
		kind.Definition = ""
		all[name] = kindText(kind)
	}
	return all
}

// AddComparison adds what a comparison of the load tests proves, or why it is missing. Tests that LoadNote has something against are
// not to be compared.
func AddComparison(c *reports.Changes, load loadgen.Comparison, err error) {
	if err != nil {
		c.LoadNote = err.Error()
		return
	}
	load.Baseline = c.Baseline
	c.Load = &load
}

// ofSort returns the changes of one kind.
func ofSort(c *reports.Changes, sort reports.ChangeSort) []reports.Change {
	return slices.DeleteFunc(slices.Clone(c.Requirements), func(one reports.Change) bool { return one.Sort != sort })
}

// loadOfSort returns the changes of the load test of one kind.
func loadOfSort(c *reports.Changes, sort reports.ChangeSort) []reports.LoadChange {
	return slices.DeleteFunc(slices.Clone(c.LoadChanges), func(one reports.LoadChange) bool { return one.Sort != sort })
}

// slower are the statistics of load tests that are proved to be worse.
func slower(c *reports.Changes) []loadgen.Row { return proved(c, compare.Slower, compare.Regressed) }

// faster are the statistics of load tests that are proved to be better.
func faster(c *reports.Changes) []loadgen.Row { return proved(c, compare.Faster, compare.Improved) }

func proved(c *reports.Changes, verdicts ...compare.Verdict) []loadgen.Row {
	if c.Load == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Load.Rows), func(r loadgen.Row) bool { return r.Control || !slices.Contains(verdicts, r.Verdict) })
}

// Worse reports whether something fails that did not, or got slower by more than it may.
func Worse(c *reports.Changes) bool {
	return len(ofSort(c, reports.NewlyFailing)) > 0 || len(loadOfSort(c, reports.NewlyFailing)) > 0 || c.Load != nil && len(compare.RegressedRows(*c.Load)) > 0
}

// Undecided says what keeps the comparison from finding out whether the run is worse; nothing when nothing does.
func Undecided(c *reports.Changes) string {
	lost, loads := ofSort(c, reports.NoLongerJudged), loadOfSort(c, reports.NoLongerJudged)
	switch {
	case len(lost) == 1:
		return fmt.Sprintf("1 requirement is no longer judged: %s", lost[0].ID)
	case len(lost) > 0:
		return fmt.Sprintf("%d requirements are no longer judged, such as %s", len(lost), lost[0].ID)
	case len(loads) > 0:
		return "no longer judged: " + loadChangeText(loads[0])
	case c.Load != nil && len(compare.UndecidedRows(*c.Load)) > 0:
		return rowText(compare.UndecidedRows(*c.Load)[0])
	}
	return ""
}

// Summary says in one sentence what differs.
func Summary(c *reports.Changes) string {
	var parts []string
	words := func(sort reports.ChangeSort) string {
		return strings.Replace(string(sort), "other", "changed otherwise", 1)
	}
	for _, sort := range changeSorts() {
		if n := len(ofSort(c, sort)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words(sort)))
		}
	}
	for _, sort := range changeSorts() {
		if n := len(loadOfSort(c, sort)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d of the load %s", n, words(sort)))
		}
	}
	if n := len(slower(c)); n > 0 {
		parts = append(parts, visible.Count(n, "statistic", "")+" of the load slower")
	}
	if n := len(faster(c)); n > 0 {
		parts = append(parts, visible.Count(n, "statistic", "")+" of the load faster")
	}
	if c.Load != nil && len(slower(c))+len(faster(c)) == 0 {
		parts = append(parts, "no difference of the load proved")
	}
	if c.Same > 0 {
		parts = append(parts, fmt.Sprintf("%d the same", c.Same))
	}
	if len(parts) == 0 {
		return "nothing could be compared"
	}
	return strings.Join(parts, ", ")
}
