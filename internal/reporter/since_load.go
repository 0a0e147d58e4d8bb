package reporter

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// loadChangeText is a change in a line, such as "load, batch 500: p99: met, now missed: p99 12 ms (limit 10 ms)".
func loadChangeText(c reports.LoadChange) string {
	return joined(fmt.Sprintf("load, %s: %s, now %s", c.What, cmp.Or(c.Before, "absent"), cmp.Or(c.Now, "absent")), ": ", c.Reason)
}

// Unfit says why a load test cannot be compared with another; nothing when it can.
func Unfit(l *loadgen.Load) string {
	switch {
	case l == nil || len(l.Stages) == 0:
		return "it has no load test"
	case Void(l) != "":
		return "its load test is void: " + Void(l)
	case slices.ContainsFunc(l.Stages, func(s loadgen.Stage) bool { return s.Partial }):
		return "its load test was stopped before its end"
	}
	return ""
}

// judgement is what a part of a load test came to, in all its repeats.
type judgement struct{ what, came, reason string }

// judgements are what the load test came to: the responses of each stage, the objectives, and what else can fail or be void.
func judgements(l *loadgen.Load) []judgement {
	if l == nil {
		return nil
	}
	var each []judgement
	for _, s := range l.Stages {
		each = append(each, stageJudgement(l, s))
	}
	for _, t := range targetsOf(l) {
		j := judgement{joined(objectiveSubject(l, t.Objective), ", ", t.Source), t.Outcome, ""}
		if t.Outcome == "missed" {
			j.reason = targetText(l, t)
		}
		each = append(each, j)
	}
	each = append(each, judgementsBeside(l)...)
	var all []judgement // the worst of each
	for _, j := range each {
		j.reason = visible.Cut(flat(j.reason), 160)
		at := slices.IndexFunc(all, func(other judgement) bool { return other.what == j.what })
		switch {
		case at < 0:
			all = append(all, j)
		case slices.Index(outcomes(), j.came) < slices.Index(outcomes(), all[at].came):
			all[at] = j
		}
	}
	return all
}

// stageJudgement is the outcome of the responses of a stage. Objectives are reported separately.
func stageJudgement(l *loadgen.Load, s loadgen.Stage) judgement {
	what := stageTitle(l, loadgen.Stage{Name: s.Name}) + ": responses"
	switch {
	case against(l, s) > 0:
		return judgement{what, "failed", joined(stageFailures(s), "; ", s.Behind)}
	case s.VoidReason != "":
		return judgement{what, "void", s.VoidReason}
	case s.Partial:
		return judgement{what, "stopped", s.Behind}
	}
	return judgement{what, "good", ""}
}

// judgementsBeside are those of what is neither a stage nor an objective.
func judgementsBeside(l *loadgen.Load) []judgement {
	const search, comparison, server = "search", "comparison with its baseline", "through the API server"
	var all []judgement
	switch {
	case l.Search == nil:
	case unreached(l):
		all = append(all, judgement{search, "missed", searchFound(l)})
	case unconfirmed(l):
		all = append(all, judgement{search, "void", searchFound(l)})
	default:
		all = append(all, judgement{search, "met", ""})
	}
	switch worse, open := regressed(l), incomparable(l); {
	case len(worse) > 0:
		all = append(all, judgement{comparison, "missed", rowText(worse[0])})
	case len(open) > 0:
		all = append(all, judgement{comparison, "void", rowText(open[0])})
	case l.Comparison != nil && slices.ContainsFunc(l.Comparison.Rows, func(r loadgen.Row) bool { return r.Limit != "" }):
		all = append(all, judgement{comparison, "met", ""})
	}
	switch gap := unmeasured(l); {
	case l.Server == nil:
	case l.Server.Partial:
		all = append(all, judgement{server, "stopped", ""})
	case gap != "":
		all = append(all, judgement{server, "void", gap})
	default:
		all = append(all, judgement{server, "good", ""})
	}
	return all
}

// loadChanges are the parts of load tests that came to something else, the worst first.
func loadChanges(before, now *loadgen.Load) []reports.LoadChange {
	then := map[string]string{}
	for _, was := range judgements(before) {
		then[was.what] = was.came
	}
	var all []reports.LoadChange
	add := func(what, before, now, reason string) {
		if before != now {
			all = append(all, reports.LoadChange{What: what, Sort: loadSort(before, now), Before: before, Now: now, Reason: reason})
		}
	}
	for _, is := range judgements(now) {
		add(is.what, then[is.what], is.came, is.reason)
		delete(then, is.what)
	}
	for _, was := range judgements(before) {
		if _, gone := then[was.what]; gone {
			add(was.what, was.came, "", "")
		}
	}
	slices.SortStableFunc(all, func(a, b reports.LoadChange) int {
		return cmp.Compare(slices.Index(changeSorts(), a.Sort), slices.Index(changeSorts(), b.Sort))
	})
	return all
}

// loadSort says what it amounts to that a part of a load test came to something else. One that there is not came to nothing.
func loadSort(before, now string) reports.ChangeSort {
	fails := func(came string) bool { return came == "failed" || came == "missed" }
	judged := func(came string) bool { return fails(came) || came == "good" || came == "met" }
	switch {
	case fails(now) && !fails(before):
		return reports.NewlyFailing
	case judged(before) && !judged(now):
		return reports.NoLongerJudged
	case judged(now) && !judged(before):
		return reports.NewlyJudged
	case judged(now) && !fails(now):
		return reports.NewlyPassing
	}
	return reports.OtherChange
}
