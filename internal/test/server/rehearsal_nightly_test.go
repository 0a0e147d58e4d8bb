//go:build nightly

package server_test

import (
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// TestRehearsalCorrected shows that upgrades pass once what was wrong is put right. The good one is rehearsed by TestRehearsalGoodUpgradePasses.
func TestRehearsalCorrected(t *testing.T) {
	t.Parallel()
	api := suitetest.Cluster(t, embedded.Options{})
	for _, f := range upgradeFaults() {
		twin := f.twin
		if twin == nil && (f.tamper == nil || f.change == nil) {
			continue
		}
		if twin == nil {
			twin = f.change
		}
		t.Run(f.name, func(t *testing.T) {
			wantEmpty(t, api)
			u := goodUpgrade(5)
			twin(&u)
			outcome := u.Rehearse(t, api)
			for id, verdict := range rehearsaltest.Broken(outcome) {
				if verdict != requirement.Tolerated || id == f.id {
					t.Errorf("%s is %s: %s", id, verdict, whyOf(outcome, id))
				}
			}
		})
	}
}

func whyOf(outcome rehearsal.Outcome, id requirement.ID) string {
	for _, r := range outcome.Results {
		if r.ID == id {
			return r.Reason
		}
	}
	return ""
}
