package webhook

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// partial is a webhook that converts what has a version that it knows to one that it knows, and says Success. It leaves out the rest, or refuses or
// returns all.
type partial struct{ refuses, returns bool }

func (p partial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := review["request"].(map[string]any)
	to := request["desiredAPIVersion"].(string)
	isKnown := func(version string) bool {
		return strings.HasPrefix(path.Base(version), "v1") || path.Base(version) == "v2"
	}
	result, converted := map[string]any{"status": "Success"}, []any{}
	for _, each := range request["objects"].([]any) {
		object := each.(map[string]any)
		switch isAll := isKnown(object["apiVersion"].(string)) && isKnown(to); {
		case isAll:
			object["apiVersion"] = to
			converted = append(converted, object)
		case p.refuses:
			result = map[string]any{"status": "Failed", "message": "there is no such version"}
		case p.returns:
			converted = append(converted, object)
		}
	}
	delete(review, "request")
	review["response"] = map[string]any{"uid": request["uid"], "result": result, "convertedObjects": converted}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // the caller sees what is missing
}

// TestLeftOut has webhooks judged that leave out what they cannot convert, and say Success. They refuse nothing but versions that do not exist.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		webhook     partial
		bad, status requirement.Verdict
	}{
		"leaves out":        {partial{}, requirement.Failed, requirement.Tolerated},
		"refuses all":       {partial{refuses: true}, requirement.Passed, requirement.Passed},
		"returns unchanged": {partial{returns: true}, requirement.NotApplicable, requirement.NotApplicable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: test.webhook}.of(t, desks)
			subject.Objects = 12
			want := map[requirement.ID]requirement.Verdict{
				requirement.WebhookBatchBadObject: test.bad, requirement.WebhookFailureStatus: test.status, requirement.WebhookFailureUID: requirement.NotApplicable,
			}
			if test.webhook.refuses {
				want[requirement.WebhookFailureUID] = requirement.Passed
			}
			for _, r := range selected(t, subject, 1, requirement.WebhookBatchBadObject, requirement.WebhookFailureStatus, requirement.WebhookFailureUID) {
				if r.Verdict != want[r.Requirement] {
					t.Errorf("%s is %s, want %s: %s", r.Requirement, r.Verdict, want[r.Requirement], r.Reason)
				}
			}
		})
	}
}
