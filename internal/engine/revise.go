package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Revise returns the verdict on a requirement, and its reason, in view of what is known to fail. A requirement that is known to fail and
// passes fails the run, because it must be removed from the list. With several definitions it must pass for all of them, which is only
// known at the end. One that is known to be flaky may do either, and its reason says so.
func (p *Plan) Revise(id requirement.ID, verdict requirement.Verdict, reason string) (requirement.Verdict, string) {
	if why, flaky := p.flaky[id]; flaky {
		switch verdict {
		case requirement.Failed, requirement.Tolerated:
			return requirement.KnownFailing, strings.TrimSpace(reporter.KnownFlaky + "failed this time: " + why + "\n" + reason)
		case requirement.Passed:
			return verdict, reporter.KnownFlaky + "passed this time: " + why
		default:
			return verdict, reason
		}
	}
	why, listed := p.known[id]
	switch {
	case !listed:
	case verdict == requirement.Failed || verdict == requirement.Tolerated:
		return requirement.KnownFailing, strings.TrimSpace(why + "\n" + reason)
	case verdict == requirement.Passed && len(p.kinds) < 2 && !p.want.Lenient:
		list := cmp.Or(p.want.KnownFailingFile, "the list of known failures")
		for i, k := range p.want.KnownFailing {
			if origin := p.want.Origin(options.Item("knownFailing", i)); k.ID == string(id) && origin != "default" {
				list = origin
			}
		}
		return requirement.Failed, fmt.Sprintf("it passes, but %s says that it fails; remove it from the list", list)
	}
	return verdict, reason
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
