package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/executable"
)

// writeConverter writes a script that is a webhook, right or wrong.
func writeConverter(t *testing.T, file, mode string) {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	executable.Write(t, file, fmt.Appendf(nil, "#!/bin/sh\nexec '%s' webhook %s \"$@\"\n", self, mode))
}

// watch starts a check of a program that goes on when files change.
func watch(t *testing.T, dir string, args ...string) *executable.Running {
	t.Helper()
	return startIn(t, dir, append(append([]string{"check", "--watch", "--generate", few, "--filter", "webhook.conversion.pure,webhook.response"}, args...), "--", "./converter", "{port}", "{certs}")...)
}

// ofAPIServer is the folder of the API server of a command that runs.
func ofAPIServer(t *testing.T, p *executable.Running) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.Temporary, "*", "etcd"))
	if check(t, err); len(found) != 1 {
		t.Fatalf("API servers: %v", found)
	}
	return found[0]
}

// TestWatch changes a converter that is watched: what failed is judged first, on the same API server. The exit code is that of the last run, and
// nothing is left.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "converter")
	writeConverter(t, file, "impure")
	p := watch(t, dir)
	p.Await(t, "waiting for changes; 1 failed")
	server := ofAPIServer(t, p)
	writeConverter(t, file, "serve")
	p.Await(t, "crdconform ")
	if line := p.Await(t, "[ 1/"); !strings.Contains(line, "Passed        webhook.conversion.pure") {
		t.Errorf("the first of the second run is %s", line)
	}
	p.Await(t, "waiting for changes; nothing failed")
	if again := ofAPIServer(t, p); again != server {
		t.Errorf("the API server is in %s, and was in %s", again, server)
	}
	writeConverter(t, file, "impure")
	p.Await(t, "waiting for changes; 1 failed")
	p.Signal(t, os.Interrupt)
	r := p.End()
	r.Exits(t, exitViolates)
	if runs := strings.Count(r.Out, "waiting for changes; "); runs != 3 || r.Err != "" {
		t.Errorf("%d runs:\n%s%s", runs, r.Out, r.Err)
	}
	if again := reportOf(t, r).Results[0].Rerun; strings.Contains(again, "watch") {
		t.Errorf("again: %s", again)
	}
	executable.Gone(t, p.Temporary)
}

// TestWatchBuilds builds the converter of which a source changes, and not because of what it has built. A build that fails is shown, and so is a
// definition that is wrong.
func TestWatchBuilds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, crd := filepath.Join(dir, "src", "converter.sh"), filepath.Join(dir, "crd.yaml")
	check(t, os.Mkdir(filepath.Dir(source), 0o700))
	writeConverter(t, source, "impure")
	right := string(read(t, "../../fixtures/definitions/reference.yaml"))
	check(t, os.WriteFile(crd, []byte(right), 0o600))
	const build = "echo building; ! grep broken src/* || exit 7; date +%N >src/generated; cp src/converter.sh converter"
	p := watch(t, dir, "--build", build, "--crd", "crd.yaml", "--api-server", "none", "--report-dir", "reports")
	p.Await(t, "waiting for changes; 1 failed")
	check(t, os.WriteFile(source, []byte("broken"), 0o600))
	p.Await(t, "FAILED "+build+": exit status 7")
	p.Await(t, "    building")
	p.Await(t, "src/converter.sh:broken")
	p.Await(t, "waiting for changes; the build failed")
	writeConverter(t, source, "serve")
	p.Await(t, "waiting for changes; nothing failed")
	check(t, os.WriteFile(crd, []byte("a: ["), 0o600))
	p.Await(t, "waiting for changes; nothing was judged")
	check(t, os.WriteFile(crd, []byte(right), 0o600))
	p.Await(t, "waiting for changes; nothing failed")
	p.Signal(t, os.Interrupt)
	r := p.End()
	r.Exits(t, exitConforms)
	if runs := strings.Count(r.Out, "waiting for changes; "); runs != 5 || !strings.HasPrefix(r.Err, "crdconform: --crd: crd.yaml:") || strings.Count(r.Err, "\n") != 1 {
		t.Errorf("%d runs:\n%s%s", runs, r.Out, r.Err)
	}
	executable.Gone(t, p.Temporary)
}

// TestWhatBuildsWrite distinguishes what a build writes from what is edited meanwhile, which causes another run.
func TestWhatBuildsWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("source", "a")
	write("product", "a")
	w, err := look(roots{names: []string{dir}, leaveOut: filepath.Join(dir, "reports"), products: map[string]bool{}})
	check(t, err)
	defer w.close()
	for i, build := range []struct {
		files  []string
		edited bool
	}{{[]string{"product", "new", ".hidden"}, false}, {[]string{"product", "new", "newer"}, false}, {[]string{"product", "source"}, true}, {nil, false}} {
		built := w.busy(true)
		for _, name := range build.files {
			write(name, strings.Repeat("b", i+2))
		}
		built()
		now, err := w.look()
		check(t, err)
		if edited := !maps.Equal(now, w.known); edited != build.edited {
			t.Errorf("build %d writes %v, and something was edited: %t", i, build.files, edited)
		}
	}
}
