package files

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// helped is how the test runs itself, to be killed.
const helped = "CRDCONFORM_TEST_TEMPORARY"

// TestMain makes a folder and waits to be killed, if the environment says where.
func TestMain(m *testing.M) {
	if in := os.Getenv(helped); in != "" { //nolint:forbidigo // it is for this test alone
		if _, err := TemporaryDir(in, "killed-"); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("made\n")
		<-time.After(time.Hour) // waiting for ever would be a deadlock, which ends it
	}
	m.Run()
}

// TestLeft finds the folder of a process when it is killed, and not before, and nothing else.
func TestLeft(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program)
	child.Env = append(os.Environ(), helped+"="+in)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	own, err := TemporaryDir(in, "")
	if err != nil {
		t.Fatal(err)
	}
	here, err := self()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]owner{
		"crdconform-elsewhere": {Host: here.Host + "x", Boot: here.Boot, Namespace: here.Namespace, Process: 1 << 30, Started: "1"},
		"crdconform-namesake":  {Host: here.Host, Boot: here.Boot + "x", Namespace: here.Namespace, Process: 1 << 30, Started: "1"},
		"crdconform-container": {Host: here.Host, Boot: here.Boot, Namespace: "pid:[1]", Process: 1 << 30, Started: "1"},
		"crdconform-nobody":    {Host: here.Host, Boot: here.Boot, Namespace: here.Namespace, Started: "1"},
		"another-program":      {Host: here.Host, Boot: here.Boot, Namespace: here.Namespace, Process: 1 << 30, Started: "1"},
	} {
		put(t, filepath.Join(in, name), o)
	}
	if err := os.Mkdir(filepath.Join(in, "crdconform-without-note"), 0o700); err != nil {
		t.Fatal(err)
	}
	if left, err := Left(in); err != nil || len(left) != 0 {
		t.Errorf("while the process runs: %v, %v", left, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	left, err := Left(in)
	if err != nil || len(left) != 1 || left[0].Created.IsZero() {
		t.Fatalf("when it was killed: %v, %v", left, err)
	}
	if err := left[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
	if left, err = Left(in); err != nil || len(left) != 0 {
		t.Errorf("at the end: %v, %v", left, err)
	}
	if left, err = Left(filepath.Join(in, "missing")); err != nil || len(left) != 0 {
		t.Errorf("where there is nothing: %v, %v", left, err)
	}
}

// TestUnknown does not take for ended what cannot be known.
func TestUnknown(t *testing.T) {
	t.Parallel()
	here, err := self()
	if err != nil {
		t.Fatal(err)
	}
	if here.Started == "" {
		t.Skip("this system does not say when processes were started")
	}
	unknown := here
	unknown.Process, unknown.Started = 1<<30, ""
	if unknown.isGone() {
		t.Error("a process of which the start is not known counts as ended")
	}
	unknown.Started = here.Started
	if !unknown.isGone() {
		t.Error("a process that there is not counts as running")
	}
}

// TestRemovedInPart keeps the note of a folder of which something cannot be removed.
func TestRemovedInPart(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	dir, err := TemporaryDir(in, "")
	if err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dir, "data")
	if err := os.MkdirAll(filepath.Join(inside, "deeper"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Nobody removes what is mounted, nor an ordinary user what is in a folder that may not be written to.
	if os.Getuid() == 0 {
		t.Skip("root may remove everything")
	}
	if err := os.Chmod(inside, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(inside, 0o700) }) //nolint:gosec // it is a folder
	if err := (Leftover{Path: dir}).Remove(); err == nil {
		t.Error("it was removed")
	}
	if _, err := os.Stat(filepath.Join(dir, note)); err != nil {
		t.Error(err)
	}
}

// TestReused has another process with the ID of one that has ended.
func TestReused(t *testing.T) {
	t.Parallel()
	here, err := self()
	if err != nil {
		t.Fatal(err)
	}
	if here.Started == "" {
		t.Skip("this system does not say when processes were started")
	}
	in := t.TempDir()
	here.Started += "0"
	put(t, filepath.Join(in, "crdconform-1"), here)
	if left, err := Left(in); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func put(t *testing.T, dir string, o owner) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, note), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNoFolderForTemporaryFiles names the variable that is wrong.
func TestNoFolderForTemporaryFiles(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	if dir, err := TemporaryDir("", ""); err == nil || !strings.Contains(err.Error(), "in "+missing+" (") || !strings.Contains(err.Error(), "; set TMPDIR to ") {
		t.Errorf("got %q, %v", dir, err)
	}
}
