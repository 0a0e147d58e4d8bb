package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestAgreementReportsAgree compares the results of whole runs on different clusters. A kind cluster takes minutes, so it reads the
// reports of earlier runs.
func TestAgreementReportsAgree(t *testing.T) {
	t.Parallel()
	const variable = "CRDCONFORM_TEST_REPORTS"
	folders := filepath.SplitList(os.Getenv(variable)) //nolint:forbidigo // tests get what they compare from the environment
	if len(folders) == 0 {
		t.Skip(variable + " names no folders of reports to compare")
	}
	if len(folders) < 2 {
		t.Fatalf("%s names one folder, and there is nothing to compare it with: %s", variable, folders[0])
	}
	var all []judged
	for _, folder := range folders {
		all = append(all, reported(t, folder))
	}
	wantAgreement(t, all)
}

// reported reads what the specs of the compared chapters came to, which are those of every run. Each of them must have a result.
func reported(t *testing.T, folder string) judged {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report reports.Report
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if report.Cluster == nil {
		t.Fatalf("%s: the run has come to no cluster: %s", folder, report.Outcome)
	}
	minor, err := requirement.ParseMinor(report.Cluster.Version)
	if err != nil {
		t.Fatal(err)
	}
	j := judged{cluster: report.Cluster.Name, minor: minor}
	for _, spec := range suites.Preview(chapters.Servers()) {
		found := false
		for _, r := range report.Results {
			if r.ID == spec.Requirement {
				j.results, found = append(j.results, suites.Result{Requirement: r.ID, Verdict: r.Verdict, Reason: r.Reason}), true
			}
		}
		if !found {
			t.Errorf("%s: %s has no result", folder, spec.Requirement)
		}
	}
	if len(j.results) == 0 {
		t.Fatalf("%s has no results to compare", folder)
	}
	t.Logf("%s, %s: %d results", folder, report.Cluster, len(j.results))
	return j
}
