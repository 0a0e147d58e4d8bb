package reporter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// loadSuite has a case for the responses of each stage, one for each objective, and one for a search.
func loadSuite(r *reports.Report) testsuite {
	l := r.Load
	suite := testsuite{Name: "load", Properties: loadProperties(l), SystemOut: strings.Join(LoadLines(l, Columns), "\n")}
	total, titles, names := 0.0, unique{}, unique{}
	for _, s := range l.Stages {
		title := titles.of(stageTitle(l, s))
		suite.Properties = append(suite.Properties, stageProperties(s, "load."+title+".")...)
		suite.Cases = append(suite.Cases, responsesCase(l, names.of(title+": responses"), s))
		total += s.Seconds
	}
	for _, o := range l.Objectives {
		suite.Cases = append(suite.Cases, objectiveCase(l, names.of(joined(objectiveSubject(l, o), ", ", o.Source)), o))
	}
	if l.Search != nil {
		suite.Cases = append(suite.Cases, searchCase(l, names.of("search")))
	}
	suite.Cases = append(append(suite.Cases, comparedCases(l, names)...), serverCases(l, names)...)
	suite.Time = seconds(total)
	return suite
}

// responsesCase is the case that every response of a stage is one that API servers accept.
func responsesCase(l *loadgen.Load, name string, s loadgen.Stage) testcase {
	c := testcase{Name: name, Classname: "load", Time: seconds(s.Seconds)}
	switch {
	case against(l, s) > 0:
		c.Failure = &problem{Message: joined(fmt.Sprintf("%d of %s failed", s.Failed, many(s.Requests, "request")), "; ", brief(s.Behind)), Type: requirement.Failed.String(), Text: stageFindings(s)}
	case s.VoidReason != "":
		c.Error = &problem{Message: brief(s.VoidReason), Type: requirement.Errored.String(), Text: stageFindings(s)}
	case s.Partial && s.Behind != "":
		c.Error = &problem{Message: brief(s.Behind), Type: requirement.Errored.String(), Text: stageFindings(s)}
	}
	return c
}

// objectiveCase is the case that an objective is met. It is skipped if the stage says nothing about the webhook.
func objectiveCase(l *loadgen.Load, name string, o loadgen.Objective) testcase {
	c := testcase{Name: name, Classname: "load", Time: seconds(0)}
	var reasons, stages []string
	for _, s := range l.Stages {
		if isAbout(o, s) {
			stages = append(stages, stageHeadline(s))
			if s.VoidReason != "" {
				reasons = append(reasons, s.VoidReason)
			}
		}
	}
	switch text := strings.Join(stages, "\n"); objectiveOutcome(l, o) {
	case "void":
		c.Error = &problem{Message: brief(reasons[0]), Type: requirement.Errored.String(), Text: text}
	case "missed":
		c.Failure = &problem{Message: brief(joined(measuredText(l, o), ", ", objectiveMargin(o))), Type: requirement.Failed.String(), Text: text}
	}
	return c
}

// searchCase is the case that there is a rate that meets the goal, and that it is confirmed.
func searchCase(l *loadgen.Load, name string) testcase {
	c := testcase{Name: name, Classname: "load", Time: seconds(0)}
	lines := []string{searchFound(l)}
	for _, p := range l.Search.Probes {
		lines = append(lines, fmt.Sprintf("%s/s %s: %s", given(p.Rate), probeOutcome(p), p.Measured))
	}
	p := &problem{Message: brief(lines[0]), Type: requirement.Failed.String(), Text: strings.Join(lines, "\n")}
	switch {
	case unreached(l):
		c.Failure = p
	case unconfirmed(l):
		p.Type = requirement.Errored.String()
		c.Error = p
	}
	return c
}

// stageFindings is a stage with its first findings, in lines.
func stageFindings(s loadgen.Stage) string {
	lines := []string{stageHeadline(s)}
	for _, f := range s.Findings {
		lines = append(lines, findingText(f))
		for _, file := range f.Files {
			lines = append(lines, "  "+file.Path)
		}
	}
	return strings.Join(lines, "\n")
}

func loadProperties(l *loadgen.Load) []property {
	properties := []property{
		{"load.profile", l.Profile},
		{"load.requests", strconv.FormatUint(Requests(l), 10)},
		{"load.failed", strconv.FormatUint(FailedRequests(l), 10)},
	}
	if l.Cost != nil {
		properties = append(properties, property{"load.cost.request", milliseconds(l.Cost.Request)}, property{"load.cost.object", precise(l.Cost.Object) + " ms"})
		if len(l.Cost.Bytes) > 0 {
			properties = append(properties, property{"load.cost.kilobyte", precise(l.Cost.Kilobyte) + " ms"})
		}
	}
	if l.Search != nil {
		properties = append(properties, property{"load.search.goal", l.Search.Goal})
	}
	if l.Search != nil && !unconfirmed(l) {
		properties = append(properties, property{"load.search.met", precise(l.Search.Met)})
	}
	return properties
}

func stageProperties(s loadgen.Stage, prefix string) []property {
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
