package delivery

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tiers are the tiers of tests, each by the build tag of its files: make test, what make test-all has beyond, and make test-kind.
var tiers = []string{"", "nightly", "kind"}

// declared matches the functions that the go command runs.
var declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)(?:[^a-z(]\w*)?)\(`)

// TestEveryTestHasATier fails if there is a test that no tier compiles, or that a tier's target in the Makefile leaves out.
func TestEveryTestHasATier(t *testing.T) {
	t.Parallel()
	compiled := map[string]bool{}
	for _, tier := range tiers {
		const files = `{{$dir := .Dir}}{{range .TestGoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`
		before := len(compiled)
		for file := range strings.Lines(goCommand(t, "list", "-tags", tier, "-f", files, "./...")) {
			compiled[strings.TrimSpace(file)] = true
		}
		if len(compiled) == before {
			t.Errorf("the tier %q has no test files of its own", tier)
		}
	}
	for file, tests := range testsBySource(t) {
		if len(tests) > 0 && !compiled[file] {
			t.Errorf("no tier compiles %s with %s", file, strings.Join(tests, ", "))
		}
		source := string(read(t, strings.TrimPrefix(file, absolute(t)+"/")))
		if regexp.MustCompile(`^//go:build (nightly|kind)\n`).MatchString(source) && strings.Contains(source, "testing.Short()") {
			t.Errorf("%s looks at testing.Short, which make test-nightly and test-kind set to leave the other tests out", file)
		}
	}
	makefile := string(read(t, "Makefile"))
	if strings.Contains(makefile, " -skip") || !regexp.MustCompile(`(?m)^ALL .* \./\.\.\.$`).MatchString(makefile) {
		t.Error("the Makefile leaves tests out")
	}
	if !regexp.MustCompile(`(?m)^test:.*\n\t@\$\(MAKE\) .* test-race test-plain test-light$`).MatchString(makefile) {
		t.Error("make test does not run test-plain and test-race")
	}
	if !strings.Contains(makefile, "\ntest-light: ; cd gotest && $(TEST) ./...\n") {
		t.Error("make test does not run the tests of the module gotest")
	}
	for _, target := range []string{"test-plain", "test-short", "test-nightly"} {
		recipe := regexp.MustCompile(`(?m)^` + target + `:(.*\n\t| ; )\$\(TEST\) .*\$\(ALL\)$`).FindString(makefile)
		if recipe == "" || strings.Contains(recipe, "-run") {
			t.Errorf("make %s does not run all: %q", target, recipe)
		}
	}
}

// testsBySource returns the names of the tests of each file.
func testsBySource(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	err := filepath.WalkDir(absolute(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			_, module := os.Stat(filepath.Join(path, "go.mod"))
			if name == "testdata" || strings.HasPrefix(name, ".") || module == nil && path != absolute(t) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, match := range declared.FindAllSubmatch(source, -1) {
			if function := string(match[1]); function != "TestMain" {
				tests[path] = append(tests[path], function)
			}
		}
		return err
	})
	if err != nil || len(tests) < 100 {
		t.Fatalf("%d files with tests, %v", len(tests), err)
	}
	return tests
}

// goCommand runs the go command in the root of the repository.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = absolute(t)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestReportsAreReadAlone has packages that read and render reports link none of the libraries that run something: clients, API servers,
// Ginkgo and vegeta.
func TestReportsAreReadAlone(t *testing.T) {
	t.Parallel()
	linked := strings.Fields(goCommand(t, "list", "-deps", "./reports", "./internal/reporter", "./internal/explanation"))
	if !slices.Contains(linked, "sigs.k8s.io/yaml") {
		t.Fatalf("%d packages, without the one that reads YAML", len(linked))
	}
	for _, path := range linked {
		if regexp.MustCompile(`^(k8s\.io|github\.com/(onsi|tsenart))/`).MatchString(path) {
			t.Errorf("reports link %s", path)
		}
	}
}
