package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/storage"
	"github.com/crdconform/crdconform/suites/suitetest"
)

// TestBlindToStorage runs the chapters that look into storage on a cluster that does not let them. What they can conclude has
// to be judged, and what takes the bytes says so.
func TestBlindToStorage(t *testing.T) {
	takesBytes := []requirement.ID{
		requirement.StorageChangeKeepsExisting, requirement.StorageChangeUpdatedObjects, requirement.StorageReadUnchangedOnDisk,
		requirement.StorageUpdateRewrites, requirement.StorageUpdateIdempotent, requirement.StorageUpdateOnlyWay, requirement.StorageSequenceFiveSteps,
		requirement.LifecycleUpgradeRewrite, requirement.LifecycleUpgradeIdempotent, requirement.LifecycleRemovalTooEarly,
		requirement.LifecycleDeletionObjects, requirement.LifecycleDeletionBlockedByWebhook, requirement.LifecycleDeletionRecovers,
		requirement.LifecycleDeletionWithoutWebhook, requirement.LifecycleLegacyStoredDefinition, requirement.LifecycleLegacyNotStructural,
	}
	env := suitetest.Env(t, suites.Options{Cluster: bare{suitetest.Cluster(t, embedded.Options{})}, Seed: 1})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{storage.Area, lifecycle.Area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		if one, found := requirement.Lookup(r.Requirement); found && !one.HoldsFor(env.Minor()) {
			continue
		}
		want := requirement.Passed
		if slices.Contains(takesBytes, r.Requirement) {
			want = requirement.NotApplicable
		}
		if r.Verdict != want || want == requirement.NotApplicable && !strings.Contains(r.Reason, "needs a look into storage") {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}
