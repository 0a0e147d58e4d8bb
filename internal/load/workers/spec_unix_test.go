//go:build unix

package workers

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipes does not wait for ever for a spec or an order from a pipe to which nothing writes.
func TestPipes(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for spec, orders := range map[string]string{pipe: "", file(t, string(newMinimal(t))): pipe} {
		if _, err := FromFiles(t.Context(), []string{spec}, orders); err == nil || !strings.Contains(err.Error(), "a pipe to which nothing writes") {
			t.Errorf("got %v", err)
		}
	}
}
