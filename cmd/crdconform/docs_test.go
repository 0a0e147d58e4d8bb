package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/reports"
)

// fenced is a block of a document, with what the line before it says.
var fenced = regexp.MustCompile("(?ms)(?:^<!-- (\\w+) -->\n)?^```(\\w*)\n(.*?)^```$")

// substituted is what a shell puts something else in the place of.
var substituted = regexp.MustCompile(`"?\$\([^)]*\)"?`)

// documents returns the guides by their names.
func documents(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range append(names, "../../README.md", "../../CONTRIBUTING.md") {
		all[filepath.Base(name)] = string(read(t, name))
	}
	return all
}

// TestDocumentedCommands wants every command line of the documents to be one that this program takes.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	n := 0
	for name, text := range documents(t) {
		for _, block := range fenced.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[3], "\\\n", " ")) {
				line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "bin/")
				line, _, _ = strings.Cut(substituted.ReplaceAllString(line, "x"), " #")
				line, _, _ = strings.Cut(line, " |")
				line, _, _ = strings.Cut(line, " > ")
				line = strings.TrimPrefix(line, "kubectl ")
				words, err := shell.Split(line)
				if err != nil {
					words = strings.Fields(line) // of output
				}
				// Others are output, which begins with the name of the program, too.
				if len(words) < 2 || words[0] != "crdconform" || !known(words[1]) {
					continue
				}
				n++
				if program := indexOf(words, "--"); program > 0 {
					words = words[:program]
				}
				usable(t, words[1:])
				if t.Failed() {
					t.Fatalf("%s has the line %s", name, line)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("%d command lines were found", n)
	}
}

func known(command string) bool {
	cmd, _, err := newRoot(streams{}).Find([]string{command})
	return err == nil && cmd.HasParent()
}

func indexOf(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return -1
}

// TestExamplesWork runs the blocks of the documents that are marked as examples, each in a folder with a report, the report of another
// night, and definitions in a repository of git.
func TestExamplesWork(t *testing.T) {
	t.Parallel()
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, text := range documents(t) {
		for _, block := range fenced.FindAllStringSubmatch(text, -1) {
			if block[1] != "example" {
				continue
			}
			n++
			dir := t.TempDir()
			for folder, report := range map[string]string{
				"crdconform-report": stored(t, asItIs),
				"last-night":        stored(t, func(r *reports.Report) { r.Started = r.Started.AddDate(0, 0, -1) }),
			} {
				if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(report)); err != nil {
					t.Fatal(err)
				}
			}
			bases := filepath.Join(dir, "config", "crd", "bases")
			if err := os.MkdirAll(bases, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(bases, "crd.yaml"), read(t, "../../internal/test/subjects/kubebuilder/crd.yaml"), 0o600); err != nil {
				t.Fatal(err)
			}
			script := "set -e\ngit init -q -b main\ngit add .\ngit -c user.name=me -c user.email=me@example.com commit -qm first\n" + block[3]
			sh := exec.CommandContext(t.Context(), "sh", "-c", script)
			sh.Dir = dir
			sh.Env = []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir} //nolint:forbidigo // for git
			if out, err := sh.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, block[3], out)
			}
		}
	}
	if n < 3 {
		t.Errorf("%d examples", n)
	}
}
