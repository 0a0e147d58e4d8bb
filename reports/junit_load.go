package reports

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// loadSuite has a case for the responses of each stage, one for each objective, and one for a search.
func (r *Report) loadSuite() testsuite {
	l := r.Load
	suite := testsuite{Name: "load", Properties: l.properties(), SystemOut: strings.Join(l.Lines(Columns), "\n")}
	total, titles, names := 0.0, unique{}, unique{}
	for _, s := range l.Stages {
		title := titles.of(l.title(s))
		suite.Properties = append(suite.Properties, s.properties("load."+title+".")...)
		suite.Cases = append(suite.Cases, l.responses(names.of(title+": responses"), s))
		total += s.Seconds
	}
	for _, o := range l.Objectives {
		suite.Cases = append(suite.Cases, l.objective(names.of(joined(l.subject(o), ", ", o.Source)), o))
	}
	if l.Search != nil {
		suite.Cases = append(suite.Cases, l.searched(names.of("search")))
	}
	suite.Cases = append(append(suite.Cases, l.compared(names)...), l.serverCases(names)...)
	suite.Time = seconds(total)
	return suite
}

// responses is the case that every response of a stage is one that API servers accept.
func (l *Load) responses(name string, s Stage) testcase {
	c := testcase{Name: name, Classname: "load", Time: seconds(s.Seconds)}
	switch {
	case l.against(s) > 0:
		c.Failure = &problem{Message: joined(s.ofJudged()+" failed", "; ", brief(s.Behind)), Type: requirement.Failed.String(), Text: s.told()}
	case s.VoidReason != "":
		c.Error = &problem{Message: brief(s.VoidReason), Type: requirement.Errored.String(), Text: s.told()}
	case s.Partial && s.Behind != "":
		c.Error = &problem{Message: brief(s.Behind), Type: requirement.Errored.String(), Text: s.told()}
	}
	return c
}

// ofJudged says how many requests failed, of how many.
func (s Stage) ofJudged() string {
	if s.sampled() {
		return fmt.Sprintf("%d of %s that were judged", s.Failed, many(s.Judged, "request"))
	}
	return fmt.Sprintf("%d of %s", s.Failed, many(s.Requests, "request"))
}

// objective is the case that an objective is met. A stage that says nothing about the webhook leaves it open.
func (l *Load) objective(name string, o Objective) testcase {
	c := testcase{Name: name, Classname: "load", Time: seconds(0)}
	var reasons, stages []string
	for _, s := range l.Stages {
		if o.about(s) {
			stages = append(stages, s.Headline())
			if s.VoidReason != "" {
				reasons = append(reasons, s.VoidReason)
			}
		}
	}
	switch text := strings.Join(stages, "\n"); l.Met(o) {
	case "void":
		c.Error = &problem{Message: brief(reasons[0]), Type: requirement.Errored.String(), Text: text}
	case "missed":
		c.Failure = &problem{Message: brief(joined(l.measured(o), ", ", o.Margin())), Type: requirement.Failed.String(), Text: text}
	}
	return c
}

// searched is the case that there is a rate that meets the goal, and that it is confirmed.
func (l *Load) searched(name string) testcase {
	c := testcase{Name: name, Classname: "load", Time: seconds(0)}
	lines := []string{l.Found()}
	for _, p := range l.Search.Probes {
		lines = append(lines, fmt.Sprintf("%s/s %s: %s", given(p.Rate), p.Outcome(), p.Measured))
	}
	p := &problem{Message: brief(lines[0]), Type: requirement.Failed.String(), Text: strings.Join(lines, "\n")}
	switch {
	case l.unreached():
		c.Failure = p
	case l.unconfirmed():
		p.Type = requirement.Errored.String()
		c.Error = p
	}
	return c
}

// told is a stage with its first findings, in lines.
func (s Stage) told() string {
	lines := []string{s.Headline()}
	for _, f := range s.Findings {
		lines = append(lines, f.String())
		for _, file := range f.Files {
			lines = append(lines, "  "+file.Path)
		}
	}
	return strings.Join(lines, "\n")
}

func (l *Load) properties() []property {
	properties := []property{
		{"load.profile", l.Profile},
		{"load.requests", strconv.FormatUint(l.Requests(), 10)},
		{"load.failed", strconv.FormatUint(l.Failed(), 10)},
	}
	if l.Cost != nil {
		properties = append(properties, property{"load.cost.request", milliseconds(l.Cost.Request)}, property{"load.cost.object", precise(l.Cost.Object) + " ms"})
	}
	if l.Search != nil {
		properties = append(properties, property{"load.search.goal", l.Search.Goal})
	}
	if l.Search != nil && !l.unconfirmed() {
		properties = append(properties, property{"load.search.met", precise(l.Search.Met)})
	}
	if text := l.sampled(); text != "" {
		properties = append(properties, property{"load.judged", text})
	}
	return properties
}

func (s Stage) properties(prefix string) []property {
	rate := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	properties := []property{
		{prefix + "requests", strconv.FormatUint(s.Requests, 10)},
		{prefix + "failed", strconv.FormatUint(s.Failed, 10)},
		{prefix + "rate", precise(s.Rate)},
		{prefix + "requests/s", rate(s.RequestsPerSecond)},
		{prefix + "objects/s", rate(s.ObjectsPerSecond)},
		{prefix + "p50", milliseconds(s.Response.P50)},
		{prefix + "p90", milliseconds(s.Response.P90)},
		{prefix + "p95", milliseconds(s.Response.P95)},
		{prefix + "p99", milliseconds(s.Response.P99)},
		{prefix + "p99.9", milliseconds(s.Response.P999)},
		{prefix + "p99.99", milliseconds(s.Response.P9999)},
		{prefix + "max", milliseconds(s.Response.Max)},
	}
	if s.SentPerSecond > 0 {
		properties = append(properties, property{prefix + "sent/s", rate(s.SentPerSecond)})
	}
	return properties
}

// precise writes a number in full, for machines.
func precise(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// unique makes names that differ from all that it has made.
type unique map[string]bool

func (u unique) of(name string) string {
	made := name
	for n := 2; u[made]; n++ {
		made = fmt.Sprintf("%s (%d)", name, n)
	}
	u[made] = true
	return made
}
