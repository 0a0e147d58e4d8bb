package delivery

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// authored is a module of an author, who has the oldest Go that package gotest is for.
const authored = "module example.com/author\n\ngo 1.22\n"

// TestGotestAddsOneModule has an author require gotest, as a module proxy serves it: that is all that go.mod gets, and its Go stays.
func TestGotestAddsOneModule(t *testing.T) {
	t.Parallel()
	version := module.Version{Path: "github.com/crdconform/crdconform/gotest", Version: "v0.0.1"}
	proxy, author := t.TempDir(), t.TempDir()
	served := filepath.Join(proxy, filepath.FromSlash(version.Path), "@v", version.Version)
	for name, text := range map[string]string{
		served + ".info": `{"Version": "v0.0.1"}`, served + ".mod": string(read(t, "gotest/go.mod")), served + ".zip": "",
		filepath.Join(author, "go.mod"): authored, filepath.Join(author, "a_test.go"): string(read(t, "internal/test/delivery/testdata/author_test.txt")), filepath.Join(author, "crds", "a.yaml"): "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(served + ".zip")
	if err = errors.Join(err, zip.CreateFromDir(archive, version, filepath.Join(absolute(t), "gotest")), archive.Close()); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + filepath.Join(runtime.GOROOT(), "bin"), "HOME=" + author, "GOCACHE=" + strings.TrimSpace(goCommand(t, "env", "GOCACHE")), "CGO_ENABLED=0", //nolint:staticcheck // tests run where they were built
		"GOMODCACHE=" + t.TempDir(), "GOFLAGS=-modcacherw", "GOPROXY=file://" + proxy, "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off",
	}
	if out, code := ran(t, author, env, "go", "get", version.String()); code != 0 {
		t.Fatal(out)
	}
	got, err := os.ReadFile(filepath.Join(author, "go.mod"))
	if want := authored + "\nrequire " + version.Path + " v0.0.1 // indirect\n"; err != nil || string(got) != want {
		t.Errorf("%v, go.mod is\n%s\nwant\n%s", err, got, want)
	}
	if out, code := ran(t, author, env, "go", "test", "-v", "./..."); code != 0 || !strings.Contains(out, "--- SKIP: TestConversion") {
		t.Errorf("exit code %d: %s", code, out)
	}
	// The go command does not cache what has just been written.
	for i, name := range []string{"crds/a.yaml", "crds"} {
		if err := os.Chtimes(filepath.Join(author, name), time.Time{}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{false, true, false} {
		if i == 2 {
			if err := os.Chtimes(filepath.Join(author, "crds", "a.yaml"), time.Time{}, time.Unix(100, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if out, code := ran(t, author, env, "go", "test", "./..."); code != 0 || strings.Contains(out, "(cached)") != want {
			t.Errorf("run %d: cached is %t, exit code %d: %s", i, !want, code, out)
		}
	}
	if out, code := ran(t, author, append(env, "CI=true"), "go", "test", "./..."); code != 1 || !strings.Contains(out, "no crdconform to check the webhook with") {
		t.Errorf("in CI: exit code %d: %s", code, out)
	}
}
