// Package delivery tests how crdconform reaches its users: the workflows, the GitHub Action with its scripts, and what a release is made of.
package delivery

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rhysd/actionlint"
	"golang.org/x/mod/modfile"
)

// root is the repository.
const root = "../../.."

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// linted lints a workflow as if it were one of the repository, so that actions of the repository are known.
func linted(t *testing.T, name string, workflow []byte) []string {
	t.Helper()
	path := absolute(t)
	project, err := actionlint.NewProject(path)
	if err != nil {
		t.Fatal(err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{WorkingDir: path})
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.Lint(filepath.Join(path, ".github", "workflows", name), workflow, project)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range found {
		all = append(all, e.Error())
	}
	return all
}

// workflows returns the files of the repository's own workflows.
func workflows(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("%v: %v", err, paths)
	}
	for i, path := range paths {
		paths[i] = filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
	}
	return paths
}

// TestWorkflows wants actionlint to find nothing.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	for _, name := range append(workflows(t), "deploy/github-workflow.yaml") {
		for _, problem := range linted(t, filepath.Base(name), read(t, name)) {
			t.Errorf("%s: %s", name, problem)
		}
	}
	if found := linted(t, "bad.yaml", []byte("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: 'echo ${{ github.nothing }}'}]}}\n")); len(found) == 0 {
		t.Error("actionlint does not find what is wrong in a workflow")
	}
}

// action is action.yml, with the keys that there are.
type action struct {
	Name, Description, Author string
	Branding                  struct{ Icon, Color string }
	Inputs                    map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Name, If, Shell, Run, Uses string
			With, Env                      map[string]string
		}
	}
}

// readAction reads action.yml, which may have no other keys.
func readAction(t *testing.T) action {
	t.Helper()
	var a action
	if err := yaml.UnmarshalWithOptions(read(t, "action.yml"), &a, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAction wants action.yml to have the keys of actions, and a workflow to be able to use it.
func TestAction(t *testing.T) {
	t.Parallel()
	a := readAction(t)
	for _, step := range a.Runs.Steps {
		if (step.Uses == "") == (step.Run == "") || (step.Run == "") != (step.Shell == "") {
			t.Errorf("the step %q uses %q and runs %q in %q", step.Name, step.Uses, step.Run, step.Shell)
		}
		// What somebody else can choose, such as the name of a branch, must not become a part of a script.
		if strings.Contains(step.Run, "${{") {
			t.Errorf("the step %q has an expression in its script; use env", step.Name)
		}
		parsed(t, "bash", step.Run)
	}
	use := func(with string) []byte {
		return []byte("on: pull_request\njobs: {crds: {runs-on: ubuntu-latest, steps: [{uses: actions/checkout@v4}, {uses: ./, with: {" + with + "}}]}}\n")
	}
	if found := linted(t, "use.yaml", use("version: v1.0.0, webhook: ./bin/manager")); len(found) > 0 {
		t.Errorf("a workflow that uses the action: %q", found)
	}
	for _, with := range []string{"webhook: a", "version: v1.0.0, nonsense: a"} {
		if len(linted(t, "use.yaml", use(with))) == 0 {
			t.Errorf("a workflow that uses the action with %s is fine", with)
		}
	}
}

// parsed wants a shell to be able to read a script.
func parsed(t *testing.T, shell, script string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), shell, "-n")
	command.Stdin = strings.NewReader(script)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %s\n%s", err, out, script)
	}
}

// script runs a script of the action, and returns what it wrote and its exit code.
func script(t *testing.T, env []string, name string, args ...string) (out string, code int) {
	t.Helper()
	dir := t.TempDir()
	return ran(t, dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, env...), //nolint:forbidigo // for the tools
		filepath.Join(absolute(t), "deploy", "action", name), args...)
}

// ran runs a program in a folder, and returns what it wrote and its exit code. It skips the test if a tool of the action is missing.
func ran(t *testing.T, dir string, env []string, program string, args ...string) (out string, code int) {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "git", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
				t.Fatal(err)
			}
			t.Skipf("%s is not installed", tool)
		}
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir, command.Env = dir, env
	text, err := command.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// absolute is the path of the repository.
func absolute(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// release serves an archive with a program that says its version.
func release(t *testing.T, spoiled bool) (url string, asked func() int) {
	t.Helper()
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	program := "#!/bin/sh\necho crdconform v1.2.3\n"
	if err := files.WriteHeader(&tar.Header{Name: "crdconform", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(files, program)
	files.Close()
	compressed.Close()
	name := fmt.Sprintf("crdconform_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	sums := fmt.Sprintf("%x  other.tar.gz\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(archive.Bytes()), name)
	content := archive.Bytes()
	if spoiled {
		content = append(slices.Clone(content), 0)
	}
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		mu.Unlock()
		switch r.URL.Path {
		case "/v1.2.3/checksums.txt":
			io.WriteString(w, sums)
		case "/v1.2.3/" + name:
			w.Write(content)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

// TestSetup installs a release, once, and nothing whose checksum differs.
func TestSetup(t *testing.T) {
	t.Parallel()
	url, asked := release(t, false)
	folder := t.TempDir()
	for range 2 {
		if out, code := script(t, []string{"CRDCONFORM_DOWNLOADS=" + url}, "setup", "v1.2.3", folder); code != 0 || out != "crdconform v1.2.3\n" {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
	if asked() != 2 {
		t.Errorf("%d downloads", asked())
	}
	out, code := script(t, []string{"CRDCONFORM_DOWNLOADS=" + url}, "setup", "v9.9.9", t.TempDir())
	if code != 1 || !strings.Contains(out, "check the version, v9.9.9") {
		t.Errorf("of a version that there is not: exit code %d: %s", code, out)
	}
	spoiled, _ := release(t, true)
	folder = t.TempDir()
	out, code = script(t, []string{"CRDCONFORM_DOWNLOADS=" + spoiled}, "setup", "v1.2.3", folder)
	if _, err := os.Stat(filepath.Join(folder, "bin")); code != 1 || !strings.Contains(out, "nothing was installed") || err == nil {
		t.Errorf("with another checksum: exit code %d: %s", code, out)
	}
}

// TestRun notes the exit code, and lets the job go on.
func TestRun(t *testing.T) {
	t.Parallel()
	output := filepath.Join(t.TempDir(), "output")
	for _, want := range []string{"0", "1", "3"} {
		if out, code := script(t, []string{"GITHUB_OUTPUT=" + output}, "run", "check", "sh", "-c", "exit "+want); code != 0 {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
	if text, err := os.ReadFile(output); err != nil || string(text) != "code=0\ncode=1\ncode=3\n" {
		t.Errorf("%v: %s", err, text)
	}
}

// TestSteps runs the scripts of action.yml in a repository, with a program in place of crdconform that prints its arguments.
func TestSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := "#!/bin/bash\nprintf '<%s>' crdconform \"$@\"\necho\nexit 1\n"
	for name, text := range map[string]string{"bin/crdconform": program, "crds/a.yaml": "{}", "more/b.yaml": "{}"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"PATH=" + filepath.Join(dir, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "GIT_CONFIG_NOSYSTEM=1", //nolint:forbidigo // for the tools
		"GITHUB_ACTION_PATH=" + absolute(t), "CRD=crds", "REPORT=out", "WEBHOOK=./new --port={port}", "OBJECTS=dump.yaml",
	}
	const commit = "git init -q && git add crds && git -c user.name=a -c user.email=a@example.com commit -qm a"
	if out, code := ran(t, dir, env, "bash", "-c", commit); code != 0 {
		t.Fatal(out)
	}
	rehearsed := "<crdconform><rehearse><--old><git://HEAD:crds><--crd><crds><--objects><dump.yaml>%s<--report-dir><out/rehearsal><--><./new><--port={port}>\n"
	for i, test := range []struct {
		step, env, out, output string // variables are separated by "; "
		code                   int
	}{
		{"lint", "OLD=HEAD", "<crdconform><lint><-o><github><--old><git://HEAD><crds>\n", "old=HEAD\ncode=1\n", 0},
		{"lint", "OLD=", "<crdconform><lint><-o><github><crds>\n", "old=\ncode=1\n", 0},
		{"lint", "OLD=gone", "git cannot fetch gone", "old=\ncode=1\n", 0},
		{"check", "FLAGS=--seed 1", "<crdconform><check><--crd><crds><--report-dir><out><--seed><1><--><./new><--port={port}>\n", "code=1\n", 0},
		{"rehearse", "OLD=HEAD", fmt.Sprintf(rehearsed, ""), "code=1\n", 0},
		{"rehearse", "OLD=HEAD; OLD_WEBHOOK=./old --port={port}", fmt.Sprintf(rehearsed, "<--old-program><./old --port={port}>"), "code=1\n", 0},
		{"rehearse", "OLD=", "there is no revision to upgrade from", "", 0},
		{"rehearse", "OLD=HEAD; CRD=more", "more is new since HEAD", "", 0},
		{"rehearse", "OLD=HEAD; CRD=crds more", "must be one file or folder, not 2", "code=2\n", 0},
		{"outcome", "CODES=0 3 1", "", "code=3\n", 3},
		{"outcome", "CODES=0  ", "", "code=0\n", 0},
	} {
		output := filepath.Join(dir, fmt.Sprint("output", i))
		own := append(slices.Clone(env), "GITHUB_OUTPUT="+output)
		out, code := ran(t, dir, append(own, strings.Split(test.env, "; ")...), "bash", "-eo", "pipefail", "-c", stepOf(t, test.step))
		written, err := os.ReadFile(output)
		if err != nil && test.output != "" {
			t.Error(err)
		}
		if code != test.code || !strings.Contains(out, test.out) || string(written) != test.output {
			t.Errorf("%s with %s: exit code %d: %s: %q, want %q and %q", test.step, test.env, code, out, written, test.out, test.output)
		}
	}
}

// stepOf returns the script of a step of the action.
func stepOf(t *testing.T, id string) string {
	t.Helper()
	for _, step := range readAction(t).Runs.Steps {
		if step.ID == id {
			return step.Run
		}
	}
	t.Fatalf("action.yml has no step %s", id)
	return ""
}

// TestAnnotate shows failures at the line of their definition.
func TestAnnotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	crd := filepath.Join(dir, "crd.yaml")
	report := `{"results": [
{"id": "a.b.c", "subject": "widgets.example.com", "verdict": "Failed", "reason": "50% is lost\nmore"},
{"id": "a.b.d", "subject": "widgets.example.com", "verdict": "Passed"},
{"id": "a.b.e", "verdict": "Errored", "reason": "no answer"},
{"id": "a.b.f", "subject": "widgets.example.com", "verdict": "Tolerated", "reason": "well"}]}`
	for name, text := range map[string]string{crd: "kind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com\n", filepath.Join(dir, "report.json"): report} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := script(t, nil, "annotate", dir, crd)
	if want := "::error file=" + crd + ",line=3,title=a.b.c::widgets.example.com: 50%25 is lost\n::error title=a.b.e::no answer\n"; code != 0 || out != want {
		t.Errorf("exit code %d: %s, want %s", code, out, want)
	}
	if out, code := script(t, nil, "annotate", t.TempDir(), crd); code != 0 || out != "" {
		t.Errorf("without a report: exit code %d: %s", code, out)
	}
}

// forge answers as GitHub does.
type forge struct {
	mu       sync.Mutex
	comments []map[string]any
	status   int // for writing
	tokens   map[string]bool
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens[r.Header.Get("Authorization")] = true
	var sent map[string]any
	json.NewDecoder(r.Body).Decode(&sent)
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("page") != "1" && len(f.comments) <= 100:
		io.WriteString(w, "[]")
	case r.Method == http.MethodGet:
		json.NewEncoder(w).Encode(f.comments)
	case f.status >= 400:
		w.WriteHeader(f.status)
	case r.Method == http.MethodPost && r.URL.Path == "/repos/me/mine/issues/7/comments":
		f.comments = append(f.comments, map[string]any{"id": 40 + len(f.comments), "body": sent["body"]})
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPatch:
		for _, c := range f.comments {
			if fmt.Sprintf("/repos/me/mine/issues/comments/%v", c["id"]) == r.URL.Path {
				c["body"] = sent["body"]
			}
		}
	}
}

// seen returns the comments and who sent requests.
func (f *forge) seen() (comments []map[string]any, tokens map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.comments {
		comments = append(comments, maps.Clone(c))
	}
	return comments, maps.Clone(f.tokens)
}

// refuse has all writes be refused from now on.
func (f *forge) refuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = http.StatusForbidden
}

// TestComment writes one comment, and changes it the next time; without a token that may, it succeeds without.
func TestComment(t *testing.T) {
	t.Parallel()
	f := &forge{comments: []map[string]any{{"id": 1, "body": "nice"}}, tokens: map[string]bool{}}
	server := httptest.NewServer(f)
	defer server.Close()
	dir := t.TempDir()
	event, push, summary := filepath.Join(dir, "event"), filepath.Join(dir, "push"), filepath.Join(dir, "summary.md")
	for name, text := range map[string]string{event: `{"pull_request": {"number": 7}}`, push: `{}`, summary: "# \"first\"\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(event, token string) []string {
		return []string{"GITHUB_EVENT_PATH=" + event, "GITHUB_TOKEN=" + token, "GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=me/mine"}
	}
	out, code := script(t, env(event, "secret"), "comment", summary)
	if comments, _ := f.seen(); code != 0 || len(comments) != 2 || comments[1]["body"] != "<!-- crdconform -->\n# \"first\"\n" {
		t.Errorf("exit code %d: %s: %v", code, out, comments)
	}
	if err := os.WriteFile(summary, []byte(strings.Repeat("second\n", 20000)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code = script(t, env(event, "secret"), "comment", summary)
	comments, tokens := f.seen()
	body, _ := comments[1]["body"].(string)
	if code != 0 || len(comments) != 2 || !strings.Contains(body, "second\n") || len(body) > 65536 || !strings.Contains(body, "the summary of the job has the rest") {
		t.Errorf("exit code %d: %s: %d comments, %d bytes", code, out, len(comments), len(body))
	}
	if !tokens["Bearer secret"] || len(tokens) != 1 || strings.Contains(out, "secret") {
		t.Errorf("it sent %v and printed %s", tokens, out)
	}
	f.refuse()
	for why, env := range map[string][]string{"may not write comments (status 403)": env(event, "fork"), "there is no token": env(event, ""), "this is no pull request": env(push, "secret")} {
		if out, code := script(t, env, "comment", summary); code != 0 || !strings.Contains(out, why) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", why, code, out)
		}
	}
}

// TestScripts wants shells to be able to read the scripts of pipelines.
func TestScripts(t *testing.T) {
	t.Parallel()
	documents := bytes.SplitN(read(t, "deploy/gitlab-component.yaml"), []byte("\n---\n"), 2)
	if len(documents) != 2 {
		t.Fatal("the component has no header")
	}
	var header struct {
		Spec struct {
			Inputs map[string]struct{ Default, Description string }
		}
	}
	var pipeline map[string]struct {
		Stage, Image string
		Rules        []struct{ If string }
		Variables    map[string]string
		Cache        struct {
			Key   string
			Paths []string
		}
		BeforeScript []string `yaml:"before_script"`
		Script       []string
		Artifacts    struct {
			When     string
			ExpireIn string `yaml:"expire_in"`
			ExposeAs string `yaml:"expose_as"`
			Paths    []string
			Reports  struct{ JUnit, CodeQuality string }
		}
	}
	for i, into := range []any{&header, &pipeline} {
		if err := yaml.UnmarshalWithOptions(documents[i], into, yaml.Strict()); err != nil {
			t.Fatal(err)
		}
	}
	job := pipeline["crdconform"]
	for _, line := range append(job.BeforeScript, job.Script...) {
		parsed(t, "sh", line)
	}
	for input := range header.Spec.Inputs {
		if !bytes.Contains(documents[1], []byte("$[[ inputs."+input+" ]]")) {
			t.Errorf("the input %s is not used", input)
		}
	}
	var hooks []struct{ ID, Name, Description, Entry, Language, Files, Exclude string }
	if err := yaml.UnmarshalWithOptions(read(t, ".pre-commit-hooks.yaml"), &hooks, yaml.Strict()); err != nil || len(hooks) != 2 {
		t.Errorf("%d hooks: %v", len(hooks), err)
	}
}

// TestRelease wants the files of a release to be there, and "go install" of a version to work, which refuses modules that replace others.
func TestRelease(t *testing.T) {
	t.Parallel()
	module, err := modfile.Parse("go.mod", read(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(module.Replace) > 0 || len(module.Exclude) > 0 {
		t.Errorf("go.mod replaces %d modules and excludes %d", len(module.Replace), len(module.Exclude))
	}
	for _, required := range module.Require {
		if strings.Contains(required.Mod.Path, "goreleaser") {
			t.Errorf("go.mod requires %s", required.Mod.Path)
		}
	}
	var config struct {
		Builds []struct {
			Main         string
			Flags        []string
			Ldflags      []string
			ModTimestamp string `yaml:"mod_timestamp"`
		}
		DockersV2 []struct{ Dockerfile string } `yaml:"dockers_v2"`
	}
	if err := yaml.Unmarshal(read(t, ".goreleaser.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	build := config.Builds[0]
	recipe := string(read(t, "Makefile"))
	for _, flag := range append(build.Flags, build.Ldflags...) {
		if !strings.Contains(recipe, flag) {
			t.Errorf("the Makefile does not build a release with %s, as .goreleaser.yaml does", flag)
		}
	}
	if build.ModTimestamp == "" || len(config.DockersV2) != 1 {
		t.Errorf("the times of files are %q, and there are %d images", build.ModTimestamp, len(config.DockersV2))
	}
	for _, name := range []string{build.Main, config.DockersV2[0].Dockerfile} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
}
