package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// made makes a group, where that can be done.
func made(t *testing.T) *Group {
	t.Helper()
	g, err := New(t.Context())
	if missing := (UnavailableError{}); errors.As(err, &missing) {
		t.Skip("needs a cgroup that it may make: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// TestLimit has a program that wants 64 MiB: with 16 MiB it is killed, and with 256 MiB it is not.
func TestLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit  uint64
		killed bool
	}{{16 << 20, true}, {256 << 20, false}} {
		g := made(t)
		if err := g.Limit(test.limit); err != nil {
			t.Fatal(err)
		}
		args := g.Command("sh", "-c", "head -c 67108864 /dev/zero | tail -c 67108864 > /dev/null")
		err := exec.CommandContext(t.Context(), args[0], args[1:]...).Run()
		seen, readErr := g.Seen()
		if readErr != nil {
			t.Fatal(readErr)
		}
		if (err != nil) != test.killed || (seen.Killed > 0) != test.killed || seen.Reached != test.killed {
			t.Errorf("with %d bytes: %v, %+v", test.limit, err, seen)
		}
	}
}

// TestRemove leaves nothing behind, and removes what is gone.
func TestRemove(t *testing.T) {
	t.Parallel()
	g := made(t)
	for range 2 {
		if err := g.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(g.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// TestSeen reads the files of both versions.
func TestSeen(t *testing.T) {
	t.Parallel()
	one, two := versions()
	for _, test := range []struct {
		name    string
		version version
		files   map[string]string
		want    Seen
		err     string
	}{
		{"version 1", one, map[string]string{"memory.limit_in_bytes": "4096\n", "memory.max_usage_in_bytes": "4096\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}, Seen{true, 3}, ""},
		{"version 1, not reached", one, map[string]string{"memory.limit_in_bytes": "8192\n", "memory.max_usage_in_bytes": "4096\n", "memory.oom_control": "oom_kill 0\n"}, Seen{}, ""},
		{"version 2", two, map[string]string{"memory.events": "low 7\nhigh 8\nmax 12\noom 4\noom_kill 3\noom_group_kill 0\n"}, Seen{true, 3}, ""},
		{"version 2, not reached", two, map[string]string{"memory.events": "low 7\nhigh 8\nmax 0\noom 0\noom_kill 0\n"}, Seen{}, ""},
		{"old kernel", one, map[string]string{"memory.limit_in_bytes": "1\n", "memory.max_usage_in_bytes": "1\n", "memory.oom_control": "oom_kill_disable 0\n"}, Seen{}, "says nothing of oom_kill"},
	} {
		g := &Group{dir: t.TempDir(), version: test.version}
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

// TestLimitWritten writes what each version wants.
func TestLimitWritten(t *testing.T) {
	t.Parallel()
	one, two := versions()
	for v, want := range map[*version]map[string]string{
		&one: {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096"},
		&two: {"memory.max": "4096", "memory.swap.max": "0"},
	} {
		g := &Group{dir: t.TempDir(), version: *v}
		for name := range want {
			if err := os.WriteFile(filepath.Join(g.dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Limit(4096); err != nil {
			t.Fatal(err)
		}
		for name, content := range want {
			if got, err := os.ReadFile(filepath.Join(g.dir, name)); err != nil || string(got) != content {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
}
