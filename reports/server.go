package reports

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/crdconform/crdconform/loadgen/apiserver"
	"github.com/crdconform/crdconform/requirement"
)

// overBudget are the verbs for which an API server called the webhook more often than it is known to.
func (l *Load) overBudget() []apiserver.Call {
	var over []apiserver.Call
	if l == nil || l.Server == nil {
		return nil
	}
	for _, c := range l.Server.Budget {
		if c.Error == "" && c.Bound != nil && !c.Met {
			over = append(over, c)
		}
	}
	return over
}

// unmeasured says what could not be measured through an API server, or failed there; nothing when all is well.
func (l *Load) unmeasured() string {
	if l == nil || l.Server == nil || l.Server.Partial {
		return ""
	}
	for _, c := range l.Server.Budget {
		if c.Error != "" {
			return fmt.Sprintf("%s at %s: %s", c.Verb, c.Version, c.Error)
		}
	}
	for _, one := range l.Server.Load {
		if one.Converted && one.Failed > 0 && len(one.Failures) > 0 {
			return fmt.Sprintf("%d of %d requests of %s at %s failed: %s", one.Failed, one.Requests, one.Verb, one.Version, one.Failures[0].First)
		}
	}
	return ""
}

// budgetOf says how a verb did, such as "create at v1: 3 calls a request, at most 3".
func budgetOf(c apiserver.Call) string {
	text := fmt.Sprintf("%s at %s: %.4g calls", c.Verb, c.Version, c.Calls)
	if c.Per != "" {
		text += " for each " + c.Per
	}
	if c.Bound != nil {
		text += fmt.Sprintf(", %.4g at most", *c.Bound)
	}
	return text
}

// budgetCases are the cases that verbs keep their budget of calls.
func (l *Load) budgetCases(names unique) []testcase {
	if l.Server == nil {
		return nil
	}
	var cases []testcase
	for _, call := range l.Server.Budget {
		c := testcase{Name: names.of(fmt.Sprintf("calls for %s at %s", call.Verb, call.Version)), Classname: "load", Time: seconds(0)}
		switch {
		case call.Error != "":
			c.Error = &problem{Message: brief(call.Error), Type: requirement.Errored.String(), Text: call.Error}
		case call.Bound == nil:
			c.Skipped = &problem{Message: "no bound is known"}
		case !call.Met:
			c.Failure = &problem{Message: brief(budgetOf(call)), Type: requirement.Failed.String(), Text: "the bound is that of Kubernetes " + call.BoundFrom}
		}
		cases = append(cases, c)
	}
	return cases
}

// serverText sums up for a terminal what clients of an API server meet.
func serverText(s *apiserver.Result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(s.Load) > 0 {
		fmt.Fprintln(w, "times in ms\tclients\trequests/s\tp50\tp99\tfailed\tcalls/request\twebhook's share")
	}
	for _, one := range s.Load {
		fmt.Fprintf(w, "%s at %s\t%d\t%.4g\t%.3g\t%.3g\t%d\t%.3g\t%s\n", one.Verb, one.Version, one.Concurrency, one.RequestsPerSecond,
			one.Times.P50, one.Times.P99, one.Failed, one.CallsPerRequest, percent(one.Share.OfClient))
	}
	_ = w.Flush() // a builder takes all that is written
	for _, one := range s.Watch {
		fmt.Fprintf(&b, "watch at %s: %d events of %d writes, p99 %.3g ms\n", one.Version, one.Events, one.Writes, one.Times.P99)
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
			fmt.Fprintf(&b, "%d objects: the first LIST takes %.3g s%s\n", p.Objects, p.Seconds, over)
		}
		if c := r.Confirmation; c != nil {
			fmt.Fprintf(&b, "predicted %.3g s for %d objects, measured %.3g s\n", c.Predicted, c.Objects, c.Measured)
		}
	}
	return b.String()
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// coldText says how the first LIST went after the cache was lost.
func coldText(c apiserver.ColdList) string {
	switch {
	case c.Skipped != "":
		return fmt.Sprintf("LIST at %s after %s: not measured: %s", c.Version, c.After, c.Skipped)
	case !c.Complete:
		return fmt.Sprintf("LIST at %s after %s: not complete after %.3g s, refused %d times", c.Version, c.After, c.Seconds, c.Refused)
	}
	return fmt.Sprintf("LIST at %s after %s: %.3g s, %d calls, %d at once, refused %d times; warm %.3g s",
		c.Version, c.After, c.Seconds, c.Webhook.Calls, c.Webhook.MostInFlight, c.Refused, c.WarmSeconds)
}
