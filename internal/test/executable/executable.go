// Package executable writes programs that tests run, and runs test executables as programs.
package executable

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program that is run soon. While the file is open no process is started: a process that is forked meanwhile inherits it,
// and until that process has its own program, the system refuses to run this one ("text file busy"), which a busy machine shows.
func Write(tb testing.TB, path string, program []byte) {
	tb.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, program, 0o755); err != nil { //nolint:gosec // it is to be run
		tb.Fatal(err)
	}
}
