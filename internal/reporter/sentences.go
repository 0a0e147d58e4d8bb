package reporter

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
)

// stageWatched says in one sentence what the generator of a stage found out about itself.
func stageWatched(s loadgen.Stage) string {
	g, were := s.Generator, "was"
	if s.Workers > 1 {
		were = "were"
	}
	parts := []string{
		fmt.Sprintf("%s, waited %s for a processor at the 99th percentile, and %s paused at most %s for garbage collection (%s)",
			processors(s), short(g.Waited), were, short(g.Paused), visible.Count(g.Collections, "collection", "")),
		fmt.Sprintf("it sent %d of %d requests more than %s ms late", s.Late, s.Requests-s.Errors["overdue"], given(s.LateAfter)),
	}
	for _, what := range slices.Sorted(maps.Keys(s.Unsent)) {
		parts = append(parts, fmt.Sprintf("%d more not at all (%s)", s.Unsent[what], what))
	}
	return strings.Join(parts, "; ")
}

// processors says how much of them the generator used.
func processors(s loadgen.Stage) string {
	cores, used := visible.Count(s.Generator.Cores, "core", ""), ""
	if s.Generator.ProcessorSeconds > 0 && s.Seconds > 0 {
		used = figure(s.Generator.ProcessorSeconds / s.Seconds)
	}
	if s.Workers > 1 { // they may share a machine, or have one each
		return fmt.Sprintf("the %d workers used %s cores altogether, and could use %s each", s.Workers, cmp.Or(used, "an unknown number of"), cores)
	}
	return fmt.Sprintf("the generator used %s of %s", cmp.Or(used, "an unknown share"), cores)
}

// costText says what a request and what an object costs, and a kB; "" if that is not known.
func costText(c *loadgen.Cost) string {
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("%s a request + %s an object", short(c.Request), short(c.Object))
	if len(c.Bytes) > 0 {
		text += fmt.Sprintf(" + %s a kB", short(c.Kilobyte))
	}
	text = joined(fmt.Sprintf("%s, fit %.3f", text, c.Fit), ", from batches of ", numbers(c.Batches))
	if len(c.Bytes) > 0 {
		text += fmt.Sprintf(", with objects of %s bytes", numbers(c.Bytes))
	}
	return text
}

// numbers lists numbers; "" if there are none.
func numbers(all []int) string {
	texts := make([]string, 0, len(all))
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return listed(texts)
}

// loadMemory says how much memory the webhook used in the stage with the most, or in the first in which it leaks; "" if that was not
// measured.
func loadMemory(l *loadgen.Load) string {
	var most *loadgen.Memory
	for _, s := range l.Stages {
		if m := s.Memory; m != nil && (most == nil || !most.Leaks && (m.Leaks || m.Max > most.Max)) {
			most = m
		}
	}
	if most == nil {
		return ""
	}
	mebi := func(bytes float64) string { return figure(bytes/(1<<20)) + " MiB" }
	if most.Leaks {
		return fmt.Sprintf("the webhook leaks: it grew from %s to %s, by %s a minute (95 %% interval %s to %s) and %s KiB an object",
			mebi(most.From), mebi(most.To), mebi(most.PerMinute), mebi(most.PerMinuteLow), mebi(most.PerMinuteHigh), figure(most.PerObject/(1<<10)))
	}
	return fmt.Sprintf("the webhook used at most %s; a limit of %s leaves room; disruption.memory.limit shows what it does with too little", mebi(most.Max), mebi(most.Limit))
}

// searchText says what was found in one sentence.
func searchText(s loadgen.Search) string {
	met, missed := given(s.Met)+"/s", ""
	if s.Missed > 0 {
		missed = given(s.Missed) + "/s missed it"
		if slices.ContainsFunc(s.Probes, func(p loadgen.Probe) bool { return p.Rate == s.Missed && p.Void }) {
			missed = "at " + given(s.Missed) + "/s the generator was too busy to measure"
		}
	}
	text := ""
	switch {
	case len(s.Probes) == 0:
		text = "no rate was tried"
	case s.Met == 0:
		text = joined("no rate met "+s.Goal, "; ", missed)
	case missed == "":
		text = fmt.Sprintf("every rate up to the highest met %s: %s", s.Goal, met)
	default:
		text = fmt.Sprintf("highest rate that met %s: %s; %s", s.Goal, met, missed)
	}
	if s.Partial {
		text += "; stopped before its end"
	}
	return text
}

// objectiveText says what was measured and what the limit is.
func objectiveText(o loadgen.Objective) string {
	text := fmt.Sprintf("%s %s (%s)", o.Name, quantity(o, o.Measured), objectiveBound(o))
	if o.Stage == "" {
		return text
	}
	return o.Stage + ": " + text
}

// objectiveBound says what the limit is and where it comes from.
func objectiveBound(o loadgen.Objective) string {
	sort := "limit "
	if o.AtLeast {
		sort = "at least "
	}
	return joined(sort+quantity(o, o.Limit), ", ", o.Source)
}

// objectiveMargin says how far what was measured is from the limit, as a share of the limit. It is empty for a limit of 0.
func objectiveMargin(o loadgen.Objective) string {
	if o.Limit == 0 {
		return ""
	}
	left, met, missed := 1-o.Measured/o.Limit, "left", "over"
	if o.AtLeast {
		left, met, missed = o.Measured/o.Limit-1, "to spare", "short"
	}
	text := figure(100*math.Abs(left)) + " % "
	if left < 0 {
		return strings.Replace(text, "0.000", "less than 0.001", 1) + missed
	}
	return text + met
}

// quantity is a number with its unit. It has digits enough to distinguish a limit from what barely misses it.
func quantity(o loadgen.Objective, v float64) string {
	switch o.Unit {
	case "share":
		return sixDigits(100*v) + " %"
	case "1/s":
		return sixDigits(v) + "/s"
	}
	return sixDigits(v) + " " + o.Unit
}

// StageWhen says when requests were sent, such as "100 requests a second for 10 s".
func StageWhen(s loadgen.Stage) string {
	switch {
	case s.Clients > 0 && s.Most > 0:
		return fmt.Sprintf("%s, one request at a time each, until %s are sent, for at most %s s", visible.Count(s.Clients, "client", ""), many(s.Most, "request"), given(s.Duration))
	case s.Clients > 0:
		return fmt.Sprintf("%s, one request at a time each, for %s s", visible.Count(s.Clients, "client", ""), given(s.Duration))
	case s.Recorded:
		return fmt.Sprintf("requests at the times of the recording, %s per second on average for %s s", given(s.Rate), given(s.Duration))
	case len(s.Phases) != 1:
		return fmt.Sprintf("%s requests per second on average in %d phases, for %s s", given(s.Rate), len(s.Phases), given(s.Duration))
	}
	return PhaseText(s.Phases[0])
}

// StageWhat says what was sent, such as "10 objects a request, v1beta1 to v1, ConversionReview v1 over HTTP/1.1".
func StageWhat(s loadgen.Stage) string {
	var pairs []string
	for _, p := range s.Pairs {
		pairs = append(pairs, PairText(p))
	}
	size := ""
	if s.Bytes > 0 {
		size = fmt.Sprintf(" of %d bytes", s.Bytes)
	}
	return fmt.Sprintf("%s%s a request, %s, ConversionReview %s over %s", visible.Count(s.Batch, "object", ""), size, strings.Join(pairs, " and "), s.ReviewVersion, s.HTTP)
}

// stageCame says how much came back, and how much of it well.
func stageCame(s loadgen.Stage) string {
	text := visible.Count(s.Requests, "request", "")
	if s.SentPerSecond > 0 {
		text += fmt.Sprintf(", %s sent and %s answered a second", figure(s.SentPerSecond), figure(s.RequestsPerSecond))
	}
	text += fmt.Sprintf(", %.0f objects a second, %s", s.ObjectsPerSecond, stageFailures(s))
	switch {
	case s.Behind != "":
		text += "; " + s.Behind
	case s.Partial:
		text += "; stopped before its end"
	}
	if s.Unanswered > 0 {
		text += fmt.Sprintf(", with %d waiting for a response", s.Unanswered)
	}
	if s.VoidReason != "" {
		text += "; void: " + s.VoidReason
	}
	return text
}

// stageFailures says how many requests failed, by kind of error.
func stageFailures(s loadgen.Stage) string {
	if s.Failed == 0 {
		return "none failed"
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(s.Errors)) {
		kinds = append(kinds, wholeNumber(s.Errors[kind])+" "+kind)
	}
	return fmt.Sprintf("%s failed (%s)", wholeNumber(s.Failed), strings.Join(kinds, ", "))
}

// stageHeadline says in one sentence what the load of a stage was and how much of it was answered well.
func stageHeadline(s loadgen.Stage) string {
	return fmt.Sprintf("%s, %s: %s", StageWhen(s), StageWhat(s), stageCame(s))
}
