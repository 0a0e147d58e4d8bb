package doctor

import (
	"io"
	"strings"

	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// SARIF writes what was found as SARIF 2.1.0. A cluster has no files, so each definition stands for one of its name.
func SARIF(w io.Writer, toolVersion string, results []reports.Result) error {
	var rules []lint.Rule
	for _, r := range requirement.All() {
		if r.ID.Area() == area {
			rules = append(rules, lint.Rule{
				ID: lint.RuleID(r.ID), Level: level(requirement.SeverityOf(r.ID, "")), Summary: r.Statement, Why: r.Why,
				Help: "\"crdconform explain " + string(r.ID) + "\" says more.",
			})
		}
	}
	var found []lint.Diagnostic
	for _, group := range grouped(results) {
		for _, name := range group.definitions {
			text := strings.ReplaceAll(group.found, "\n", "; ")
			if group.mend != "" {
				text += ". To fix it: " + group.mend
			}
			found = append(found, lint.Diagnostic{
				Rule: lint.RuleID(group.ID), Level: level(group.Verdict), File: name + ".yaml", Line: 1, Column: 1,
				Definition: name, Path: group.Location, Message: text,
			})
		}
	}
	return lint.WriteSARIF(w, toolVersion, rules, found)
}

// area is that of the requirements on clusters.
const area = "doctor"

func level(v requirement.Verdict) lint.Level {
	switch v {
	case requirement.Failed:
		return lint.Error
	case requirement.Tolerated:
		return lint.Warning
	default:
		return lint.Note
	}
}
