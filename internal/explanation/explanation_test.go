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
