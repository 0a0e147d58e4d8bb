package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeptDirectory(t *testing.T) {
	dir := t.TempDir()
	c, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	created := create(t, install(t, c))
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, objects(t, start(t, Options{Dir: dir})), created)
}

func TestStartThatFails(t *testing.T) {
	if _, err := Start(t.Context(), Options{Dir: "/dev/null/nowhere"}); err == nil {
		t.Error("it started in a directory that cannot be")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	if _, err := Start(ctx, Options{}); err == nil {
		t.Error("it started although it was told not to")
	}
	empty(t, temporary)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

// TestLongPath has temporary files where no socket can be, as some build systems do.
func TestLongPath(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	c := start(t, Options{})
	create(t, install(t, c))
	if info, err := os.Stat(c.sockets); err != nil || info.Mode().Perm() != 0o700 || strings.HasPrefix(c.sockets, long) {
		t.Errorf("the sockets are in %s, %v, %v", c.sockets, info, err)
	}
	if err := c.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	empty(t, long)
	if _, err := os.Stat(c.sockets); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.sockets, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{}); err == nil {
		t.Error("it started although it was told not to")
	}
	empty(t, long)
}

func TestSocketDir(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("long", 30))
	if got, err := socketDir(long, "/dev/null"); err == nil || !strings.Contains(err.Error(), long) || !strings.Contains(err.Error(), "set TMPDIR to a shorter") {
		t.Errorf("got %q, %v", got, err)
	}
	got, err := socketDir(long, dir)
	if err != nil || filepath.Dir(got) != dir {
		t.Errorf("got %q, %v, want a directory in %s", got, err, dir)
	}
}
