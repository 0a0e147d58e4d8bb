//go:build !unix

package server_test

import "os"

// processRuns reports whether a process is there.
func processRuns(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
