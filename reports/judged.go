package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// several tells whether the stages have to be told apart.
func (l *Load) several() bool { return len(l.Stages) > 1 }

// title is the name of a stage, and which of several runs it was if it was not the first. A stage that has no name is called
// as the profile.
func (l *Load) title(s Stage) string {
	name := cmp.Or(s.Name, l.Profile, "load")
	if s.Repeat > 1 {
		return fmt.Sprintf("%s, repeat %d", name, s.Repeat)
	}
	return name
}

// Void says why the load test says nothing about the webhook, or why the first stage does that is void, and how many others
// are. It is empty when no stage is void.
func (l *Load) Void() string { return l.first(func(s Stage) string { return s.VoidReason }) }

// behind says how much of a load was not sent since the webhook could not follow; nothing when all was.
func (l *Load) behind() string { return l.first(func(s Stage) string { return s.Behind }) }

// cut says that clients had no time for all requests that they were to send, which nobody is to blame for; nothing when they had.
func (l *Load) cut() string {
	if l == nil {
		return ""
	}
	return l.first(func(s Stage) string {
		if !s.Partial || s.Behind == "" {
			return ""
		}
		return s.Behind + "; ask for fewer, or give them longer"
	})
}

// first is what is said of the first stage of which something is, and of how many others something is said too.
func (l *Load) first(said func(Stage) string) string {
	stages := slices.DeleteFunc(slices.Clone(l.Stages), func(s Stage) bool { return said(s) == "" })
	if len(stages) == 0 {
		return ""
	}
	text := said(stages[0])
	if l.several() {
		text = l.title(stages[0]) + ": " + text
	}
	if len(stages) > 1 {
		text = fmt.Sprintf("%s (and %s)", text, counted(len(stages)-1, "other stage"))
	}
	return text
}

// Requests is how many were sent, or due and never sent, in all stages.
func (l *Load) Requests() uint64 {
	return l.sum(func(s Stage) uint64 { return s.Requests })
}

// Failed is how many requests got a response that API servers reject, in all stages.
func (l *Load) Failed() uint64 {
	return l.sum(func(s Stage) uint64 { return s.Failed })
}

func (l *Load) sum(of func(Stage) uint64) uint64 {
	n := uint64(0)
	for _, s := range l.Stages {
		n += of(s)
	}
	return n
}

// about tells whether an objective is about a stage.
func (o Objective) about(s Stage) bool {
	return (o.Stage == "" || o.Stage == s.Name) && (o.Repeat == 0 || o.Repeat == s.Repeat)
}

// Met says what became of an objective: met, missed, or void when a stage that it is about says nothing about the webhook.
func (l *Load) Met(o Objective) string {
	switch {
	case slices.ContainsFunc(l.Stages, func(s Stage) bool { return o.about(s) && s.VoidReason != "" }):
		return "void"
	case o.Met:
		return "met"
	}
	return "missed"
}

// allowed tells whether the user has said how many failed requests of a stage are acceptable.
func (l *Load) allowed(s Stage) bool {
	return slices.ContainsFunc(l.Objectives, func(o Objective) bool { return o.Name == "errors" && o.about(s) })
}

// against is how many requests of a stage speak against the webhook: those that failed, unless the user allows a share of
// them. When the generator was too busy only responses that came and are wrong do, since no haste of it makes them so.
func (l *Load) against(s Stage) uint64 {
	switch {
	case l.allowed(s):
		return 0
	case s.VoidReason != "":
		return s.Errors["http"] + s.Errors["failed"] + s.Errors["contract"]
	}
	return s.Failed
}

// failing tells whether failed requests speak against the webhook.
func (l *Load) failing() bool { return l != nil && l.sum(l.against) > 0 }

// nothing tells whether nothing was measured.
func (l *Load) nothing() bool { return l == nil || len(l.Stages) == 0 && l.Search == nil }

// unreached tells whether a search has shown that not even its lowest rate meets the goal. That the generator could not tell there shows
// nothing.
func (l *Load) unreached() bool {
	return l != nil && l.Search != nil && l.Search.Met == 0 && !l.Search.Partial &&
		slices.ContainsFunc(l.Search.Probes, func(p Probe) bool { return p.Rate == l.Search.Missed && !p.Met && !p.Void })
}

// misses says which objectives were missed. It has room for a few of them.
func (l *Load) misses() string {
	const most = 3
	var misses []string
	for _, target := range l.missed() {
		misses = append(misses, l.told(target))
	}
	if l.unreached() {
		misses = append([]string{l.Search.String()}, misses...)
	}
	for _, row := range l.regressed() {
		misses = append(misses, told(row))
	}
	if n := len(misses); n > most {
		misses = append(misses[:most], more(n-most))
	}
	return strings.Join(misses, ", ")
}

// void says why a load says nothing about the webhook, or its search does not.
func (l *Load) void() string {
	switch {
	case l == nil:
		return ""
	case l.Void() != "":
		return l.Void()
	case l.unconfirmed() && (l.Search.Met == 0 || !l.Search.Partial):
		return l.Found()
	}
	return ""
}

// unconfirmed tells whether a search has not come to an end: neither was the rate that it found confirmed by a longer run, nor is it
// certain that there is none.
func (l *Load) unconfirmed() bool {
	return l.Search != nil && !l.unreached() && (l.Search.Met == 0 || len(l.Stages) == 0)
}

// Found says what the search found, and whether that is confirmed.
func (l *Load) Found() string {
	if l.unconfirmed() && l.Search.Met > 0 {
		return l.Search.String() + "; that is not confirmed"
	}
	return l.Search.String()
}

// ofJudged says how many requests or responses failed, of how many.
func (l *Load) ofJudged(thing string) string {
	if judged := l.sum(func(s Stage) uint64 { return s.Judged }); l.sampled() != "" && judged < l.Requests() {
		return fmt.Sprintf("%d of %s under load that were judged", l.Failed(), many(judged, thing))
	}
	return fmt.Sprintf("%d of %s under load", l.Failed(), many(l.Requests(), thing))
}

// praise says in one sentence that nothing is wrong.
func (l *Load) praise() string {
	var texts []string
	if l.Search != nil {
		texts = append(texts, l.Found())
	}
	switch failed, sampled := l.Failed(), l.sampled(); {
	case l.Requests() == 0:
	case failed > 0:
		texts = append(texts, l.ofJudged("response")+" failed, which the objectives allow")
	case sampled != "":
		texts = append(texts, "all judged responses under load are good: "+sampled)
	case l.Requests() == 1:
		texts = append(texts, "the one response under load is good")
	default:
		texts = append(texts, fmt.Sprintf("all of %d responses under load are good", l.Requests()))
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

// outcome says what became of a stage.
func (l *Load) outcome(s Stage) string {
	switch {
	case l.against(s) > 0:
		return "failed"
	case slices.ContainsFunc(l.Objectives, func(o Objective) bool { return o.about(s) && l.Met(o) == "missed" }):
		return "missed"
	case s.VoidReason != "":
		return "void"
	case s.Partial:
		return "stopped"
	}
	return "good"
}

// outcomes are what can become of a stage or an objective, the worst first.
func outcomes() []string { return []string{"failed", "missed", "void", "stopped", "met", "good"} }

// worst is the worst of several outcomes, and the same with how many have it unless all have.
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

// subject is what an objective is about: the stage and the statistic.
func (l *Load) subject(o Objective) string {
	return l.title(Stage{Name: o.Stage, Repeat: o.Repeat}) + ": " + o.Name
}

// Facts sums the load test up in a few lines, without the stages.
func (l *Load) Facts() []Fact {
	facts := []Fact{{Name: "profile", Value: l.title(Stage{})}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{Name: name, Value: value})
		}
	}
	switch groups := l.groups(); {
	case len(groups) == 1:
		add("workload", groups[0].Runs[0].When()+", "+groups[0].Runs[0].What())
	case len(groups) > 1:
		add("stages", strconv.Itoa(len(groups)))
	}
	if len(l.Stages) > 0 {
		add("sent", l.sent())
	}
	add("void", l.Void())
	add("behind", l.behind())
	add("stopped", l.stopped())
	add("relist", l.firstList())
	add("judged", l.sampled())
	if l.Cost != nil {
		add("cost", l.Cost.String())
	}
	if l.Search != nil {
		add("search", l.Found())
	}
	return facts
}

// stopped says that a load test is not whole, and nothing when it is.
func (l *Load) stopped() string {
	if !slices.ContainsFunc(l.Stages, func(s Stage) bool { return s.Partial && s.Behind == "" }) {
		return ""
	}
	if waiting := l.sum(func(s Stage) uint64 { return s.Unanswered }); waiting > 0 {
		return fmt.Sprintf("before its end, with %s waiting for a response", counted(int(waiting), "request"))
	}
	return "before its end"
}

// sampled says how many responses were judged, and nothing when all were.
func (l *Load) sampled() string {
	every := 0
	for _, s := range l.Stages {
		every = max(every, s.JudgeEvery)
	}
	if every < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d, since one in %d was asked for", l.sum(func(s Stage) uint64 { return s.Judged }), l.Requests(), every)
}
