package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crdconform/crdconform/loadgen/compare"
)

// LoadChange is a part of the load test that came to something else than in an earlier run.
type LoadChange struct {
	What   string     `json:"what"`             // such as "batch 500: responses", "batch 500: p99" or "search"
	Sort   ChangeSort `json:"sort"`             //
	Before string     `json:"before,omitempty"` // such as good, met, missed or void; absent when the earlier run does not have it
	Now    string     `json:"now,omitempty"`    // such as failed; absent when this run does not have it
	Reason string     `json:"reason,omitempty"` // of what it is now
}

// String is a change in a line, such as "load, batch 500: p99: met, now missed: p99 12 ms (limit 10 ms)".
func (c LoadChange) String() string {
	return joined(fmt.Sprintf("load, %s: %s, now %s", c.What, cmp.Or(c.Before, "absent"), cmp.Or(c.Now, "absent")), ": ", c.Reason)
}

// Unfit says why a load test cannot be compared with another; nothing when it can.
func (l *Load) Unfit() string {
	switch {
	case l == nil || len(l.Stages) == 0:
		return "there is no load test in it"
	case l.Void() != "":
		return "its load test is void: " + l.Void()
	case slices.ContainsFunc(l.Stages, func(s Stage) bool { return s.Partial }):
		return "its load test was stopped before its end"
	}
	return ""
}

// judgement is what a part of a load test came to, in all its repeats.
type judgement struct{ what, came, reason string }

// judgements are what the load test came to: the responses of each stage, the objectives, and what else can fail or be void.
func (l *Load) judgements() []judgement {
	if l == nil {
		return nil
	}
	var each []judgement
	for _, s := range l.Stages {
		each = append(each, l.judgement(s))
	}
	for _, t := range l.targets() {
		j := judgement{joined(l.subject(t.Objective), ", ", t.Source), t.Outcome, ""}
		if t.Outcome == "missed" {
			j.reason = l.told(t)
		}
		each = append(each, j)
	}
	each = append(each, l.judgementsBeside()...)
	var all []judgement // the worst of each
	for _, j := range each {
		j.reason = cut(flat(j.reason), 160)
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

// judgement is what the responses of a stage came to. What its objectives did is told of those.
func (l *Load) judgement(s Stage) judgement {
	what := l.title(Stage{Name: s.Name}) + ": responses"
	switch {
	case l.against(s) > 0:
		return judgement{what, "failed", joined(s.failures(), "; ", s.Behind)}
	case s.VoidReason != "":
		return judgement{what, "void", s.VoidReason}
	case s.Partial:
		return judgement{what, "stopped", s.Behind}
	}
	return judgement{what, "good", ""}
}

// judgementsBeside are those of what is neither a stage nor an objective.
func (l *Load) judgementsBeside() []judgement {
	const search, comparison, server = "search", "comparison with its baseline", "through the API server"
	var all []judgement
	switch {
	case l.Search == nil:
	case l.unreached():
		all = append(all, judgement{search, "missed", l.Found()})
	case l.unconfirmed():
		all = append(all, judgement{search, "void", l.Found()})
	default:
		all = append(all, judgement{search, "met", ""})
	}
	switch worse, open := l.regressed(), l.incomparable(); {
	case len(worse) > 0:
		all = append(all, judgement{comparison, "missed", told(worse[0])})
	case len(open) > 0:
		all = append(all, judgement{comparison, "void", told(open[0])})
	case l.Comparison != nil && slices.ContainsFunc(l.Comparison.Rows, func(r compare.Row) bool { return r.Limit != "" }):
		all = append(all, judgement{comparison, "met", ""})
	}
	switch gap := l.unmeasured(); {
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
func loadChanges(before, now *Load) []LoadChange {
	then := map[string]string{}
	for _, was := range before.judgements() {
		then[was.what] = was.came
	}
	var all []LoadChange
	add := func(what, before, now, reason string) {
		if before != now {
			all = append(all, LoadChange{What: what, Sort: loadSort(before, now), Before: before, Now: now, Reason: reason})
		}
	}
	for _, is := range now.judgements() {
		add(is.what, then[is.what], is.came, is.reason)
		delete(then, is.what)
	}
	for _, was := range before.judgements() {
		if _, gone := then[was.what]; gone {
			add(was.what, was.came, "", "")
		}
	}
	slices.SortStableFunc(all, func(a, b LoadChange) int {
		return cmp.Compare(slices.Index(changeSorts(), a.Sort), slices.Index(changeSorts(), b.Sort))
	})
	return all
}

// loadSort says what it amounts to that a part of a load test came to something else. One that there is not came to nothing.
func loadSort(before, now string) ChangeSort {
	fails := func(came string) bool { return came == "failed" || came == "missed" }
	judged := func(came string) bool { return fails(came) || came == "good" || came == "met" }
	switch {
	case fails(now) && !fails(before):
		return NewlyFailing
	case judged(before) && !judged(now):
		return NoLongerJudged
	case judged(now) && !judged(before):
		return NewlyJudged
	case judged(now) && !fails(now):
		return NewlyPassing
	}
	return OtherChange
}
