package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asKubectl runs a command line as kubectl does, and returns its exit code and what it wrote.
func asKubectl(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = execute(t.Context(), args, streams{out: &o, err: &e, plugin: true})
	return code, o.String(), e.String()
}

// TestPlugin wants the plugin to name itself as users call it.
func TestPlugin(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]bool{
		"/home/me/.krew/bin/kubectl-crdconform": true, "kubectl-crdconform.exe": true, "crdconform": false, "/opt/kubectl-crdconform/crdconform": false,
	} {
		if isPlugin(program) != want {
			t.Errorf("%s is taken for a plugin: %v", program, !want)
		}
	}
	_, help, _ := asKubectl(t, "--help")
	reads, others, _ := strings.Cut(help, "Everything else:")
	for _, name := range []string{"doctor", "storage", "check"} {
		if !strings.Contains(reads, "\n  "+name+" ") || strings.Contains(others, "\n  "+name+" ") {
			t.Errorf("%s is not among the first commands:\n%s", name, help)
		}
	}
	for _, args := range [][]string{{"--help"}, {"storage", "--help"}, {"storage", "safe-to-drop", "--help"}, {"lint", "--help"}, {"list", "--help"}} {
		_, help, _ := asKubectl(t, args...)
		for line := range strings.Lines(help) {
			if at := strings.Index(line, "crdconform "+args[0]); at >= 0 && !strings.HasSuffix(line[:at], "kubectl ") {
				t.Errorf("%q has the line %s", args, line)
			}
		}
		if !strings.Contains(help, "Usage:\n  kubectl crdconform") {
			t.Errorf("%q: %s", args, help)
		}
	}
	code, _, errs := asKubectl(t, "explain")
	if code != exitUsage || !strings.Contains(errs, `"kubectl crdconform list" shows them`) || !strings.Contains(errs, `see "kubectl crdconform explain --help"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code := execute(t.Context(), []string{"explain"}, streams{out: io.Discard, err: io.Discard}); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

// TestPluginTakesTheCurrentContext wants that of commands which only read, and of no others.
func TestPluginTakesTheCurrentContext(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: here, user: me}}],
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: me, user: {}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"storage status a.example.com --kubeconfig " + kubeconfig:                   "the cluster of the context here: ",
		"storage migrate a.example.com --kubeconfig " + kubeconfig:                  "no cluster specified",
		"storage status a.example.com --user you --kubeconfig " + kubeconfig:        `refers to the user "you"`,
		"storage status a.example.com --server http://h --kubeconfig " + kubeconfig: "is not https",
	} {
		if _, _, errs := asKubectl(t, strings.Fields(args)...); !strings.Contains(errs, want) {
			t.Errorf("%s: %s, want %s", args, errs, want)
		}
	}
	var errs strings.Builder
	execute(t.Context(), []string{"storage", "status", "a.example.com", "--kubeconfig", kubeconfig}, streams{out: io.Discard, err: &errs})
	if !strings.Contains(errs.String(), "no cluster specified") {
		t.Errorf("without kubectl: %s", errs.String())
	}
}

// TestManualPages wants a page for every command, with the date that was asked for.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	inside(t, "man", dir)
	for _, cmd := range commands() {
		if cmd.Hidden {
			continue
		}
		page := string(read(t, filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")))
		if !strings.Contains(page, `"Sep 2001"`) || !strings.Contains(page, "\n.SH NAME\n") {
			t.Errorf("the page of %s begins with %.300s", cmd.CommandPath(), page)
		}
	}
}
