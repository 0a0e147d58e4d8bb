package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/config"
)

const configHead = "apiVersion: crdconform.dev/v1alpha1\nkind: Config\n"

func TestConfigView(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startIn(t, dir, "config", "view").end()
	r.exits(t, exitConforms)
	if !strings.HasPrefix(r.out, "# There is no crdconform.yaml here; \"crdconform init CRD...\" writes one.\n") || !strings.Contains(r.out, "\nreportDir: crdconform-report # default\n") {
		t.Errorf("without a file it shows\n%s", r.out)
	}
	put(t, filepath.Join(dir, config.FileName), configHead+"reportDir: out\n")
	put(t, filepath.Join(dir, "other.yaml"), configHead+"\nreportDir: other\n")
	for want, args := range map[string][]string{
		"\nreportDir: out # crdconform.yaml:3\n": {"config", "view"},
		"\nreportDir: other # other.yaml:4\n":    {"config", "view", "--config", "other.yaml"},
	} {
		r := startIn(t, dir, args...).end()
		r.exits(t, exitConforms)
		if !strings.Contains(r.out, want) || !strings.Contains(r.out, "\nstrict: false # default\n") || r.err != "" {
			t.Errorf("%v shows\n%s%s", args, r.out, r.err)
		}
		if _, err := config.Parse("view", []byte(r.out)); err != nil {
			t.Errorf("%v shows no configuration: %v", args, err)
		}
	}
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	if got := inside(t, "config", "schema"); got != string(config.Schema()) {
		t.Errorf("it prints %.200s", got)
	}
}

func TestConfigAlone(t *testing.T) {
	t.Parallel()
	if got := inside(t, "config"); got != inside(t, "config", "--help") || !strings.Contains(got, "  view ") {
		t.Errorf("it says\n%s", got)
	}
}

func TestConfigUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"config vieww":                      `unknown command "vieww" for "crdconform config"; did you mean view?`,
		"config nonsense":                   `unknown command "nonsense" for "crdconform config"`,
		"config view x":                     "view takes no arguments, but got x",
		"config schema x":                   "schema takes no arguments, but got x",
		"config view --config missing.yaml": `missing.yaml: file does not exist; "crdconform init CRD..." writes one`,
		"config view --config .":            ". is a folder; give the configuration file in it, such as ./crdconform.yaml",
		"config view":                       "crdconform.yaml:3:1: strikt: unknown key; did you mean strict?\n  3 | strikt: true\n      ^\ncrdconform.yaml:4:7: crds: want a list",
		"config view --conf x":              "unknown flag --conf; did you mean --config?",
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, config.FileName), configHead+"strikt: true\ncrds: a\n")
		r := startIn(t, dir, strings.Split(args, " ")...).end()
		r.exits(t, exitUsage)
		if !strings.HasPrefix(r.err, "crdconform: "+want) || !strings.Contains(r.err, "\ncrdconform: see \"crdconform config") || r.out != "" {
			t.Errorf("%s: it says %q and %q, want %q", args, r.err, r.out, want)
		}
	}
}

// TestConfigIsNotRead wants a file that is there to be told of even if it cannot be read.
func TestConfigIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, config.FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	r := startIn(t, dir, "config", "view").end()
	r.exits(t, exitUsage)
	if !strings.Contains(r.err, "crdconform.yaml is a folder") {
		t.Errorf("it says %q", r.err)
	}
}

func TestConfigThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"config view", "config schema"} {
		var said strings.Builder
		if code := execute(t.Context(), strings.Fields(args), streams{out: broken{syscall.ENOSPC}, err: &said}); code != exitUnjudged {
			t.Errorf("%s on a full disk: exit code %d: %s", args, code, said.String())
		}
	}
}
