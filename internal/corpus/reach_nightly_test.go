//go:build nightly

package corpus_test

import (
	"fmt"
	"os"
	"testing"
)

func TestFieldsOfSubjectsForOtherSeeds(t *testing.T) {
	t.Parallel()
	for _, seed := range []int64{7, 2026} {
		reachSubjects(t, seed)
	}
}

// TestFieldsOfDefinitions measures the definitions in a folder, which has one folder for each project. The seeds may be given too.
func TestFieldsOfDefinitions(t *testing.T) {
	dir := os.Getenv("CRDCONFORM_TEST_DEFINITIONS") //nolint:forbidigo // no test has flags
	if dir == "" {
		t.Skip("CRDCONFORM_TEST_DEFINITIONS does not name a folder with definitions of other projects")
	}
	seed := int64(1)
	if given := os.Getenv("CRDCONFORM_TEST_SEED"); given != "" { //nolint:forbidigo // no test has flags
		if _, err := fmt.Sscan(given, &seed); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range measured(t, dir, seed) {
		check(t, p, seed)
	}
}
