package engine

import (
	"path"

	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Translation says how results of specs are written into a report.
type Translation struct {
	Subject string                         // the definition that they are about; may be empty
	Dir     string                         // of the evidence, in the report folder
	Revise  func(*suites.Result)           // changes verdicts by what is known to fail
	Rerun   func(id requirement.ID) string // the command that checks one requirement again
}

// Results translates the results of specs for a report.
func Results(results []suites.Result, t Translation) []reports.Result {
	translated := make([]reports.Result, 0, len(results))
	for _, r := range results {
		t.Revise(&r)
		entry, _ := requirement.Lookup(r.Requirement)                             // specs of unknown requirements cannot be declared
		entry.Severity, entry.Because, entry.Parts = requirement.Unknown, "", nil // the catalogue's, which the verdict follows from
		result := reports.Result{
			Requirement: entry,
			Subject:     t.Subject,
			Spec:        r.Text,
			Location:    r.Location,
			Verdict:     r.Verdict,
			Reason:      r.Reason,
			Findings:    r.Findings,
			Seconds:     r.Duration.Seconds(),
			Rerun:       t.Rerun(r.Requirement),
			Output:      r.Output,
			Immaterial:  r.Immaterial,
		}
		dir := path.Join(t.Dir, string(r.Requirement))
		for _, attachment := range r.Attachments {
			result.Files = append(result.Files, reports.File{Path: path.Join(dir, attachment.Name), Data: attachment.Data})
			if attachment.Name == "request.json" {
				result.Curl = "sh " + shell.Quote(path.Join(dir, "reproduce.sh"))
			}
		}
		translated = append(translated, result)
	}
	return translated
}

// translation returns how the results for a definition are written into the report.
func (p *Plan) translation(definition string) Translation {
	shown := definition
	if len(p.kinds) < 2 {
		shown = ""
	}
	return Translation{
		Subject: definition,
		Dir:     path.Join("exchanges", definition),
		Revise:  p.Revise,
		Rerun: func(id requirement.ID) string {
			if p.want.RerunCommand == nil {
				return ""
			}
			return p.want.RerunCommand(shown, id)
		},
	}
}
