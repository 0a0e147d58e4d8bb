package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	chapter "github.com/crdconform/crdconform/suites/webhook"
)

// TestCheckFindsFaults has check meet a fault for each verdict that faults lead to, with one requirement broken and with several, and one
// that needs samples. All of them are tried without the command in suites/webhook, and with it by TestCheckFindsAllFaults.
func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a check for each kind of fault")
	}
	type kind struct {
		verdict requirement.Verdict
		several bool
	}
	met := map[kind]bool{}
	for _, fault := range webhook.Faults() {
		k := kind{fault.Verdict, len(fault.Breaks) > 1}
		if !met[k] || fault.Name == "first-version-only" || fault.Name == "hangs" {
			t.Run(fault.Name, func(t *testing.T) { findsFault(t, fault) })
		}
		met[k] = true
	}
}

// findsFault wants a fault to show in the exit code, in the verdicts of the requirements that it breaks, and in no others.
func findsFault(t *testing.T, fault webhook.Fault) {
	t.Helper()
	t.Parallel()
	url, ca := serve(t, webhook.Handler(fault), nil)
	args := []string{"check", url, "--ca-file", ca, "--seed", "1", "--objects", few}
	var want []requirement.ID
	for _, spec := range suites.Preview([]suites.Area{chapter.Area}) {
		if slices.Contains(fault.Breaks, spec.Requirement) {
			want = append(want, spec.Requirement)
		}
	}
	switch {
	case fault.Name == "hangs":
		args = append(args, "--timeout", "2s")
	case fault.Name == "cuts-labels":
		args = args[:len(args)-2] // few objects have so many
	case slices.Contains(want, requirement.WebhookBatchMixedVersions):
		args = append(args, "--samples", "testdata/crontabs.yaml")
	}
	r := ran(t, args...)
	if fault.Verdict == requirement.Failed {
		r.exits(t, exitViolates)
	} else {
		r.exits(t, exitConforms)
		strict := ran(t, append(args, "--strict")...)
		strict.exits(t, exitViolates)
		if got := strict.report(t).Outcome; got != reports.NonConformant {
			t.Errorf("strictly, it is %s", got)
		}
	}
	var got []requirement.ID
	for _, result := range r.report(t).With(requirement.Failed, requirement.Tolerated, requirement.Errored, requirement.Unknown) {
		got = append(got, result.ID)
		if tolerated := result.Verdict == requirement.Tolerated && len(want) > 1; result.Verdict != fault.Verdict && !tolerated {
			t.Errorf("%s is %s: %s", result.ID, result.Verdict, result.Reason)
		}
		if result.Verdict == requirement.Failed && !strings.Contains(r.out, "\nFAILED "+string(result.ID)+": ") {
			t.Errorf("it does not show what is wrong with %s:\n%s", result.ID, r.out)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v found something, want %v", got, want)
	}
}

// TestSeed has the same seed lead to the same order, and another one to another.
func TestSeed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a check for each of three seeds")
	}
	url, ca := serve(t, webhook.Handler(), nil)
	order := func(seed string) []string {
		r := ran(t, "check", url, "--ca-file", ca, "--objects", "0", "--seed", seed, "--filter", "webhook.response,webhook.metadata")
		r.exits(t, exitConforms)
		var ids []string
		for line := range strings.Lines(r.out) {
			if fields := strings.Fields(line); strings.HasPrefix(line, "[") && len(fields) > 3 {
				ids = append(ids, fields[len(fields)-3])
			}
		}
		return ids
	}
	first := order("7")
	if len(first) < 20 || !slices.Equal(first, order("7")) {
		t.Errorf("the order is not repeated: %v", first)
	}
	if slices.Equal(first, order("8")) {
		t.Errorf("two seeds lead to one order: %v", first)
	}
}
