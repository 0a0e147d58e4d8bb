package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// GitHub writes the findings as commands of GitHub workflows, which show them at their lines.
func (r *Report) GitHub(w io.Writer) error {
	commands := map[Level]string{Error: "error", Warning: "warning", Note: "notice"}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n",
			commands[f.Level], property(f.File), f.Line, f.Column, property(string(f.Rule)), escaped(f.Message)); err != nil {
			return err
		}
	}
	return nil
}

// gitlabFinding is a finding in a Code Quality report.
type gitlabFinding struct {
	Description string         `json:"description"`
	CheckName   string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string      `json:"path"`
	Lines gitlabLines `json:"lines"`
}

type gitlabLines struct {
	Begin int `json:"begin"`
}

// GitLab writes the findings as a Code Quality report, by which merge requests of GitLab show them at their lines.
func (r *Report) GitLab(w io.Writer) error {
	severities := map[Level]string{Error: "critical", Warning: "minor", Note: "info"}
	all := []gitlabFinding{}
	sums := fingerprints(r.Findings)
	for i, f := range r.Findings {
		all = append(all, gitlabFinding{
			Description: f.Message, CheckName: string(f.Rule), Fingerprint: sums[i], Severity: severities[f.Level],
			Location: gitlabLocation{Path: relative(f.File), Lines: gitlabLines{Begin: f.Line}},
		})
	}
	return encode(w, all)
}

// encode writes a value as JSON for people, too.
func encode(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// escaped is a text as the message of a command, which is one line.
func escaped(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// property is a text as a property of a command.
func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escaped(text))
}

// JSON writes the findings as one JSON object, with the number of definitions and of findings at each level.
func (r *Report) JSON(w io.Writer) error {
	findings := r.Findings
	if findings == nil {
		findings = []Diagnostic{}
	}
	return encode(w, struct {
		Definitions int          `json:"definitions"`
		Errors      int          `json:"errors"`
		Warnings    int          `json:"warnings"`
		Notes       int          `json:"notes"`
		Findings    []Diagnostic `json:"findings"`
	}{r.Definitions, r.Count(Error), r.Count(Warning), r.Count(Note), findings})
}
