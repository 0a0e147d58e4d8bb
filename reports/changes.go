package reports

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crdconform/crdconform/loadgen/compare"
	"github.com/crdconform/crdconform/requirement"
)

// Changes is what differs from an earlier run.
type Changes struct {
	Baseline     string       `json:"baseline"`              // the file or folder that the earlier report was read from
	Started      time.Time    `json:"started"`               // the earlier run, in UTC
	Outcome      Outcome      `json:"outcome"`               // of the earlier run
	Headline     string       `json:"headline"`              // of the earlier run
	Notes        []string     `json:"notes,omitempty"`       // how the runs differ otherwise, such as in the version of Kubernetes
	Requirements []Change     `json:"requirements"`          // that came to something else, the worst first
	Same         int          `json:"same"`                  // requirements that came to the same
	LoadChanges  []LoadChange `json:"loadChanges,omitempty"` // what of the load tests came to something else, the worst first
	Load         *Comparison  `json:"load,omitempty"`        // of the load tests; absent when there are no two, or when they were not compared
	LoadNote     string       `json:"loadNote,omitempty"`    // why load tests were not compared
}

// ChangeSort is what a change amounts to.
type ChangeSort string

// The sorts of changes, the worst first.
const (
	NewlyFailing   ChangeSort = "newly failing"
	NoLongerJudged ChangeSort = "no longer judged"
	NewlyTolerated ChangeSort = "newly tolerated"
	NewlyJudged    ChangeSort = "newly judged"
	NewlyPassing   ChangeSort = "newly passing"
	OtherChange    ChangeSort = "other"
)

func changeSorts() []ChangeSort {
	return []ChangeSort{NewlyFailing, NoLongerJudged, NewlyTolerated, OtherChange, NewlyJudged, NewlyPassing}
}

// Change is a requirement that came to something else than in an earlier run.
type Change struct {
	ID      requirement.ID `json:"id"`
	Subject string         `json:"subject,omitempty"` // see Result
	Sort    ChangeSort     `json:"sort"`
	Before  string         `json:"before,omitempty"` // verdict; absent when the earlier run does not have the requirement
	Now     string         `json:"now,omitempty"`    // verdict; absent when this run does not have it
	Reason  string         `json:"reason,omitempty"` // of the verdict now, or of the one before if it is absent now
}

// Since compares a report with an earlier one, whose name is for people. It fails when they have no requirement and no load test
// in common, unless all that the earlier one has is missing.
func (r *Report) Since(name string, before *Report) (*Changes, error) {
	c := &Changes{Baseline: name, Started: before.Started, Outcome: before.Outcome, Headline: before.Headline(), Requirements: []Change{}}
	then := map[[2]string]Result{}
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
			c.add(was.Verdict.String(), &result, r.sortOf(before, &was, &result))
		default:
			c.add("", &result, r.sortOf(before, nil, &result))
		}
	}
	for _, was := range before.Results {
		if _, gone := then[[2]string{string(was.ID), was.Subject}]; gone {
			c.Requirements = append(c.Requirements, Change{
				ID: was.ID, Subject: was.Subject, Sort: r.sortOf(before, &was, nil), Before: was.Verdict.String(), Reason: "it was not selected, or the run did not get to it",
			})
		}
	}
	if common == 0 && (r.Load == nil || before.Load == nil) && (!r.nothing() || before.nothing()) {
		return nil, errors.New("the reports have no requirement in common; give two runs of the same")
	}
	slices.SortStableFunc(c.Requirements, func(a, b Change) int {
		return cmp.Compare(slices.Index(changeSorts(), a.Sort), slices.Index(changeSorts(), b.Sort))
	})
	c.LoadChanges = loadChanges(before.Load, r.Load)
	c.Notes = r.otherwise(before)
	if r.Load != nil || before.Load != nil {
		c.LoadNote = cmp.Or(noted(name, before.Load.Unfit()), noted("this run", r.Load.Unfit()))
	}
	return c, nil
}

// nothing tells whether there is neither a result nor a load test.
func (r *Report) nothing() bool { return len(r.Results) == 0 && r.Load.nothing() }

// noted says of which run something is true.
func noted(run, what string) string {
	if what == "" {
		return ""
	}
	return run + ": " + what
}

func (c *Changes) add(before string, now *Result, sort ChangeSort) {
	c.Requirements = append(c.Requirements, Change{
		ID: now.ID, Subject: now.Subject, Sort: sort, Before: before, Now: now.Verdict.String(), Reason: cut(flat(now.Reason), 160),
	})
}

// sortOf says what it amounts to that a requirement came to something else. A result that there is not is nil.
func (r *Report) sortOf(earlier *Report, before, now *Result) ChangeSort {
	failed, fails := before != nil && earlier.Failing(*before), now != nil && r.Failing(*now)
	switch {
	case fails && !failed:
		return NewlyFailing
	case judged(before) && !judged(now):
		return NoLongerJudged
	case now != nil && now.Verdict == requirement.Tolerated && before != nil && before.Verdict == requirement.Passed:
		return NewlyTolerated
	case judged(now) && !judged(before):
		return NewlyJudged
	case now != nil && now.Verdict == requirement.Passed:
		return NewlyPassing
	}
	return OtherChange
}

// judged tells whether a result says something about whom it judges.
func judged(r *Result) bool {
	return r != nil && r.Verdict != requirement.Unknown && r.Verdict != requirement.Errored && r.Verdict != requirement.NotApplicable
}

// otherwise says how two runs differ beside their results.
func (r *Report) otherwise(before *Report) []string {
	var notes []string
	add := func(what, then, now string) {
		if then != now {
			notes = append(notes, fmt.Sprintf("%s: %s before, %s now", what, cmp.Or(then, "none"), cmp.Or(now, "none")))
		}
	}
	cluster := func(r *Report) string {
		if r.Cluster == nil {
			return ""
		}
		return r.Cluster.String()
	}
	add("crdconform", before.Tool, r.Tool)
	add("Kubernetes", cluster(before), cluster(r))
	add("strict", strconv.FormatBool(before.Strict), strconv.FormatBool(r.Strict))
	add("webhook", before.Webhook.place(), r.Webhook.place())
	then, now := before.Webhook.kinds(), r.Webhook.kinds()
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

// kinds says what a webhook was judged with, by definition.
func (w *Webhook) kinds() map[string]string {
	if w == nil {
		return nil
	}
	all := map[string]string{}
	for _, kind := range w.Kinds {
		name := cmp.Or(kind.Definition, "definition")
		kind.Definition = ""
		all[name] = kind.String()
	}
	return all
}

// Compared adds what a comparison of the load tests proves, or why there is none. Tests that LoadNote has something against are
// not to be compared.
func (c *Changes) Compared(load compare.Comparison, err error) {
	if err != nil {
		c.LoadNote = err.Error()
		return
	}
	c.Load = &Comparison{Baseline: c.Baseline, Comparison: load}
}

// Of returns the changes of one sort.
func (c *Changes) Of(sort ChangeSort) []Change {
	return slices.DeleteFunc(slices.Clone(c.Requirements), func(one Change) bool { return one.Sort != sort })
}

// ofLoad returns the changes of the load test of one sort.
func (c *Changes) ofLoad(sort ChangeSort) []LoadChange {
	return slices.DeleteFunc(slices.Clone(c.LoadChanges), func(one LoadChange) bool { return one.Sort != sort })
}

// Slower are the statistics of load tests that are proved to be worse.
func (c *Changes) Slower() []compare.Row { return c.proved(compare.Slower, compare.Regressed) }

// Faster are the statistics of load tests that are proved to be better.
func (c *Changes) Faster() []compare.Row { return c.proved(compare.Faster, compare.Improved) }

func (c *Changes) proved(verdicts ...compare.Verdict) []compare.Row {
	if c.Load == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Load.Rows), func(r compare.Row) bool { return r.Control || !slices.Contains(verdicts, r.Verdict) })
}

// Worse tells whether something fails that did not, or got slower by more than it may.
func (c *Changes) Worse() bool {
	return len(c.Of(NewlyFailing)) > 0 || len(c.ofLoad(NewlyFailing)) > 0 || c.Load != nil && len(c.Load.Regressed()) > 0
}

// Open says what keeps the comparison from telling whether the run is worse; nothing when nothing does.
func (c *Changes) Open() string {
	lost, loads := c.Of(NoLongerJudged), c.ofLoad(NoLongerJudged)
	switch {
	case len(lost) == 1:
		return fmt.Sprintf("1 requirement is no longer judged: %s", lost[0].ID)
	case len(lost) > 0:
		return fmt.Sprintf("%d requirements are no longer judged, such as %s", len(lost), lost[0].ID)
	case len(loads) > 0:
		return "what was judged before is not any more: " + loads[0].String()
	case c.Load != nil && len(c.Load.Undecided()) > 0:
		return told(c.Load.Undecided()[0])
	}
	return ""
}

// Summary says in one sentence what differs.
func (c *Changes) Summary() string {
	var parts []string
	words := func(sort ChangeSort) string { return strings.Replace(string(sort), "other", "changed otherwise", 1) }
	for _, sort := range changeSorts() {
		if n := len(c.Of(sort)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words(sort)))
		}
	}
	for _, sort := range changeSorts() {
		if n := len(c.ofLoad(sort)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d of the load %s", n, words(sort)))
		}
	}
	if n := len(c.Slower()); n > 0 {
		parts = append(parts, counted(n, "statistic")+" of the load slower")
	}
	if n := len(c.Faster()); n > 0 {
		parts = append(parts, counted(n, "statistic")+" of the load faster")
	}
	if c.Load != nil && len(c.Slower())+len(c.Faster()) == 0 {
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
