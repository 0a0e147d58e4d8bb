//go:build nightly

package main

import (
	"os"
	"syscall"
	"testing"
)

// TestReaderThatGoesWhileRunning has nobody read what a run says.
func TestReaderThatGoesWhileRunning(t *testing.T) {
	t.Parallel()
	readerGoes(t, exitConforms, "run", "--filter", "versions.scope.cluster")
}

// TestInterruptedRunByAll stops a run in each of its parts by each signal.
func TestInterruptedRunByAll(t *testing.T) {
	t.Parallel()
	for _, part := range stoppings() {
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
