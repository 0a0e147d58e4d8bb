package explanation

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// TestRemedies has every requirement that a webhook can violate say what to do.
func TestRemedies(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, r := range requirement.All() {
		if r.Untested == "" && r.Binds != requirement.Author && Remedy(r) == "" {
			t.Errorf("%s has no remedy", r.ID)
		}
		for _, one := range remedies() {
			if strings.HasPrefix(string(r.ID), one.prefix) {
				used[one.prefix] = true
				break
			}
		}
	}
	if len(used) != len(remedies()) {
		t.Errorf("only %v are used", used)
	}
}

// TestExplained explains a requirement with everything that there may be.
func TestExplained(t *testing.T) {
	t.Parallel()
	r, _ := requirement.Lookup(requirement.WebhookResponseUID)
	body := Explanation{
		Requirement: r, Specs: []Named{{Name: "compares <UIDs>", Summary: "uid.go:1"}}, Rules: []Named{{Name: "rule", Summary: "a rule"}}, Faults: []Named{{Name: "other-uid", Summary: "it invents a UID"}},
		Remedy: Remedy(r), Run: "crdconform check URL",
	}.HTML()
	for _, want := range []string{"compares &lt;UIDs&gt;", "lint: <code>rule</code>", "it invents a UID", "serve --fault other-uid", "Build the response from the request", "<code>crdconform check URL</code>"} {
		if !strings.Contains(body, want) {
			t.Errorf("it lacks %s:\n%s", want, body)
		}
	}
}
