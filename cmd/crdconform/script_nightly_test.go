//go:build nightly

package main

import (
	"os"
	"testing"
)

// TestNightlyScripts runs testdata/script/nightly, whose scripts are of the same kind as those of TestScripts.
func TestNightlyScripts(t *testing.T) {
	t.Parallel()
	runScripts(scripted{t, true}, "testdata/script/nightly")
}

// olderServers returns the folder with API servers of older minors, or skips the test.
func olderServers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CRDCONFORM_TEST_MINORS") //nolint:forbidigo // tests get what they run on from the environment
	if dir == "" {
		t.Skip("API servers of older minors take minutes to build: run \"crdconform minors build\", and set CRDCONFORM_TEST_MINORS to the folder")
	}
	return dir
}
