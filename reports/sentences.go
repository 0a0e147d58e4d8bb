package reports

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Watched says in one sentence what the generator of a stage found out about itself.
func (s Stage) Watched() string {
	g, were := s.Generator, "was"
	if s.Workers > 1 {
		were = "were"
	}
	parts := []string{
		fmt.Sprintf("%s, waited %s for a processor at the 99th percentile, and %s stopped for garbage %s at the longest (%s)",
			s.processors(), short(g.Waited), were, short(g.Paused), counted(int(min(g.Collections, math.MaxInt)), "collection")),
		fmt.Sprintf("it sent %d of %d requests more than %s ms late", s.Late, s.Requests-s.Errors["overdue"], given(s.LateAfter)),
	}
	for _, what := range slices.Sorted(maps.Keys(s.Unsent)) {
		parts = append(parts, fmt.Sprintf("%d more not at all (%s)", s.Unsent[what], what))
	}
	return strings.Join(parts, "; ")
}

// processors says how much of them the generator used.
func (s Stage) processors() string {
	cores, used := counted(s.Generator.Cores, "core"), ""
	if s.Generator.ProcessorSeconds > 0 && s.Seconds > 0 {
		used = figure(s.Generator.ProcessorSeconds / s.Seconds)
	}
	if s.Workers > 1 { // they may share a machine, or have one each
		return fmt.Sprintf("the %d workers used %s cores altogether, and could use %s each", s.Workers, cmp.Or(used, "an unknown number of"), cores)
	}
	return fmt.Sprintf("the generator used %s of %s", cmp.Or(used, "an unknown share"), cores)
}

// String says which request it was and what was wrong.
func (f LoadFinding) String() string {
	return fmt.Sprintf("request %d: %s: %s", f.Request, f.Requirement, f.Text)
}

// String says what a request and what an object costs.
func (c Cost) String() string {
	batches := make([]string, 0, len(c.Batches))
	for _, n := range c.Batches {
		batches = append(batches, strconv.Itoa(n))
	}
	text := fmt.Sprintf("%s a request + %s an object, fit %.3f", short(c.Request), short(c.Object), c.Fit)
	return joined(text, ", from batches of ", listed(batches))
}

// String says what was found in one sentence.
func (s Search) String() string {
	met, missed := given(s.Met)+"/s", ""
	if s.Missed > 0 {
		missed = given(s.Missed) + "/s missed it"
		if slices.ContainsFunc(s.Probes, func(p Probe) bool { return p.Rate == s.Missed && p.Void }) {
			missed = "at " + given(s.Missed) + "/s the generator could not tell"
		}
	}
	text := ""
	switch {
	case len(s.Probes) == 0:
		text = "no rate was tried"
	case s.Met == 0:
		text = joined("no rate that was tried met "+s.Goal, "; ", missed)
	case missed == "":
		text = fmt.Sprintf("every rate that was tried met %s, up to %s", s.Goal, met)
	default:
		text = fmt.Sprintf("highest rate that met %s: %s; %s", s.Goal, met, missed)
	}
	if s.Partial {
		text += "; stopped before its end"
	}
	return text
}

// String says what was measured and what the limit is.
func (o Objective) String() string {
	text := fmt.Sprintf("%s %s (%s)", o.Name, o.Quantity(o.Measured), o.Bound())
	if o.Stage == "" {
		return text
	}
	return o.Stage + ": " + text
}

// Bound says what the limit is and where it comes from.
func (o Objective) Bound() string {
	sort := "limit "
	if o.AtLeast {
		sort = "at least "
	}
	return joined(sort+o.Quantity(o.Limit), ", ", o.Source)
}

// Margin says how far what was measured is from the limit, as a share of the limit. It is empty for a limit of 0.
func (o Objective) Margin() string {
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

// Quantity is a number with its unit. It has digits enough to tell a limit from what barely misses it.
func (o Objective) Quantity(v float64) string {
	switch o.Unit {
	case "share":
		return sixDigits(100*v) + " %"
	case "1/s":
		return sixDigits(v) + "/s"
	}
	return sixDigits(v) + " " + o.Unit
}

// When says when requests were sent, such as "100 requests a second for 10 s".
func (s Stage) When() string {
	switch {
	case s.Clients > 0 && s.Most > 0:
		return fmt.Sprintf("%s asking in turn until %s are sent, for %s s at most", counted(s.Clients, "client"), many(s.Most, "request"), given(s.Duration))
	case s.Clients > 0:
		return fmt.Sprintf("%s asking in turn for %s s", counted(s.Clients, "client"), given(s.Duration))
	case s.Recorded:
		return fmt.Sprintf("requests when they came in the recording, %s a second in the mean for %s s", given(s.Rate), given(s.Duration))
	case len(s.Phases) != 1:
		return fmt.Sprintf("%s requests a second in the mean of %d phases, for %s s", given(s.Rate), len(s.Phases), given(s.Duration))
	}
	return s.Phases[0].String()
}

// What says what was sent, such as "10 objects a request, v1beta1 to v1, ConversionReview v1 over HTTP/1.1".
func (s Stage) What() string {
	var pairs []string
	for _, p := range s.Pairs {
		pairs = append(pairs, p.String())
	}
	size := ""
	if s.Bytes > 0 {
		size = fmt.Sprintf(" of %d bytes", s.Bytes)
	}
	return fmt.Sprintf("%s%s a request, %s, ConversionReview %s over %s", counted(s.Batch, "object"), size, strings.Join(pairs, " and "), s.ReviewVersion, s.HTTP)
}

// Came says how much came back, and how much of it well.
func (s Stage) Came() string {
	text := counted(int(min(s.Requests, math.MaxInt)), "request")
	if s.SentPerSecond > 0 {
		text += fmt.Sprintf(", %s sent and %s answered a second", figure(s.SentPerSecond), figure(s.RequestsPerSecond))
	}
	text += fmt.Sprintf(", %.0f objects a second, %s", s.ObjectsPerSecond, s.failures())
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

// sampled tells whether some responses were not judged, as the user asked for.
func (s Stage) sampled() bool { return s.JudgeEvery > 1 && s.Judged < s.Requests }

// failures says how many requests failed, by kind of error, and of how many if not all were judged.
func (s Stage) failures() string {
	of := ""
	if s.sampled() {
		of = fmt.Sprintf(" of %s that were judged", wholeNumber(s.Judged))
	}
	if s.Failed == 0 {
		return "none" + of + " failed"
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(s.Errors)) {
		kinds = append(kinds, wholeNumber(s.Errors[kind])+" "+kind)
	}
	return fmt.Sprintf("%s%s failed (%s)", wholeNumber(s.Failed), of, strings.Join(kinds, ", "))
}

// Headline says in one sentence what the load of a stage was and how much of it was answered well.
func (s Stage) Headline() string { return fmt.Sprintf("%s, %s: %s", s.When(), s.What(), s.Came()) }
