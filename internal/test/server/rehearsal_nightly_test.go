//go:build nightly

package server_test

import (
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
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
			broken := rehearsaltest.Broken(outcome)
			for _, r := range outcome.Results {
				if verdict, is := broken[r.ID]; is && (verdict != requirement.Tolerated || r.ID == f.id) {
					t.Errorf("%s is %s: %s", r.ID, r.Verdict, r.Reason)
				}
			}
		})
	}
}
