//go:build !unix

package minors

import "os"

// runs reports whether a process is there.
func runs(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
