package reporter

import (
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

func TestLeftOpen(t *testing.T) {
	t.Parallel()
	result := func(id requirement.ID, subject string, verdict requirement.Verdict) reports.Result {
		return reports.Result{Requirement: requirement.Requirement{ID: id, Level: requirement.Must}, Subject: subject, Verdict: verdict}
	}
	budget := &reports.Webhook{Kinds: []reports.Kind{{Definition: "a", Cut: true}}}
	passed := result("storage.first", "", requirement.Passed)
	for name, test := range map[string]struct {
		report reports.Report
		want   string
	}{
		"several": {reports.Report{Results: []reports.Result{
			passed, result("webhook.first", "a", requirement.Passed), result("webhook.first", "b", requirement.Passed),
			result("webhook.second", "a", requirement.NotApplicable), result("webhook.second", "b", requirement.NotApplicable), result("webhook.third", "a", requirement.NotApplicable),
		}}, "Conforms, not fully judged (webhook.second and 1 more could not be judged everywhere): 3 requirements for 2 definitions passed, 3 not applicable"},
		"one, beside the server": {
			reports.Report{Results: []reports.Result{passed, result("webhook.first", "a", requirement.Passed), result("webhook.second", "a", requirement.NotApplicable)}},
			"Conforms, not fully judged (webhook.second could not be judged): 2 requirements passed, 1 not applicable",
		},
		"the time budget": {reports.Report{Webhook: budget, Results: []reports.Result{passed, result("webhook.second", "", requirement.NotApplicable)}}, "Conforms, not fully judged (the time budget ended): 1 requirement passed, 1 not applicable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Conclude(&test.report)
			if got := Headline(&test.report); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
