package server_test

import (
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/requirement"
)

// TestRehearsalExplainedFindings rehearses upgrades in which one problem breaks several requirements and is reported for one of them.
// The others do not pass, nor do their steps.
func TestRehearsalExplainedFindings(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses upgrades")
	}
	const elsewhere = "what was found is explained by "
	proved, read := requirement.UpgradeMigrationProved, requirement.UpgradeUseRead
	api := start(t)
	for _, test := range []struct {
		name   string
		change func(u *rehearsaltest.Upgrade, migrated *atomic.Bool)
		broken map[requirement.ID]requirement.Verdict
		others map[requirement.ID]string // reasons of requirements that are NotApplicable; empty for those that pass
		steps  map[string]string         // reasons of steps that are NotApplicable; empty for those that pass
	}{
		{
			name:   "every write loses a field",
			change: func(u *rehearsaltest.Upgrade, _ *atomic.Bool) { u.Releases[1].Converts = losing("v1beta1", always) },
			broken: failedAll(requirement.UpgradeWriteNoOp),
			others: map[requirement.ID]string{
				proved: "the same change is already reported for writes that change nothing: see upgrade.write.no-op",
				read:   "the same change is already reported for writes that change nothing: see upgrade.write.no-op",
			},
			steps: map[string]string{"migrate": elsewhere + "upgrade.write.no-op", "use": elsewhere + "upgrade.write.no-op", "create": ""},
		},
		{
			name: "only the migration is judged, and every write loses a field",
			change: func(u *rehearsaltest.Upgrade, _ *atomic.Bool) {
				u.Releases[1].Converts = losing("v1beta1", always)
				u.Selects = func(id requirement.ID) bool { return id == proved }
			},
			broken: failedAll(proved),
		},
		{
			name: "a field is lost once the objects are migrated",
			change: func(u *rehearsaltest.Upgrade, migrated *atomic.Bool) {
				u.Releases[1].Converts = losing("v1beta1", migrated.Load)
			},
			broken: failedAll(read),
			others: map[requirement.ID]string{proved: "objects are read differently afterwards: see upgrade.use.read"},
			steps:  map[string]string{"migrate": elsewhere + "upgrade.use.read"},
		},
		{
			name: "a field is lost once the objects are migrated, which is known and right",
			change: func(u *rehearsaltest.Upgrade, migrated *atomic.Bool) {
				u.Releases[1].Converts = losing("v1beta1", migrated.Load)
				u.Lossy = func(_ *apiextensionsv1.CustomResourceDefinition, _, path string) (string, bool) {
					return "", path == "spec.color"
				}
			},
			others: map[requirement.ID]string{proved: "", read: ""},
			steps:  map[string]string{"migrate": "", "use": ""},
		},
		{
			name: "a field is changed once the objects are migrated, where only its loss is known and right",
			change: func(u *rehearsaltest.Upgrade, migrated *atomic.Bool) {
				u.Releases[1].Converts = repainting("v1beta1", migrated.Load)
				u.Lossy = func(_ *apiextensionsv1.CustomResourceDefinition, _, path string) (string, bool) {
					return "", path == "spec.color"
				}
			},
			broken: failedAll(read),
			others: map[requirement.ID]string{proved: "objects are read differently afterwards: see upgrade.use.read"},
			steps:  map[string]string{"migrate": elsewhere + "upgrade.use.read"},
		},
		{
			name:   "the new webhook loses a field wherever it runs",
			change: func(u *rehearsaltest.Upgrade, _ *atomic.Bool) { u.Releases[1].Converts = losing("v1", always) },
			broken: tolerated(failedAll(requirement.UpgradeReadContent, requirement.UpgradeWriteNoOp), requirement.UpgradeBackContent),
			others: map[requirement.ID]string{requirement.UpgradeWebhookOldDefinitions: "the same is already reported for the new release alone: see upgrade.read.content"},
			steps:  map[string]string{"new webhook": elsewhere + "upgrade.read.content"},
		},
		{
			name: "a field that is dropped where objects are stored is not there at another version either",
			change: func(u *rehearsaltest.Upgrade, _ *atomic.Bool) {
				redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, []string{widgetVersion("v1beta1", "served stored", "size: {type: string}"), widgetVersion("v1", "served", gaFields)})(u)
			},
			broken: failedAll(requirement.UpgradeReadPruned),
			others: map[requirement.ID]string{requirement.UpgradeReadContent: "what differs was dropped at the version at which it is stored: see upgrade.read.pruned"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantEmpty(t, api)
			u, seen := goodUpgrade(2), &atomic.Bool{}
			test.change(&u, seen)
			outcome := u.Rehearse(t, rehearsaltest.Tampered{API: api, Exchange: notingMigration(seen)})
			broken := rehearsaltest.Broken(outcome)
			for _, r := range outcome.Results {
				if broken[r.ID] != test.broken[r.ID] {
					t.Errorf("%s is %s: %s", r.ID, r.Verdict, r.Reason)
				}
				want, other := test.others[r.ID]
				if other && (r.Reason != want || (r.Verdict == requirement.Passed) != (want == "")) {
					t.Errorf("%s is %s: %q, want %q", r.ID, r.Verdict, r.Reason, want)
				}
			}
			stepsAre(t, outcome, test.steps)
		})
	}
}

// stepsAre checks the reasons of steps that are NotApplicable; those without one pass.
func stepsAre(t *testing.T, outcome rehearsal.Outcome, reasons map[string]string) {
	t.Helper()
	for _, s := range outcome.Legs[0].Steps {
		verdict := requirement.NotApplicable
		want, has := reasons[s.Name]
		if want == "" {
			verdict = requirement.Passed
		}
		if c := s.Cells[0]; has && (c.Verdict != verdict || c.Reason != want || c.Objects == 0) {
			t.Errorf("the step %q is %s: %q, with %d objects, want %s: %q", s.Name, c.Verdict, c.Reason, c.Objects, verdict, want)
		}
	}
}
