package webhook

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// TestFaultsAreCaught gives the reference webhook one fault after the other: each must be found by the specs of the requirements that it
// breaks, and not by one that passes with most faults.
func TestFaultsAreCaught(t *testing.T) {
	for _, fault := range webhook.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			if testing.Short() && slices.Contains(fault.Breaks, requirement.WebhookConversionHuge) {
				t.Skip("left out by -short: big objects are made smaller for seconds")
			}
			caught(t, fault, func(id requirement.ID) bool {
				return id == requirement.WebhookResponseUID || slices.Contains(fault.Breaks, id)
			})
		})
	}
}

// TestFaultsAreOfAllSpecs has a fault for each spec, so that each is shown to be able to fail.
func TestFaultsAreOfAllSpecs(t *testing.T) {
	broken := map[requirement.ID]bool{}
	for _, fault := range webhook.Faults() {
		for _, id := range fault.Breaks {
			broken[id] = true
		}
	}
	for _, spec := range suites.Preview([]suites.Area{Area}) {
		if !broken[spec.Requirement] && !strings.HasPrefix(string(spec.Requirement), "webhook.transport.") && !ofUsersFiles(spec.Requirement) {
			t.Errorf("no fault breaks %s, so its spec is not shown to be able to fail", spec.Requirement)
		}
	}
}

// ofUsersFiles reports whether a requirement is about what only the files of a user say: TestExpected and TestListedReviewVersions have some.
func ofUsersFiles(id requirement.ID) bool {
	return id == requirement.WebhookRequestConversionReviewVersions || id == requirement.WebhookConversionExpected
}

// caught wants a fault to be found by the specs of the requirements that it breaks, and by no others that are selected.
func caught(t *testing.T, fault webhook.Fault, selected func(requirement.ID) bool) {
	t.Helper()
	var found []requirement.ID
	worst := false
	for _, result := range judge(t, selected, fault) {
		switch result.Verdict {
		case requirement.Passed:
		case requirement.NotApplicable:
			t.Logf("%s: %s", result.Requirement, result.Reason)
		case fault.Verdict, requirement.Tolerated:
			t.Logf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
			found = append(found, result.Requirement)
			worst = worst || result.Verdict == fault.Verdict
			t.Run("again", func(t *testing.T) {
				shownAgain(t, result, slices.Contains(fault.Breaks, requirement.WebhookConversionPure))
			})
		default:
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
	want := slices.Sorted(slices.Values(fault.Breaks))
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("found by %v, want %v", found, want)
	}
	if !worst {
		t.Errorf("no verdict is %s", fault.Verdict)
	}
}

// TestFaultsAreMany holds the reference webhook to the number of faults that it is meant to have at least.
func TestFaultsAreMany(t *testing.T) {
	names := map[string]bool{}
	for _, fault := range webhook.Faults() {
		if names[fault.Name] {
			t.Errorf("there are two faults named %s", fault.Name)
		}
		names[fault.Name] = true
	}
	if len(names) < 90 {
		t.Errorf("there are %d faults, want 90 or more", len(names))
	}
}

// TestNoFaultNoFinding runs all specs against the correct webhook: each must pass, not merely not fail.
func TestNoFaultNoFinding(t *testing.T) {
	for _, result := range judge(t, nil) {
		// The definition that the CronTabs have is not one that anybody is asked by.
		if result.Verdict != requirement.Passed && !ofUsersFiles(result.Requirement) {
			t.Errorf("%s is %s: %s", result.Requirement, result.Verdict, result.Reason)
		}
	}
}

// judge runs the selected specs, or all, against the reference webhook with faults. What a fault does from one second to the next
// breaks webhook.conversion.pure, so with one that does not, nothing waits for the next second.
func judge(t *testing.T, selected func(requirement.ID) bool, faults ...webhook.Fault) []suites.Result {
	t.Helper()
	return judgeOn(t, corpus.CronTabs("v1alpha1", "v1beta1", "v1"), selected, faults...)
}

// judgeOn does the same with other definitions and samples.
func judgeOn(t *testing.T, on corpus.Corpus, selected func(requirement.ID) bool, faults ...webhook.Fault) []suites.Result {
	t.Helper()
	subject := spectest.Subject(t, faults...)
	subject.Corpus, subject.Objects = on, 6
	chapter := Area
	for _, fault := range faults {
		if !slices.Contains(fault.Breaks, requirement.WebhookConversionPure) {
			chapter = area(0)
		}
		switch {
		case slices.Contains(fault.Breaks, requirement.WebhookResponseInTime):
			subject.Client = patient(t, subject.Client, 3*time.Second)
		case slices.Contains(fault.Breaks, requirement.WebhookConversionHuge) && on.Documented:
			// Big objects are made smaller for seconds at each pair of versions, and the third version has its specs with all other faults.
			subject.Corpus = corpus.CronTabs("v1beta1", "v1")
		}
	}
	return judgeSelected(t, subject, chapter, selected)
}

// patient is a client that waits for so long.
func patient(t *testing.T, client *wire.Client, limit time.Duration) *wire.Client {
	t.Helper()
	other, err := client.With(func(e *wire.Endpoint) { e.Timeout = limit })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	return other
}
