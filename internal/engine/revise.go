package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Revise changes the verdict of a requirement that is known to fail. If it passes, it fails the run, because it must be removed from
// the list. With several definitions it must pass for all of them, which is only known at the end.
func (p *Plan) Revise(r *suites.Result) {
	if (len(p.kinds) > 1 || p.want.Lenient) && r.Verdict == requirement.Passed {
		return
	}
	list := cmp.Or(p.want.KnownFailingFile, "the list of known failures")
	for i, k := range p.want.KnownFailing {
		if origin := p.want.Origin(fmt.Sprintf("knownFailing[%d]", i)); k.ID == string(r.Requirement) && origin != "default" {
			list = origin
		}
	}
	Revise(r, p.known, list)
}

// Revise changes the verdict of a result if it is known to fail. known has the reasons, and list names their source.
func Revise(r *suites.Result, known map[requirement.ID]string, list string) {
	reason, listed := known[r.Requirement]
	switch {
	case !listed:
	case r.Verdict == requirement.Failed || r.Verdict == requirement.Tolerated:
		r.Verdict, r.Reason = requirement.KnownFailing, strings.TrimSpace(reason+"\n"+r.Reason)
	case r.Verdict == requirement.Passed:
		r.Verdict, r.Reason = requirement.Failed, fmt.Sprintf("it passes, but %s says that it fails; remove it from the list", list)
	}
}

// reviseAll fails requirements that are known to fail but pass for each of several definitions.
func (p *Plan) reviseAll(report *reports.Report) {
	for id := range p.known {
		passed := slices.DeleteFunc(slices.Clone(report.Results), func(r reports.Result) bool { return r.ID != id || r.Verdict == requirement.NotApplicable })
		if len(p.kinds) < 2 || len(passed) == 0 || slices.ContainsFunc(passed, func(r reports.Result) bool { return r.Verdict != requirement.Passed }) {
			continue
		}
		i := slices.IndexFunc(report.Results, func(r reports.Result) bool { return r.ID == id && r.Verdict == requirement.Passed })
		report.Results[i].Verdict = requirement.Failed
		report.Results[i].Reason = "it passes for every definition, but is listed as known to fail; remove it from the list"
	}
}
