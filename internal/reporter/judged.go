package reporter

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
)

// severalStages reports whether stages must be distinguished.
func severalStages(l *loadgen.Load) bool { return len(l.Stages) > 1 }

// stageTitle is the name of a stage, and which of several runs it was if it was not the first. A stage that has no name is called
// as the profile.
func stageTitle(l *loadgen.Load, s loadgen.Stage) string {
	name := cmp.Or(s.Name, l.Profile, "load")
	if s.Repeat > 1 {
		return fmt.Sprintf("%s, repeat %d", name, s.Repeat)
	}
	return name
}

// Void says why the load test says nothing about the webhook, or why the first stage does that is void, and how many others
// are. It is empty when no stage is void.
func Void(l *loadgen.Load) string {
	return firstStage(l, func(s loadgen.Stage) string { return s.VoidReason })
}

// behind says how much of a load was not sent because the webhook was too slow; "" if everything was sent.
func behind(l *loadgen.Load) string {
	return firstStage(l, func(s loadgen.Stage) string { return s.Behind })
}

// cutShort says that clients had too little time for all of their requests, which is nobody's fault; "" if they had enough.
func cutShort(l *loadgen.Load) string {
	if l == nil {
		return ""
	}
	return firstStage(l, func(s loadgen.Stage) string {
		if !s.Partial || s.Behind == "" {
			return ""
		}
		return s.Behind + "; send fewer requests, or allow more time"
	})
}

// firstStage returns the message about the first stage that has one, and the number of other stages with a message.
func firstStage(l *loadgen.Load, said func(loadgen.Stage) string) string {
	stages := slices.DeleteFunc(slices.Clone(l.Stages), func(s loadgen.Stage) bool { return said(s) == "" })
	if len(stages) == 0 {
		return ""
	}
	text := said(stages[0])
	if severalStages(l) {
		text = stageTitle(l, stages[0]) + ": " + text
	}
	if len(stages) > 1 {
		text = fmt.Sprintf("%s (and %s)", text, visible.Count(len(stages)-1, "other stage", ""))
	}
	return text
}

// Requests returns the number of requests that were sent, or due and never sent, in all stages.
func Requests(l *loadgen.Load) uint64 {
	return sum(l, func(s loadgen.Stage) uint64 { return s.Requests })
}

// FailedRequests returns the number of requests in all stages whose response API servers reject.
func FailedRequests(l *loadgen.Load) uint64 {
	return sum(l, func(s loadgen.Stage) uint64 { return s.Failed })
}

func sum(l *loadgen.Load, of func(loadgen.Stage) uint64) uint64 {
	n := uint64(0)
	for _, s := range l.Stages {
		n += of(s)
	}
	return n
}

// isAbout reports whether an objective is about a stage.
func isAbout(o loadgen.Objective, s loadgen.Stage) bool {
	return (o.Stage == "" || o.Stage == s.Name) && (o.Repeat == 0 || o.Repeat == s.Repeat)
}

// objectiveOutcome returns the outcome of an objective: met, missed, or void if its stage says nothing about the webhook.
func objectiveOutcome(l *loadgen.Load, o loadgen.Objective) string {
	switch {
	case slices.ContainsFunc(l.Stages, func(s loadgen.Stage) bool { return isAbout(o, s) && s.VoidReason != "" }):
		return "void"
	case o.Met:
		return "met"
	}
	return "missed"
}

// allowed reports whether the user has said how many failed requests of a stage are acceptable.
func allowed(l *loadgen.Load, s loadgen.Stage) bool {
	return slices.ContainsFunc(l.Objectives, func(o loadgen.Objective) bool { return o.Name == "errors" && isAbout(o, s) })
}

// against returns how many requests of a stage count against the webhook: those that failed, unless the user allows a share of them.
// If the generator was too busy, only wrong responses count, because the generator cannot cause those.
func against(l *loadgen.Load, s loadgen.Stage) uint64 {
	switch {
	case allowed(l, s):
		return 0
	case s.VoidReason != "":
		return s.Errors["http"] + s.Errors["failed"] + s.Errors["contract"] + s.Errors["content"]
	}
	return s.Failed
}

// failing reports whether failed requests count against the webhook.
func failing(l *loadgen.Load) bool {
	return l != nil && sum(l, func(s loadgen.Stage) uint64 { return against(l, s) }) > 0
}

// unloaded reports whether nothing was measured.
func unloaded(l *loadgen.Load) bool { return l == nil || len(l.Stages) == 0 && l.Search == nil }

// unreached reports whether a search has shown that not even its lowest rate meets the goal. That the generator was too busy to measure there shows
// nothing.
func unreached(l *loadgen.Load) bool {
	return l != nil && l.Search != nil && l.Search.Met == 0 && !l.Search.Partial &&
		slices.ContainsFunc(l.Search.Probes, func(p loadgen.Probe) bool { return p.Rate == l.Search.Missed && !p.Met && !p.Void })
}

// misses lists the first few objectives that were missed.
func misses(l *loadgen.Load) string {
	const most = 3
	var misses []string
	for _, target := range missedTargets(l) {
		misses = append(misses, targetText(l, target))
	}
	if unreached(l) {
		misses = append([]string{searchText(*l.Search)}, misses...)
	}
	for _, row := range regressed(l) {
		misses = append(misses, rowText(row))
	}
	return strings.Join(visible.Few(misses, most, ""), ", ")
}

// voidLoad says why a load says nothing about the webhook, or its search does not.
func voidLoad(l *loadgen.Load) string {
	switch {
	case l == nil:
		return ""
	case Void(l) != "":
		return Void(l)
	case unconfirmed(l) && (l.Search.Met == 0 || !l.Search.Partial):
		return searchFound(l)
	}
	return ""
}

// unconfirmed reports whether a search has not come to an end: neither was the rate that it found confirmed by a longer run, nor is it
// certain that there is none.
func unconfirmed(l *loadgen.Load) bool {
	return l.Search != nil && !unreached(l) && !confirmed(*l.Search)
}

// confirmed reports whether the rate that a search found held in a longer run, which is its last.
func confirmed(s loadgen.Search) bool {
	n := len(s.Probes)
	return s.Met > 0 && !s.Partial && n > 0 && s.Probes[n-1].Met && s.Probes[n-1].Rate == s.Met
}

// searchFound returns the result of a search, and whether it is confirmed.
func searchFound(l *loadgen.Load) string {
	if unconfirmed(l) && l.Search.Met > 0 {
		return searchText(*l.Search) + "; that is not confirmed"
	}
	return searchText(*l.Search)
}

// failedOf says how many requests or responses failed, of how many.
func failedOf(l *loadgen.Load, thing string) string {
	return fmt.Sprintf("%d of %s under load", FailedRequests(l), many(Requests(l), thing))
}

// praise says in one sentence that nothing is wrong.
func praise(l *loadgen.Load) string {
	var texts []string
	if l.Search != nil {
		texts = append(texts, searchFound(l))
	}
	switch failed := FailedRequests(l); {
	case Requests(l) == 0:
	case failed > 0:
		texts = append(texts, failedOf(l, "response")+" failed, which the objectives allow")
	case Requests(l) == 1:
		texts = append(texts, "the only response under load is correct")
	default:
		texts = append(texts, fmt.Sprintf("all %d responses under load are correct", Requests(l)))
	}
	if len(l.Objectives) > 0 {
		texts = append(texts, "every objective is met")
	}
	if l.Comparison != nil {
		texts = append(texts, "no regression is proved")
	}
	last := len(texts) - 1
	if last == 0 {
		return "Conforms: " + texts[0]
	}
	return "Conforms: " + strings.Join(texts[:last], ", ") + ", and " + texts[last]
}

// stageOutcome says what became of a stage.
func stageOutcome(l *loadgen.Load, s loadgen.Stage) string {
	switch {
	case against(l, s) > 0:
		return "failed"
	case slices.ContainsFunc(l.Objectives, func(o loadgen.Objective) bool { return isAbout(o, s) && objectiveOutcome(l, o) == "missed" }):
		return "missed"
	case s.VoidReason != "":
		return "void"
	case s.Partial:
		return "stopped"
	}
	return "good"
}

// outcomes are the possible outcomes of a stage or an objective, the worst first.
func outcomes() []string { return []string{"failed", "missed", "void", "stopped", "met", "good"} }

// worst returns the worst of several outcomes, with the number of those that have it unless all have.
func worst(all []string) (outcome, label string) {
	for _, outcome := range outcomes() {
		n := 0
		for _, other := range all {
			if other == outcome {
				n++
			}
		}
		switch {
		case n == len(all):
			return outcome, outcome
		case n > 0:
			return outcome, fmt.Sprintf("%s, %d of %d", outcome, n, len(all))
		}
	}
	return "", ""
}

// objectiveSubject returns the stage and the statistic of an objective.
func objectiveSubject(l *loadgen.Load, o loadgen.Objective) string {
	return stageTitle(l, loadgen.Stage{Name: o.Stage, Repeat: o.Repeat}) + ": " + o.Name
}

// loadFacts summarizes the load test in a few lines, without the stages.
func loadFacts(l *loadgen.Load) []Fact {
	facts := []Fact{{Name: "profile", Value: stageTitle(l, loadgen.Stage{})}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{Name: name, Value: value})
		}
	}
	switch groups := groupsOf(l); {
	case len(groups) == 1:
		add("workload", StageWhen(groups[0].Runs[0])+", "+StageWhat(groups[0].Runs[0]))
	case len(groups) > 1:
		add("stages", strconv.Itoa(len(groups)))
	}
	if len(l.Stages) > 0 {
		add("sent", loadSent(l))
	}
	add("void", Void(l))
	return append(facts, furtherFacts(l)...)
}

// furtherFacts says what there is to know of a load test beside what was sent and how it was judged.
func furtherFacts(l *loadgen.Load) []Fact {
	facts := []Fact{
		{Name: "behind", Value: behind(l)},
		{Name: "stopped", Value: loadStopped(l)},
		{Name: "relist", Value: firstList(l)},
		{Name: "cost", Value: costText(l.Cost)},
		{Name: "memory", Value: loadMemory(l)},
	}
	if l.Search != nil {
		facts = append(facts, Fact{Name: "search", Value: searchFound(l)})
	}
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.Value == "" })
}

// loadStopped says that a load test is incomplete; "" if it is not.
func loadStopped(l *loadgen.Load) string {
	if !slices.ContainsFunc(l.Stages, func(s loadgen.Stage) bool { return s.Partial && s.Behind == "" }) {
		return ""
	}
	if waiting := sum(l, func(s loadgen.Stage) uint64 { return s.Unanswered }); waiting > 0 {
		return fmt.Sprintf("before its end, with %s waiting for a response", visible.Count(waiting, "request", ""))
	}
	return "before its end"
}
