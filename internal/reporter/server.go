package reporter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// overBudget says for which verbs an API server called the webhook more often than its minor is known to. That is a fact about
// the API server, which no webhook can help, so it counts against nobody.
func overBudget(l *loadgen.Load) []string {
	if l.Server == nil {
		return nil
	}
	var over []string
	for _, c := range l.Server.Budget {
		if c.Error == "" && c.Bound != nil && !c.Met {
			over = append(over, fmt.Sprintf("the API server calls more often than Kubernetes %s is known to: %s", c.BoundFrom, budgetOf(c)))
		}
	}
	return over
}

// unmeasured says what could not be measured through an API server, or failed there, and of how much more that is true; nothing
// when all is well.
func unmeasured(l *loadgen.Load) string {
	if l == nil || l.Server == nil || l.Server.Partial {
		return ""
	}
	all := gaps(*l.Server)
	switch n := len(all) - 1; {
	case n < 0:
		return ""
	case n > 0:
		return fmt.Sprintf("%s (%s)", all[0], visible.More(n))
	}
	return all[0]
}

// gaps are what a report on an API server lacks, and what failed there.
func gaps(s loadgen.Server) []string {
	var all []string
	add := func(format string, arguments ...any) { all = append(all, fmt.Sprintf(format, arguments...)) }
	if s.Ended != "" {
		add("%s", s.Ended)
	}
	for _, c := range s.Budget {
		if c.Error != "" {
			add("%s at %s: %s", c.Verb, c.Version, c.Error)
		}
	}
	for _, one := range s.Load {
		switch {
		case one.Failed > 0:
			add("%d of %d requests of %s at %s failed%s", one.Failed, one.Requests, one.Verb, one.Version, firstOf(one.Failures))
		case one.Requests == 0:
			add("none of the requests of %s at %s was answered: %d took longer than the load", one.Verb, one.Version, one.Unanswered)
		}
	}
	for _, one := range s.Watch {
		switch {
		case one.WritesFailed > 0:
			add("%d of %d writes for the watch at %s failed%s", one.WritesFailed, one.Writes+one.WritesFailed, one.Version, firstOf(one.Failures))
		case one.Lost > 0:
			add("%d of %d events of the watch at %s did not arrive%s", one.Lost, one.Writes, one.Version, firstOf(one.Failures))
		}
	}
	for _, c := range s.Cold {
		if c.Skipped == "" && !c.Complete {
			add("the LIST at %s after %s was not complete within %.3g s%s", c.Version, c.After, c.Seconds, firstOf(c.Failures))
		}
	}
	return all
}

// fills is how many objects API servers were seen to have converted at a time for the first LIST after a restart, and listLimit how
// many seconds they have for it, by default.
const (
	fills     = 10
	listLimit = 60
)

// firstList says what a relist shows about the first LIST after a restart; "" if its requests differed from those of API servers.
func firstList(l *loadgen.Load) string {
	var all []string
	for _, g := range groupsOf(l) {
		s := g.Typical()
		if !slices.Contains(strings.Split(l.Profile, and), "relist") || s.Clients != fills || s.Batch != 1 || s.Most == 0 || s.Requests == 0 || s.VoidReason != "" {
			continue
		}
		took, pace := s.Seconds, ""
		if s.Requests < s.Most {
			took, pace = took*float64(s.Most)/float64(s.Requests), " at this pace"
		}
		limit := fmt.Sprintf("API servers have %d s for that, including their own work", listLimit)
		if took > listLimit {
			limit = fmt.Sprintf("that is more than the %d s that API servers have for it", listLimit)
		}
		text := fmt.Sprintf("%s take %s s%s, %d at once as for the first LIST after a restart; %s", many(s.Most, "object"), figure(took), pace, fills, limit)
		if len(groupsOf(l)) > 1 {
			text = g.Name + ": " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, ". ")
}

// firstOf is the first failure of several, to go behind what failed; nothing when none is known.
func firstOf(failures []loadgen.Failure) string {
	if len(failures) == 0 {
		return ""
	}
	return ": " + failures[0].First
}

// budgetOf says how a verb did, such as "create at v1: 3 calls a request, at most 3".
func budgetOf(c loadgen.VerbCalls) string {
	text := fmt.Sprintf("%s at %s: %.4g calls", c.Verb, c.Version, c.Calls)
	if c.Per != "" {
		text += " for each " + c.Per
	}
	if c.Bound != nil {
		text += fmt.Sprintf(", %.4g at most", *c.Bound)
	}
	return text
}

// serverCases are the cases that all could be measured through an API server, and one for each verb: that it makes no more calls
// than is known. One that does is skipped, since it counts against nobody.
func serverCases(l *loadgen.Load, names unique) []testcase {
	if l.Server == nil {
		return nil
	}
	measured := testcase{Name: names.of("through an API server"), Classname: "load", Time: seconds(0)}
	if gap := unmeasured(l); gap != "" {
		measured.Error = &problem{Message: brief(gap), Type: requirement.Errored.String(), Text: strings.Join(gaps(*l.Server), "\n")}
	}
	cases := []testcase{measured}
	for _, call := range l.Server.Budget {
		c := testcase{Name: names.of(fmt.Sprintf("calls for %s at %s", call.Verb, call.Version)), Classname: "load", Time: seconds(0)}
		switch {
		case call.Error != "":
			c.Error = &problem{Message: brief(call.Error), Type: requirement.Errored.String(), Text: call.Error}
		case call.Bound == nil:
			c.Skipped = &problem{Message: brief("no bound is known for Kubernetes " + l.Server.Version + ": " + budgetOf(call))}
		case !call.Met:
			c.Skipped = &problem{Message: brief("more than Kubernetes " + call.BoundFrom + " is known to make, which is not the webhook's: " + budgetOf(call))}
		}
		cases = append(cases, c)
	}
	return cases
}

// serverText sums up for a terminal what clients of an API server meet.
func serverText(s *loadgen.Server) string {
	var b strings.Builder
	if len(s.Load) > 0 {
		t := visible.Table{Head: []string{"times in ms", "clients", "requests/s", "p50", "p99", "failed", "calls/request", "webhook's share"}}
		for _, one := range s.Load {
			t.Add(one.Verb+" at "+one.Version, one.Concurrency, fmt.Sprintf("%.4g", one.RequestsPerSecond), digits3(one.Times.P50), digits3(one.Times.P99),
				one.Failed, digits3(one.CallsPerRequest), percent(one.Share.OfClient))
		}
		b.WriteString(t.Text())
	}
	b.WriteString(metricsText(s))
	b.WriteString(callsText(s))
	for _, one := range s.Watch {
		fmt.Fprintf(&b, "watch at %s: %s of %s, p99 %.3g ms\n", one.Version, visible.Count(one.Events, "event", ""), visible.Count(one.Writes, "write", ""), one.Times.P99)
	}
	for _, cold := range s.Cold {
		fmt.Fprintln(&b, coldText(cold))
	}
	if r := s.Relist; r != nil {
		for _, p := range r.Predictions {
			over := ""
			if p.OverLimit {
				over = ", more than the 60 s that API servers have"
			}
			fmt.Fprintf(&b, "%s: the first LIST takes %.3g s%s\n", visible.Count(p.Objects, "object", ""), p.Seconds, over)
		}
		if c := r.Confirmation; c != nil {
			fmt.Fprintln(&b, confirmationText(*c))
		}
	}
	if s.Ended != "" {
		fmt.Fprintln(&b, "ended before everything was measured: "+firstLine(s.Ended))
	}
	for _, note := range serverNotes(s) {
		fmt.Fprintln(&b, "note: "+brief(note))
	}
	return b.String()
}

// metricsText is a table of what the API server's own metrics say of each load, beside what clients met; nothing when no metrics could
// be read.
func metricsText(s *loadgen.Server) string {
	if !slices.ContainsFunc(s.Load, func(one loadgen.ServerLoad) bool { return one.Share.Requests > 0 }) {
		return ""
	}
	t := visible.Table{Head: []string{"by the API server's metrics", "clients", "ms/request", "converting", "ms/object", "ms/call"}}
	for _, one := range s.Load {
		t.Add(one.Verb+" at "+one.Version, one.Concurrency, serverTime(one.Share), serverShare(one.Share),
			average(one.Share.ConversionSeconds, one.Share.Conversions), average(one.Share.CallSeconds, one.Share.Conversions))
	}
	return t.Text()
}

// digits3 writes a number with three digits.
func digits3(v float64) string { return fmt.Sprintf("%.3g", v) }

// serverTime is how long a request took the API server, in milliseconds, by its own metrics.
func serverTime(s loadgen.Share) string { return average(s.RequestSeconds, s.Requests) }

// average is a mean in milliseconds; a dash when there is nothing to take it of.
func average(seconds float64, of uint64) string {
	if of == 0 || seconds == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g", 1000*seconds/float64(of))
}

// serverShare is how much of that it had objects converted, by its own metrics; a dash when they do not show it, or count conversions
// that belong to no request.
func serverShare(s loadgen.Share) string {
	if s.Requests == 0 || s.Beside > 0 || s.Conversions > 0 && s.OfServer == 0 {
		return "-"
	}
	return percent(s.OfServer)
}

// serverNotes are the notes, and which metrics the API server does not have.
func serverNotes(s *loadgen.Server) []string {
	notes := slices.Clone(s.Notes)
	for _, one := range s.Load {
		for _, missing := range one.Share.Missing {
			if note := "missing in the API server's metrics: " + missing; !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// ServerTime is how long a request took the API server.
func (v *loadView) ServerTime(s loadgen.Share) string { return serverTime(s) }

// ServerShare is how much of that it had objects converted.
func (v *loadView) ServerShare(s loadgen.Share) string { return serverShare(s) }

// ServerNotes are the notes about the API server.
func (v *loadView) ServerNotes() []string { return serverNotes(v.Server) }

// callsText is a table of the calls for each verb, at both versions, each beside the most that are known; nothing when none were
// counted.
func callsText(s *loadgen.Server) string {
	if len(s.Budget) == 0 {
		return ""
	}
	counts := map[string]map[string]string{}
	var verbs []loadgen.VerbCalls
	for _, c := range s.Budget {
		if counts[c.Verb] == nil {
			counts[c.Verb] = map[string]string{}
			verbs = append(verbs, c)
		}
		counts[c.Verb][c.Version] = callText(c)
	}
	t := visible.Table{Head: []string{"calls (at most)", "at " + s.StorageVersion, "at " + s.OtherVersion, "for each"}}
	for _, c := range verbs {
		t.Add(c.Verb, counts[c.Verb][s.StorageVersion], counts[c.Verb][s.OtherVersion], c.Per)
	}
	return t.Text()
}

// callText is a number of calls with its bound, such as "3 (3)".
func callText(c loadgen.VerbCalls) string {
	switch {
	case c.Error != "":
		return "not measured"
	case c.Bound == nil:
		return fmt.Sprintf("%.4g", c.Calls)
	}
	return fmt.Sprintf("%.4g (%.4g)", c.Calls, *c.Bound)
}

// confirmationText says what was predicted, what was measured, and how far apart that is.
func confirmationText(c loadgen.Confirmation) string {
	return fmt.Sprintf("predicted %.3g s for %s, measured %.3g s: %s", c.Predicted, visible.Count(c.Objects, "object", ""), c.Measured, c.Apart)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// coldText says how the first LIST went after the cache was lost.
func coldText(c loadgen.ColdList) string {
	switch {
	case c.Skipped != "":
		return fmt.Sprintf("LIST at %s after %s: not measured: %s", c.Version, c.After, c.Skipped)
	case !c.Complete:
		return fmt.Sprintf("LIST at %s after %s: not complete after %.3g s, refused %d times", c.Version, c.After, c.Seconds, c.Refused)
	}
	return fmt.Sprintf("LIST at %s after %s: %.3g s, %d calls, %d at once, refused %d times; warm %.3g s",
		c.Version, c.After, c.Seconds, c.Webhook.Calls, c.Webhook.MostInFlight, c.Refused, c.WarmSeconds)
}
