package engine

import (
	"path"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// results returns the results of the specs for a definition as the report has them.
func (p *Plan) results(definition string, specs []suites.Result) []reports.Result {
	named := definition // in commands, if there are several
	if len(p.kinds) < 2 {
		named = ""
	}
	results := make([]reports.Result, 0, len(specs))
	for _, r := range specs {
		result := explanation.Result(r.Requirement, definition)
		result.Verdict, result.Reason = p.Revise(r.Requirement, r.Verdict, r.Reason)
		result.Spec, result.Location, result.Findings, result.Seconds = r.Text, r.Location, r.Findings, r.Duration.Seconds()
		result.Rerun, result.Output, result.Immaterial = p.rerun(named, r.Requirement), r.Output, r.Immaterial
		dir := path.Join("exchanges", definition, string(r.Requirement))
		for _, attachment := range r.Attachments {
			result.Files = append(result.Files, reports.File{Path: path.Join(dir, attachment.Name), Data: attachment.Data})
			if attachment.Name == "request.json" {
				result.Curl = "sh " + shell.Quote(path.Join(dir, "reproduce.sh"))
			}
		}
		results = append(results, result)
	}
	return results
}

// rerun returns the command that judges one requirement again; "" if nobody says which that is.
func (p *Plan) rerun(definition string, id requirement.ID) string {
	if p.want.RerunCommand == nil {
		return ""
	}
	return p.want.RerunCommand(definition, id)
}
