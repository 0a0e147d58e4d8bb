package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

func TestEmbeddedKeptDirectory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	dir := t.TempDir()
	c, err := embedded.Start(t.Context(), embedded.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	created := createCronTab(t, installCronTabs(t, c))
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameCronTab(t, cronTabs(t, startEmbedded(t, embedded.Options{Dir: dir})), created)
}

func TestEmbeddedStartThatFails(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	if _, err := embedded.Start(t.Context(), embedded.Options{Dir: "/dev/null/nowhere"}); err == nil {
		t.Error("it started in a directory that cannot be")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	if _, err := embedded.Start(ctx, embedded.Options{}); err == nil {
		t.Error("it started although the context was cancelled")
	}
	emptyFolder(t, temporary)
}

func emptyFolder(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

// TestEmbeddedLongPath has temporary files where no socket can be, as some build systems do.
func TestEmbeddedLongPath(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	c := startEmbedded(t, embedded.Options{})
	createCronTab(t, installCronTabs(t, c))
	if info, err := os.Stat(c.Sockets()); err != nil || info.Mode().Perm() != 0o700 || strings.HasPrefix(c.Sockets(), long) {
		t.Errorf("the sockets are in %s, %v, %v", c.Sockets(), info, err)
	}
	if err := c.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	emptyFolder(t, long)
	if _, err := os.Stat(c.Sockets()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.Sockets(), err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Start(ctx, embedded.Options{}); err == nil {
		t.Error("it started although the context was cancelled")
	}
	emptyFolder(t, long)
}

func TestEmbeddedSocketDir(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("long", 30))
	if got, err := embedded.SocketDir(long, "/dev/null"); err == nil || !strings.Contains(err.Error(), long) || !strings.Contains(err.Error(), "set TMPDIR to a shorter") {
		t.Errorf("got %q, %v", got, err)
	}
	got, err := embedded.SocketDir(long, dir)
	if err != nil || filepath.Dir(got) != dir {
		t.Errorf("got %q, %v, want a directory in %s", got, err, dir)
	}
}
