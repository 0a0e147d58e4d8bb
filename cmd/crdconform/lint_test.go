package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/lint"
)

// widgets is a definition in which nothing is wrong.
const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`

// inFolder returns a folder with definitions: good.yaml, warn.yaml, bad.yaml and others below it.
func inFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	warn := strings.Replace(widgets, "served: true", "served: false", 1)
	for name, text := range map[string]string{
		"good.yaml":          widgets,
		"warn.yaml":          warn,
		"bad.yaml":           strings.Replace(widgets, "storage: true", "storage: false", 1),
		"gone.yaml":          strings.Replace(widgets, "name: v1\n", "name: v2\n", 1),
		"tree/a/good.yml":    widgets,
		"tree/config.json":   "{}",
		"tree/broken.yaml":   "a: [\n",
		"tree/.git/bad.yaml": "kind: CustomResourceDefinition: [\n",
		"tree/notes.txt":     "CustomResourceDefinition: [\n",
		"empty/a.yaml":       "kind: ConfigMap\n",
		"helm.yaml":          "{{ if .Values.crds }}\n" + widgets + "{{ end }}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLint runs the program as users do, in a folder with definitions.
func TestLint(t *testing.T) {
	t.Parallel()
	dir := inFolder(t)
	absolute := filepath.Join(dir, "bad.yaml")
	for name, test := range map[string]struct {
		args     string
		code     int
		out, err string
	}{
		"nothing wrong":           {"good.yaml", 0, "1 definition in 1 file: 0 errors, 0 warnings, 0 notes\n", ""},
		"a warning":               {"warn.yaml", 0, "warn.yaml:9:3: warning: ", ""},
		"a warning that counts":   {"--strict warn.yaml", 1, "1 definition in 1 file: 0 errors, 1 warning, 0 notes\n", ""},
		"a warning left out":      {"--strict --disable no-version-served warn.yaml", 0, "0 warnings", ""},
		"an error":                {"bad.yaml good.yaml", 1, "bad.yaml:9:3: error: no version is the storage version; set storage: true for one of them [storage-version-count]\n2 definitions in 2 files: 1 error", ""},
		"an absolute name":        {absolute, 1, "\nbad.yaml:9:3: error: ", ""},
		"a name twice":            {"good.yaml ./good.yaml", 0, "1 definition in 1 file", ""},
		"a directory":             {"tree", 0, "1 definition in 1 file", ""},
		"a pattern":               {"[gb]?o?.yaml tree/a/*.yml", 0, "2 definitions in 2 files", ""},
		"an upgrade":              {"--old good.yaml gone.yaml", 1, "gone.yaml:9:3: error: the old definition stored objects at v1, which is missing", ""},
		"rules":                   {"--rules", 0, "\nnone-loses-fields ", ""},
		"no file":                 {"", 2, "", "lint requires files with definitions"},
		"rules and a file":        {"--rules good.yaml", 2, "", "only --rules"},
		"a missing file":          {"none.yaml", 2, "", "none.yaml: no such file"},
		"a missing old file":      {"--old none.yaml good.yaml", 2, "", "--old: none.yaml: no such file"},
		"a pattern for nothing":   {"x*.yaml", 2, "", "no file matches"},
		"a broken pattern":        {"[a", 2, "", "malformed pattern"},
		"a directory of nothing":  {"empty", 2, "", "empty: no .yaml, .yml or .json file below it has a CustomResourceDefinition"},
		"no definition":           {"empty/a.yaml", 2, "", "empty/a.yaml: it contains no CustomResourceDefinition"},
		"not YAML":                {"tree/broken.yaml", 2, "", "tree/broken.yaml:"},
		"a template":              {"helm.yaml", 2, "", "render it first"},
		"an unknown rule":         {"--disable storage-versions good.yaml", 2, "", "--disable storage-versions: unknown rule; did you mean storage-version-count"},
		"an unknown form":         {"--format xml good.yaml", 2, "", "--format xml: unknown format (want text, json, sarif or github)"},
		"rules in a form unknown": {"--rules --format sarif", 2, "", "rules are listed as text or json"},
		"nowhere to write":        {"--output none/out good.yaml", 2, "", "--output: "},
	} {
		r := startIn(t, dir, append([]string{"lint"}, strings.Fields(test.args)...)...).end()
		if r.code != test.code || !strings.Contains("\n"+r.out, test.out) || !strings.Contains(r.err, test.err) || (test.err == "") != (r.err == "") {
			t.Errorf("%s: exit code %d, want %d, %q and %q:\n%s%s", name, r.code, test.code, test.out, test.err, r.out, r.err)
		}
		if strings.Contains(r.out, "\x1b") {
			t.Errorf("%s: colours, but no terminal: %q", name, r.out)
		}
	}
}

func TestLintStandardInput(t *testing.T) {
	t.Parallel()
	p := prepare(t, t.TempDir(), "lint", "-")
	p.cmd.Stdin = strings.NewReader(strings.Replace(widgets, "group: example.com", "group: example.org", 1))
	p.cmd.Stdout = &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := p.end()
	r.exits(t, exitViolates)
	if !strings.HasPrefix(r.out, "stdin:4:3: error: ") {
		t.Errorf("it says %q", r.out)
	}
}

// TestLintForms writes each form to the output and to a file.
func TestLintForms(t *testing.T) {
	t.Parallel()
	dir := inFolder(t)
	for form, want := range map[string]string{"text": "bad.yaml:9:3", "json": `"file": "bad.yaml"`, "sarif": `"uri": "bad.yaml"`} {
		r := startIn(t, dir, "lint", "--format", form, filepath.Join(dir, "bad.yaml")).end()
		r.exits(t, exitViolates)
		if !strings.Contains(r.out, want) || strings.Contains(r.out, dir) || form != "text" && !json.Valid([]byte(r.out)) {
			t.Errorf("%s:\n%s", form, r.out)
		}
		filed := startIn(t, dir, "lint", "--format", form, "--output", "out", "bad.yaml").end()
		filed.exits(t, exitViolates)
		if got := string(read(t, filepath.Join(dir, "out"))); got != r.out || filed.out != "" {
			t.Errorf("%s: the file has %q, want %q, and the output %q", form, got, r.out, filed.out)
		}
	}
}

func TestLintColors(t *testing.T) {
	t.Parallel()
	dir := inFolder(t)
	for color, want := range map[bool]string{true: ": " + red + "error" + plain + ": ", false: ": error: "} {
		var out, errs strings.Builder
		code := execute(t.Context(), []string{"lint", filepath.Join(dir, "bad.yaml")}, streams{out: &out, err: &errs, color: color})
		if code != exitViolates || !strings.Contains(out.String(), want) || errs.String() != "" {
			t.Errorf("colour %t: %d, %q, %q", color, code, out.String(), errs.String())
		}
	}
}

func TestLintRules(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(inside(t, "lint", "--rules")), "\n")
	var rules []lint.Rule
	if err := json.Unmarshal([]byte(inside(t, "lint", "--rules", "--format", "json")), &rules); err != nil {
		t.Fatal(err)
	}
	all := lint.Rules()
	if len(lines) != len(all) || len(rules) != len(all) {
		t.Fatalf("%d lines and %d rules, want %d", len(lines), len(rules), len(all))
	}
	for i, rule := range all {
		if fields := strings.Fields(lines[i]); fields[0] != string(rule.ID) || fields[1] != string(rule.Level) || !strings.HasSuffix(lines[i], rule.Summary) || rules[i].ID != rule.ID || rules[i].Help != rule.Help {
			t.Errorf("%s is listed as %q and %+v", rule.ID, lines[i], rules[i])
		}
	}
}

// TestLintAgainstGit compares with a revision of git, and leaves out what has not changed.
func TestLintAgainstGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=me", "-c", "user.email=me@example.com"}, args...)...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	put("sub/crds/same.yaml", strings.ReplaceAll(strings.Replace(widgets, "storage: true", "storage: false", 1), "widgets", "gadgets"))
	put("sub/crds/widgets.yaml", widgets)
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-qm", "first")
	put("sub/crds/widgets.yaml", strings.Replace(widgets, "name: v1\n", "name: v2\n", 1))
	put("sub/new/new.yaml", strings.ReplaceAll(widgets, "widgets", "things"))
	for args, want := range map[string]struct {
		code     int
		out, err string
	}{
		"--old git://main --changed crds":                       {exitViolates, "1 definition in 1 file: 1 error", ""},
		"--old git://main --changed --format github crds":       {exitViolates, "::error file=crds/widgets.yaml,line=", ""},
		"--old git://main crds":                                 {exitViolates, "2 definitions in 2 files", ""},
		"--old git://main:sub/crds crds/widgets.yaml":           {exitViolates, "stored-version-removed", ""},
		"--old git://main --changed crds/same.yaml":             {exitConforms, "no definition has changed\n", ""},
		"--old git://main new":                                  {exitConforms, "1 definition in 1 file: 0 errors", ""},
		"--old git://other crds":                                {exitUsage, "", "git has no revision other"},
		"--old git://main:nowhere crds":                         {exitUsage, "", "there is no file with a CustomResourceDefinition in nowhere at main"},
		"--old git:// crds":                                     {exitUsage, "", "is not of the form git://REF"},
		"--changed --old crds crds":                             {exitUsage, "", "--changed requires --old git://REF"},
		"--old git://main " + filepath.Join(dir, "sub", "crds"): {exitUsage, "", "is not one relative to the working directory"},
	} {
		r := startIn(t, filepath.Join(dir, "sub"), append([]string{"lint"}, strings.Fields(args)...)...).end()
		if r.code != want.code || !strings.Contains(r.out, want.out) || !strings.Contains(r.err, want.err) || (want.err == "") != (r.err == "") {
			t.Errorf("%s: exit code %d, want %+v:\n%s%s", args, r.code, want, r.out, r.err)
		}
	}
}
