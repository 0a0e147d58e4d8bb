package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/storage"
)

// TestBlindToStorage runs a chapter that looks into storage on a cluster that does not let it. The other one is nightly.
func TestBlindToStorage(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a chapter runs once more")
	}
	blind(t, storage.Area)
}

// blind runs a chapter that looks into storage on a cluster that does not let it. What it can conclude must be judged, and what takes the
// bytes says so.
func blind(t *testing.T, area suites.Area) {
	t.Helper()
	takesBytes := []requirement.ID{
		requirement.StorageChangeKeepsExisting, requirement.StorageChangeUpdatedObjects, requirement.StorageReadUnchangedOnDisk,
		requirement.StorageUpdateRewrites, requirement.StorageUpdateIdempotent, requirement.StorageUpdateOnlyWay, requirement.StorageSequenceFiveSteps,
		requirement.LifecycleUpgradeRewrite, requirement.LifecycleUpgradeIdempotent, requirement.LifecycleRemovalTooEarly,
		requirement.LifecycleDeletionObjects, requirement.LifecycleDeletionBlockedByWebhook, requirement.LifecycleDeletionRecovers,
		requirement.LifecycleDeletionWithoutWebhook, requirement.LifecycleLegacyStoredDefinition, requirement.LifecycleLegacyNotStructural,
		requirement.LifecycleLegacyNotPublished, requirement.StorageReadUndecodableList, requirement.StorageReadUndecodableNamed,
		requirement.StorageReadUndecodableWatch, requirement.LifecycleDeletionUndecodable, requirement.LifecycleDeletionUnsafe,
		requirement.LifecycleDeletionUnsafeAlone, requirement.LifecycleDeletionBlockedByUndecodable,
	}
	env := suitetest.Env(t, suites.Options{Cluster: bare{apiServer.Cluster(t)}, Seed: 1})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, suitetest.Quiet{})
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
		if r.Verdict != want || want == requirement.NotApplicable && !strings.Contains(r.Reason, "requires access to etcd") {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}
