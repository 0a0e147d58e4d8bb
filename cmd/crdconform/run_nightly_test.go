//go:build nightly

package main

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/internal/reporter"
)

// TestRunWithLoadProfiles sends two profiles, whose stages stand side by side in the report.
func TestRunWithLoadProfiles(t *testing.T) {
	t.Parallel()
	r := invoke(t, "run", "--load-profile", "apiserver,ramp", "--load-duration", "500ms", "--filter", "versions.scope.cluster")
	l := r.report(t).Load
	if l == nil {
		t.Fatalf("no load was sent:\n%s", r.err)
	}
	var names []string
	for _, s := range l.Stages {
		names = append(names, s.Name)
		if s.Requests == 0 || s.Failed > 0 || s.Repeat != 1 {
			t.Errorf("%s: %d requests, %d failed, repeat %d", s.Name, s.Requests, s.Failed, s.Repeat)
		}
	}
	if want := []string{"clients 1", "clients 10", "ramp"}; !slices.Equal(names, want) || l.Profile != "apiserver + ramp" {
		t.Errorf("the profile %q has the stages %q, want %q", l.Profile, names, want)
	}
	if reporter.Void(l) == "" { // the machine was not busy
		r.exits(t, exitConforms)
	}
}

// TestReaderThatGoesWhileRunning has nobody read what a run says.
func TestReaderThatGoesWhileRunning(t *testing.T) {
	t.Parallel()
	readerGoes(t, exitConforms, "run", "--filter", "versions.scope.cluster")
}

// TestInterruptedRunByAll stops a run in each of its parts by each signal.
func TestInterruptedRunByAll(t *testing.T) {
	t.Parallel()
	for _, part := range interruptible() {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			stop := part
			stop.signal = signal
			t.Run(stop.name+"/"+signal.String(), func(t *testing.T) {
				t.Parallel()
				stop.interrupt(t)
			})
		}
	}
}

// TestColumnsAreStopped interrupts a whole matrix by a signal.
func TestColumnsAreStopped(t *testing.T) {
	t.Parallel()
	stoppedMatrix(t, os.Interrupt)
}
