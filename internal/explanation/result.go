package explanation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Result returns a result about a subject, without a verdict yet. It has the requirement without what the catalogue says for others: the
// severity, which the verdict follows from, and the command that checks it.
func Result(id requirement.ID, subject string) reports.Result {
	entry, _ := requirement.Lookup(id) // IDs are from the catalogue
	entry.Severity, entry.Because, entry.Parts, entry.Command = requirement.Unknown, "", nil, ""
	return reports.Result{Requirement: entry, Subject: subject}
}

// Object returns the namespace and the name of the object that a finding is about; "" if it is about none.
func Object(f reports.LegFinding) string { return strings.TrimPrefix(f.Namespace+"/"+f.Name, "/") }

// Finding describes a finding in lines: the object, what happened to it, to how many others, and the commands that show it.
func Finding(f reports.LegFinding) string {
	const most = 5
	var b strings.Builder
	if f.Name != "" {
		fmt.Fprintf(&b, "%s: ", Object(f))
	}
	b.WriteString(f.Message)
	if more := f.Count - 1; more > 0 {
		b.WriteString("\n" + visible.More(more) + ": " + strings.Join(f.Others[:min(len(f.Others), most)], ", "))
		if more > most {
			b.WriteString(", ...")
		}
	}
	for _, command := range f.Commands {
		fmt.Fprintf(&b, "\n    %s", strings.ReplaceAll(command, "\n", "\n    "))
	}
	return b.String()
}

// ExplainedBy begins the reason for which a step of a rehearsal is NotApplicable whose findings are those of a requirement, which follows.
const ExplainedBy = "what was found is explained by "

// Worse compares verdicts by which of two on the same holds: it is positive if a is the worse. NotApplicable and Unknown give way to all
// others, and Errored gives way only to Failed, because it may hide what is as bad.
func Worse(a, b requirement.Verdict) int {
	weight := func(v requirement.Verdict) int {
		return slices.Index([]requirement.Verdict{
			requirement.Unknown, requirement.NotApplicable, requirement.Passed, requirement.Tolerated, requirement.KnownFailing, requirement.Errored, requirement.Failed,
		}, v)
	}
	return weight(a) - weight(b)
}
