//go:build nightly

package suites_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/lifecycle"
)

// TestFaultsSpareOthers has every spec judged with every fault but its own, and every migrator by every spec.
func TestFaultsSpareOthers(t *testing.T) {
	all := migratorTrials(true, faulty(), correct())
	for _, one := range tables() {
		all = append(all, trial{one.area.Name, func(t *testing.T, genuine *embedded.Cluster) {
			t.Helper()
			suitetest.SpareOthers(t, genuine, one.area, one.faults)
		}})
	}
	judgeTrials(t, append(all, migratorTrials(false, careless())...))
}

// TestBlindToStorageInLifecycles runs the other chapter that looks into storage where it cannot.
func TestBlindToStorageInLifecycles(t *testing.T) { blind(t, lifecycle.Area) }

// TestAllOtherFormsPass has the reference webhook pass with definitions of every other form.
func TestAllOtherFormsPass(t *testing.T) {
	for name, objects := range map[string]corpus.Corpus{
		"old stored one":   sampled(t, fixtures.StoredAt("v1alpha1"), fixtures.NotServed("v1alpha1")),
		"one served alone": sampled(t, fixtures.NotServed("v1alpha1"), fixtures.NotServed("v1"), fixtures.StoredAt("v1")),
	} {
		t.Run(name, func(t *testing.T) { passes(t, objects) })
	}
}

// TestResourceFaultsSpareOthers has each webhook judged by all specs. Those that take longest run for the faults that list them only.
func TestResourceFaultsSpareOthers(t *testing.T) {
	slow := []requirement.ID{
		requirement.ResourceUpdateEveryVersion, requirement.ResourcePatchJSON, requirement.ResourcePatchMerge, requirement.ResourceApplyTwoManagers,
		requirement.ResourceDeleteEveryVersion, requirement.ResourceWriteNoOp,
	}
	judgeResources(t, suitetest.Cluster(t, embedded.Options{}), sampled(t), checkFault, func(f resourceFault, id requirement.ID) bool { return f.lists(id) || !slices.Contains(slow, id) })
}

// TestResourceFaultsWithFewerSamples has each webhook found by the same specs without samples, and with one of each version, as projects have.
func TestResourceFaultsWithFewerSamples(t *testing.T) {
	one := sampled(t)
	var samples []*unstructured.Unstructured
	for _, version := range one.Versions {
		samples = append(samples, one.Objects(version)[0])
	}
	one, err := corpus.New(one.Definition, samples)
	if err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string]corpus.Corpus{"none": reference(t), "one of each version": one} {
		t.Run(name, func(t *testing.T) {
			judgeResources(t, suitetest.Cluster(t, embedded.Options{}), objects, func(t *testing.T, f resourceFault, results []suites.Result) {
				t.Helper()
				for _, r := range results {
					want := requirement.Failed
					if name == "none" && r.Requirement == requirement.ResourceWriteValidatedRead {
						want = requirement.SeverityOf(r.Requirement, requirement.PartGenerated) // what generated objects show of it
					}
					switch {
					case !slices.Contains(f.fails, r.Requirement):
					case f.needs != "":
						t.Logf("%s is %s: it takes %s", r.Requirement, r.Verdict, f.needs)
					case r.Verdict != want:
						t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
					}
				}
			}, func(f resourceFault, id requirement.ID) bool {
				return slices.Contains(f.fails, id) || id == requirement.ResourceCreateEveryVersion
			})
		})
	}
}

// TestBugsAreFoundWhateverTheSamples has webhooks with a bug found without samples and with one or two of each version, with several seeds.
func TestBugsAreFoundWhateverTheSamples(t *testing.T) {
	two := planSamples + "---" + strings.ReplaceAll(planSamples, "name: sample", "name: other")
	hideNothing(t, map[string]string{"generated": "", "a sample": planSamples, "two samples": two}, 2, 3, 4)
}

var seedsFlag = flag.Int("seeds", 1, "TestStyles judges each webhook with so many seeds")

// TestStyles has correct webhooks of each style judged with seeds that differ from webhook to webhook, with a sample for every other seed.
func TestStyles(t *testing.T) {
	all := styled(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		for seed := int64(i + 2); seed < int64(i+2+*seedsFlag); seed++ {
			samples := ""
			if seed%2 == 0 {
				samples = all[name].sample
			}
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) { judgeStyle(t, apiServer.Cluster(t), all[name], samples, seed) })
		}
	}
}

// careless are migrators of which each breaks something that another one breaks as well, in another way.
func careless() map[string]migrationFault {
	return map[string]migrationFault{
		"selects by labels":                    {simple{write: put, selects: "written=always"}, left()},
		"leaves recent objects for later":      {simple{write: put, skipsRecent: true}, left()},
		"lists one page":                       {simple{write: put, firstPageOnly: true}, []requirement.ID{requirement.MigrationObjectsStored, requirement.MigrationObjectsExpired, requirement.MigrationStoredVersionsLast}},
		"skips objects that are being deleted": {simple{write: put, skipsDeleting: true}, []requirement.ID{requirement.MigrationObjectsStored}},
		"writes at the former version":         {simple{write: put, former: true}, []requirement.ID{requirement.MigrationObjectsContent}},
		"writes all once more in the end":      {simple{write: put, againInTheEnd: true}, []requirement.ID{requirement.MigrationClientsWrites}},
		"creates copies":                       {simple{write: put, backsUp: true}, []requirement.ID{requirement.MigrationObjectsKept}},
		"trims after the first object":         {simple{write: put, trimsAfterOne: true}, []requirement.ID{requirement.MigrationStoredVersionsLast}},
		"skips what is refused, quietly":       {simple{write: put, skipsRefused: true}, []requirement.ID{requirement.MigrationRefusedReported}},
		"misses a flip forth and back":         {simple{write: put, looksAtStorage: true}, []requirement.ID{requirement.MigrationDefinitionFlipped}},
		"merges a stale copy":                  {simple{write: merge}, []requirement.ID{requirement.MigrationClientsWrites}},
		"puts a stale status":                  {simple{write: withStatus}, []requirement.ID{requirement.MigrationClientsWrites}},
		"drops finalizers":                     {simple{write: migrationWithout("finalizers")}, []requirement.ID{requirement.MigrationObjectsContent}},
		"drops owner references":               {simple{write: migrationWithout("ownerReferences")}, []requirement.ID{requirement.MigrationObjectsContent}},
		"drops labels":                         {simple{write: migrationWithout("labels")}, []requirement.ID{requirement.MigrationObjectsContent, requirement.MigrationManagedFieldsKept}},
		"drops annotations":                    {simple{write: migrationWithout("annotations")}, []requirement.ID{requirement.MigrationObjectsContent}},
		"leaves a mark":                        {simple{write: mark}, []requirement.ID{requirement.MigrationObjectsContent, requirement.MigrationManagedFieldsKept}},
		"changes something forth and back":     {simple{write: touch}, []requirement.ID{requirement.MigrationObjectsContent, requirement.MigrationManagedFieldsKept}},
		"removes managed fields":               {simple{write: wipe}, []requirement.ID{requirement.MigrationManagedFieldsKept}},
	}
}
