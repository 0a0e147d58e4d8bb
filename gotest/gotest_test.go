package gotest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/gotest"
)

// The variables of a process that runs TestWebhook.
const (
	child   = "GOTEST_CHILD"   // it is one
	bug     = "GOTEST_BUG"     // of the converter
	program = "GOTEST_PROGRAM" // path of crdconform; without one it is looked for
	reports = "GOTEST_REPORTS" // folder for the report; without one that is temporary
	faked   = "GOTEST_FAKED"   // report.json that the fake of crdconform writes
	exits   = "GOTEST_EXITS"   // exit code of the fake
)

// TestMain has the test executable be the fake of crdconform too: see TestOutcomes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "check" {
		fake()
	}
	m.Run()
}

func variable(name string) string {
	return os.Getenv(name) //nolint:forbidigo // of a process that runs TestWebhook
}

// TestWebhook is a use of Check. Other tests run it, each in a process of its own, as it fails in most.
func TestWebhook(t *testing.T) {
	if variable(child) == "" {
		t.Skip("other tests run it")
	}
	gotest.Check(t, gotest.Webhook{
		CRD: "testdata/crd.yaml", Handler: converter{variable(bug)}, ReportDir: variable(reports), Program: variable(program),
		Args: []string{"--seed", "1", "--set", "generate.objects=3", "--api-server", "none", "--filter", "webhook.conversion.zero-values,webhook.response"},
	})
}

// webhook runs TestWebhook in a folder, with variables.
func webhook(t *testing.T, dir string, env ...string) (out string, passed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.Background(), self, "-test.run=^TestWebhook$", "-test.v")
	command.Dir = dir
	command.Env = append(append(os.Environ(), child+"=1", "CI="), env...)
	text, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), err == nil
}

// build builds the real program, which takes a linker seconds.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: it builds crdconform")
	}
	if _, err := os.Stat("../cmd/crdconform"); err != nil {
		t.Skip("the module is not in the repository of crdconform")
	}
	path := filepath.Join(t.TempDir(), "crdconform")
	command := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-w", "-o", path, "./cmd/crdconform")
	command.Dir = ".."
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestCheck checks webhooks with the real program.
func TestCheck(t *testing.T) {
	t.Parallel()
	path := build(t)
	const zero, uid = "TestWebhook/widgets.example.com/webhook.conversion.zero-values", "TestWebhook/widgets.example.com/webhook.response.uid"
	for name, test := range map[string]struct {
		env  []string
		want []string
		fail string // of all subtests, this one alone fails; with "all" many may, and with nothing none
	}{
		"without a bug":     {nil, []string{"--- PASS: " + zero, "--- PASS: " + uid, "seed 1, report: /"}, ""},
		"found on the PATH": {[]string{program + "=", "PATH=" + filepath.Dir(path)}, []string{"--- PASS: " + zero}, ""},
		"drops-zero":        {[]string{bug + "=drops-zero"}, []string{"--- FAIL: " + zero, "--- PASS: " + uid, "spec.size", "why it matters: "}, zero},
		"panics":            {[]string{bug + "=panics"}, []string{"the handler panicked:", "a bug of the handler", "webhook_test.go:"}, "all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, passed := webhook(t, ".", append([]string{program + "=" + path, "TMPDIR=" + dir}, test.env...)...)
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("there is no %q:\n%s", want, out)
				}
			}
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || passed != (test.fail == "") || passed != (len(left) == 0) {
				t.Errorf("passed is %t, %v, and it leaves %v:\n%s", passed, err, left, out)
			}
			if !passed {
				if _, err := os.Stat(filepath.Join(dir, filepath.Base(left[0]), "report.html")); err != nil || !strings.Contains(out, left[0]) {
					t.Errorf("%v, the report is not where it is said to be:\n%s", err, out)
				}
			}
			if failed := strings.Count(out, "--- FAIL: TestWebhook/widgets.example.com/"); test.fail == zero && failed != 1 {
				t.Errorf("%d subtests failed:\n%s", failed, out)
			}
		})
	}
}

// TestTool finds the program among the tools of a module.
func TestTool(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it builds crdconform")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Skip("the module is not in the repository of crdconform")
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/crdconform/crdconform"
	text := strings.Replace(string(module), "module "+path, "module example.com/author", 1) +
		"\ntool " + path + "/cmd/crdconform\nrequire " + path + " v0.0.0\nreplace " + path + " => " + root + "\n"
	crd, err := os.ReadFile("testdata/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string]string{"go.mod": text, "go.sum": string(sums), "testdata/crd.yaml": string(crd)} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if out, passed := webhook(t, dir, goOnly(t)); !passed || !strings.Contains(out, "--- PASS: TestWebhook/widgets.example.com/webhook.response.uid") {
		t.Error(out)
	}
}

// goOnly returns the variable PATH with the go command alone.
func goOnly(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(path, filepath.Join(dir, "go")); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir
}

// TestMissing has no program: that is a reason to skip, and in CI to fail.
func TestMissing(t *testing.T) {
	t.Parallel()
	const reason = "no crdconform to check the webhook with: it is neither on the PATH nor a tool of this module"
	for name, path := range map[string]string{"with the go command": goOnly(t), "with nothing": "PATH=" + t.TempDir()} {
		if out, passed := webhook(t, ".", path); !passed || !strings.Contains(out, "--- SKIP: TestWebhook") || !strings.Contains(out, reason) {
			t.Errorf("%s: passed is %t:\n%s", name, passed, out)
		}
		if out, passed := webhook(t, ".", path, "CI=true"); passed || !strings.Contains(out, reason) {
			t.Errorf("%s, in CI: passed is %t:\n%s", name, passed, out)
		}
	}
}

// TestOutcomes has a fake in place of crdconform, for reports and exit codes that no webhook has the real one come to reliably.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const head = `{"tool": "v1.2.3", "seed": 7, "started": "9999-01-01T00:00:00Z", "notes": ["a note"], `
	one := func(verdict string) string {
		return head + `"results": [{"id": "a.b.c", "subject": "x", "statement": "It holds.", "why": "It matters.", "verdict": "` + verdict + `", "reason": "the reason"}]}`
	}
	strict := strings.Replace(one("Tolerated"), head, head+`"strict": true, `, 1)
	const old = `{"started": "2020-01-01T00:00:00Z", "results": []}`
	for name, test := range map[string]struct {
		report, code string
		passed       bool
		want         string
	}{
		"passed":                {one("Passed"), "0", true, "--- PASS: TestWebhook/x/a.b.c"},
		"notes":                 {one("Passed"), "0", true, "crdconform: a note"},
		"not applicable":        {one("NotApplicable"), "0", true, "--- SKIP: TestWebhook/x/a.b.c"},
		"not judged":            {one("Unknown"), "3", false, "--- SKIP: TestWebhook/x/a.b.c"},
		"known":                 {one("KnownFailing"), "0", true, "known to fail: the reason"},
		"tolerated":             {one("Tolerated"), "0", true, "tolerated by API servers: It holds.\n        the reason"},
		"tolerated, strict":     {strict, "1", false, "--- FAIL: TestWebhook/x/a.b.c"},
		"failed":                {one("Failed"), "1", false, "It holds.\n        the reason\n        why it matters: It matters."},
		"errored":               {one("Errored"), "3", false, "--- FAIL: TestWebhook/x/a.b.c"},
		"of a later version":    {one("Nonsense"), "1", false, "--- FAIL: TestWebhook/x/a.b.c"},
		"broken without a word": {one("Passed"), "1", false, "could not judge all: exit code 1\n        the fake's words"},
		"not all judged":        {one("Passed"), "3", false, "could not judge all: exit code 3\n        the fake's words"},
		"usage":                 {"", "2", false, "wrote no report: exit code 2\n        the fake's words"},
		"usage, another report": {one("Passed"), "2", false, "wrote no report: exit code 2"},
		"the report of before":  {old, "3", false, "wrote no report: exit code 3"},
		"no report":             {"{", "0", false, "wrote no report: exit code 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, passed := webhook(t, ".", program+"="+self, reports+"="+dir, faked+"="+test.report, exits+"="+test.code)
			if passed != test.passed || !strings.Contains(out, test.want) {
				t.Errorf("passed is %t, want %t with %q:\n%s", passed, test.passed, test.want, out)
			}
		})
	}
}

// fake stands for crdconform: it writes a report, says something, and ends. With --wait it waits until it is interrupted.
func fake() {
	if slices.Contains(os.Args, "--wait") {
		interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		<-interrupted.Done()
		os.Stdout.WriteString("interrupted\n")
		os.Exit(130) //nolint:forbidigo,gocritic // it is a program
	}
	dir := ""
	for i, arg := range os.Args[:len(os.Args)-1] {
		if arg == "--report-dir" {
			dir = os.Args[i+1]
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(variable(faked)), 0o600); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("the fake's words\n")
	code, err := strconv.Atoi(variable(exits))
	if err != nil {
		panic(err)
	}
	os.Exit(code) //nolint:forbidigo // it is a program
}
