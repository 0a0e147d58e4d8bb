package reporter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// passing is the report of a run in which hundreds of requirements pass, and some are not applicable for some reasons.
func passing(reasons int) *reports.Report {
	r := &reports.Report{Cluster: &reports.Cluster{Name: "embedded", Version: "v1.37.2"}, Seed: 7, Tool: "v1", Command: "crdconform run"}
	for i, entry := range requirement.All() {
		result := reports.Result{Requirement: entry, Verdict: requirement.Passed, Spec: "does it", Seconds: 0.1, Rerun: "crdconform run --filter " + string(entry.ID) + " --seed 7"}
		if i%14 == 0 {
			result.Verdict, result.Reason, result.Immaterial = requirement.NotApplicable, fmt.Sprintf("there is no thing %d", i/14%reasons), true
		}
		r.Results = append(r.Results, result)
	}
	Conclude(r)
	return r
}

// TestPassIsShort holds the summary of a run that passes to few lines, with a line for each reason why something was not judged.
func TestPassIsShort(t *testing.T) {
	t.Parallel()
	for reasons, last := range map[int]string{1: "there is no thing 0", 3: "there is no thing 2", 40: "more, all of them in report.html"} {
		text := string(written(t, passing(reasons), Markdown))
		if n := strings.Count(text, "\n"); n > 15 {
			t.Errorf("with %d reasons there are %d lines:\n%s", reasons, n, text)
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if got := lines[len(lines)-1]; !strings.HasSuffix(got, last) || strings.Count(text, "NotApplicable: ") > reasons {
			t.Errorf("with %d reasons the last line is %q, want %q at its end", reasons, got, last)
		}
	}
	r := passing(3)
	r.Results[1].Verdict = requirement.Failed
	Conclude(r)
	if text := string(written(t, r, Markdown)); !strings.Contains(text, "\n## Failed\n") || !strings.Contains(text, "\n## NotApplicable\n") {
		t.Error("a run that fails is as short")
	}
}
