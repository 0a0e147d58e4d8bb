package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// mostFindings is how many findings of an upgrade a summary has in full.
const mostFindings = 10

// upgrades shows what came of the upgrades that were rehearsed: a table of steps and definitions, the findings, and the way back.
func (s streams) upgrades(report *reports.Report) {
	shown := map[requirement.ID]bool{}
	for _, leg := range report.Upgrade {
		fmt.Fprintln(s.out)
		s.line("", "", fmt.Sprintf("From %s to %s", leg.From, leg.To))
		for _, line := range reporter.LegTable(leg, s.columns()) {
			s.line("", "", line)
		}
		for _, text := range leg.Return {
			s.line("", "", text)
		}
		for _, f := range leg.Findings[:min(len(leg.Findings), mostFindings)] {
			s.legFinding(report, f)
			at := slices.IndexFunc(report.Results, func(r reports.Result) bool { return r.ID == f.Requirement && reporter.Problem(report, r) })
			if at >= 0 && !shown[f.Requirement] {
				s.sequel(f.Requirement, f.Verdict, report.Results[at].Rerun)
			}
			shown[f.Requirement] = true
		}
		if more := len(leg.Findings) - mostFindings; more > 0 {
			s.line("", "", fmt.Sprintf("and %d more findings, in report.html", more))
		}
	}
	for _, result := range report.With(requirement.Errored) {
		s.line(red, "ERRORED", fmt.Sprintf(" %s: %s", result.ID, reporter.Brief(result)))
	}
	fmt.Fprintln(s.out)
}

// legFinding shows a finding, in several lines.
func (s streams) legFinding(report *reports.Report, f reports.LegFinding) {
	color := yellow
	if f.Verdict == requirement.Failed || report.Strict {
		color = red
	}
	fmt.Fprintf(s.out, "\n%s %s (%s)\n", s.paint(color, strings.ToUpper(f.Verdict.String())), f.Requirement, f.Step)
	for line := range strings.Lines(reporter.LegFindingText(f)) {
		fmt.Fprintf(s.out, "    %s\n", visible.Text(strings.TrimRight(line, "\n")))
	}
}
