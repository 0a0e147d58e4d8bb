//go:build nightly

package main

import "testing"

// TestNightlyScripts runs testdata/script/nightly, whose scripts are of the same kind as those of TestScripts.
func TestNightlyScripts(t *testing.T) { runScripts(t, "testdata/script/nightly") }
