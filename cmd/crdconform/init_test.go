package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/config"
)

// project makes a folder like that of a project with definitions in crds, and returns it.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "crds"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "crds", "widgets.yaml"), `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions: [{name: v1beta1, served: true, storage: false}, {name: v1, served: true, storage: true}]
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: system, name: widgets}}}}
`)
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestInitWritesAConfiguration(t *testing.T) {
	t.Parallel()
	dir := project(t)
	r := startIn(t, dir, "init", "crds").end()
	r.exits(t, exitConforms)
	if want := "crdconform: wrote crdconform.yaml; look through it, then run \"crdconform check\"\n"; r.out != want || r.err != "" {
		t.Errorf("it says %q and %q, want %q", r.out, r.err, want)
	}
	c, err := config.Read(filepath.Join(dir, config.FileName))
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.CRDFiles()
	if want := filepath.Join(dir, "crds", "widgets.yaml"); err != nil || len(files) != 1 || files[0] != want || c.Webhook.Source() != "fromCRD" {
		t.Errorf("got the files %v, %v and the webhook %s", files, err, c.Webhook.Source())
	}
	shown := startIn(t, dir, "config", "view").end()
	shown.exits(t, exitConforms)
	if !strings.Contains(shown.out, "\n    address: localhost:9443 # crdconform.yaml:") {
		t.Errorf("it shows\n%s", shown.out)
	}
}

// TestInitLeavesFilesAlone wants a file that is there to stay as it is, unless --force is given.
func TestInitLeavesFilesAlone(t *testing.T) {
	t.Parallel()
	dir := project(t)
	mine := filepath.Join(dir, config.FileName)
	put(t, mine, "mine")
	r := startIn(t, dir, "init", "crds").end()
	r.exits(t, exitUsage)
	if want := "crdconform: crdconform.yaml already exists; give --force to overwrite it, or --output to write elsewhere\n"; !strings.HasPrefix(r.err, want) {
		t.Errorf("it says %q", r.err)
	}
	if got := string(read(t, mine)); got != "mine" {
		t.Errorf("it wrote %q", got)
	}
	startIn(t, dir, "init", "crds", "--force").end().exits(t, exitConforms)
	if _, err := config.Read(mine); err != nil {
		t.Error(err)
	}
}

// TestInitElsewhere wants names to be relative to the file that is written, or whole where they were given so.
func TestInitElsewhere(t *testing.T) {
	t.Parallel()
	dir := project(t)
	if err := os.Mkdir(filepath.Join(dir, "deploy"), 0o755); err != nil {
		t.Fatal(err)
	}
	startIn(t, dir, "init", "crds/*.yaml", "--output", "deploy/c.yaml").end().exits(t, exitConforms)
	whole := filepath.Join(dir, "crds")
	startIn(t, dir, "init", whole, "-o", "deploy/d.yaml").end().exits(t, exitConforms)
	for name, want := range map[string]string{"c.yaml": "../crds/*.yaml", "d.yaml": whole} {
		c, err := config.Read(filepath.Join(dir, "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		if files, err := c.CRDFiles(); err != nil || len(files) != 1 || c.CRDs[0] != want {
			t.Errorf("%s: %v stands for %v, %v; want %s", name, c.CRDs, files, err, want)
		}
	}
	r := startIn(t, dir, "init", "crds", "--output", "-").end()
	r.exits(t, exitConforms)
	if _, err := config.Parse("out", []byte(r.out)); err != nil || !strings.Contains(r.out, "\n  - crds\n") {
		t.Errorf("%v\nin\n%s", err, r.out)
	}
	if _, err := os.Stat(filepath.Join(dir, config.FileName)); err == nil {
		t.Error("it wrote a file besides")
	}
}

func TestInitUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"init":                          "init requires the files or folders with your CustomResourceDefinitions, such as config/crd/bases",
		"init missing":                  "there is no file missing",
		"init *.json":                   "no file matches *.json",
		"init empty":                    "no .yaml, .yml or .json file in empty",
		"init crds [":                   `"[" is not a pattern; a [ needs a ]`,
		"init crds broken.yaml":         "broken.yaml: document 1: it is not a Kubernetes object in YAML: ",
		"init crds other.yaml":          "other.yaml: it contains no CustomResourceDefinition",
		"init crds --output nowhere/c":  "--output: open nowhere/c: no such file or directory",
		"init crds --output empty":      "--output empty: a folder; give a file, such as empty/crdconform.yaml",
		"init crds -f":                  "unknown shorthand flag: 'f'",
		"init crds -o empty --force":    "--output empty: a folder",
		"init crds -o other.yaml":       "other.yaml already exists",
		"init crds/widgets.yaml -o -  ": "the name of a file is empty; give one",
	} {
		dir := project(t)
		put(t, filepath.Join(dir, "broken.yaml"), "a: [\n")
		put(t, filepath.Join(dir, "other.yaml"), "kind: ConfigMap\n")
		if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
			t.Fatal(err)
		}
		r := startIn(t, dir, strings.Split(args, " ")...).end()
		r.exits(t, exitUsage)
		if !strings.HasPrefix(r.err, "crdconform: ") || !strings.Contains(r.err, want) || !strings.HasSuffix(r.err, "crdconform: see \"crdconform init --help\"\n") || r.out != "" {
			t.Errorf("%s: it says %q and %q, want %q", args, r.err, r.out, want)
		}
		if _, err := os.Stat(filepath.Join(dir, config.FileName)); err == nil {
			t.Errorf("%s: it wrote a file", args)
		}
	}
}

func TestInitThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := project(t)
	for _, err := range []error{syscall.ENOSPC, syscall.EPIPE} {
		var said strings.Builder
		want := map[error]int{syscall.ENOSPC: exitUnjudged, syscall.EPIPE: exitConforms}[err]
		args := []string{"init", filepath.Join(dir, "crds"), "--output", "-"}
		if code := execute(t.Context(), args, streams{out: broken{err}, err: &said}); code != want {
			t.Errorf("%v: exit code %d, want %d: %s", err, code, want, said.String())
		}
	}
	i := &initializer{output: "/dev/full", force: true}
	err := i.save([]byte("x"))
	var exit *exitError
	if _, missing := os.Stat("/dev/full"); missing == nil && (!errors.As(err, &exit) || exit.code != exitUnjudged) {
		t.Errorf("on a full disk: %v", err)
	}
}
