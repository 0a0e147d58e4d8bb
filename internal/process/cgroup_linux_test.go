package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newCgroup makes a group, where that can be done.
func newCgroup(t *testing.T) *Cgroup {
	t.Helper()
	g, err := NewCgroup(t.Context())
	if missing := (NoCgroupError{}); errors.As(err, &missing) {
		t.Skip("needs a cgroup that it may make: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return g
}

// TestCgroupLimit has a program that wants 64 MiB: with 16 MiB it is killed, and with 256 MiB it is not.
func TestCgroupLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit  uint64
		killed bool
	}{{16 << 20, true}, {256 << 20, false}} {
		g := newCgroup(t)
		if err := g.Limit(test.limit); err != nil {
			t.Fatal(err)
		}
		args := append(g.Enter(), "sh", "-c", "head -c 67108864 /dev/zero | tail -c 67108864 > /dev/null")
		err := exec.CommandContext(t.Context(), args[0], args[1:]...).Run()
		if !test.killed && err != nil {
			t.Errorf("with %d bytes: %v", test.limit, err)
		}
		if seen, err := g.Seen(); err != nil || (seen.Killed > 0) != test.killed || seen.Reached != test.killed {
			t.Errorf("with %d bytes: %+v, %v", test.limit, seen, err)
		}
	}
}

// TestCgroupRemove leaves nothing behind, and removes what is gone.
func TestCgroupRemove(t *testing.T) {
	t.Parallel()
	g := newCgroup(t)
	for range 2 {
		if err := g.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(g.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// TestCgroupSeen reads the files of both versions.
func TestCgroupSeen(t *testing.T) {
	t.Parallel()
	one, two := cgroupVersions()
	for _, test := range []struct {
		name    string
		version cgroupVersion
		files   map[string]string
		want    CgroupSeen
		err     string
	}{
		{"version 1", one, map[string]string{"memory.failcnt": "12\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}, CgroupSeen{true, 3}, ""},
		{"version 1, not reached", one, map[string]string{"memory.failcnt": "0\n", "memory.oom_control": "oom_kill 0\n"}, CgroupSeen{}, ""},
		{"version 2", two, map[string]string{"memory.events": "low 7\nhigh 8\nmax 12\noom 4\noom_kill 3\noom_group_kill 0\n"}, CgroupSeen{true, 3}, ""},
		{"version 2, not reached", two, map[string]string{"memory.events": "low 7\nhigh 8\nmax 0\noom 0\noom_kill 0\n"}, CgroupSeen{}, ""},
		{"old kernel", one, map[string]string{"memory.failcnt": "0\n", "memory.oom_control": "oom_kill_disable 0\n"}, CgroupSeen{}, "says nothing of oom_kill"},
	} {
		g := &Cgroup{dir: t.TempDir(), version: test.version}
		for name, text := range test.files {
			if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		seen, err := g.Seen()
		if test.err == "" && (err != nil || seen != test.want) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %+v, %v", test.name, seen, err)
		}
	}
}

// TestCgroupLowered lowers a limit to less than was used at most: it is reached when a program wants more than that, and not before.
func TestCgroupLowered(t *testing.T) {
	t.Parallel()
	g := newCgroup(t)
	use := func(bytes int) {
		args := append(g.Enter(), "sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tail -c %[1]d > /dev/null", bytes))
		_ = exec.CommandContext(t.Context(), args[0], args[1:]...).Run() // what became of it is seen
	}
	for _, step := range []struct {
		limit   uint64
		bytes   int
		reached bool // and then the kernel kills whatever of the pipe it chooses
	}{{256 << 20, 64 << 20, false}, {32 << 20, 1 << 10, false}, {32 << 20, 64 << 20, true}} {
		if err := g.Limit(step.limit); err != nil {
			t.Fatal(err)
		}
		use(step.bytes)
		if seen, err := g.Seen(); err != nil || seen.Reached != step.reached || (seen.Killed > 0) != step.reached {
			t.Errorf("%d bytes with %d: %+v, %v", step.bytes, step.limit, seen, err)
		}
	}
}
