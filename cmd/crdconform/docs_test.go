package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/test/executable"
)

// fenced is a block of a document, with its language.
var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// substituted is what a shell puts something else in the place of.
var substituted = regexp.MustCompile(`"?\$\([^)]*\)"?`)

// documents returns the guides by their names.
func documents(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	check(t, err)
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
			for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
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
				if program := slices.Index(words, "--"); program > 0 {
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

// usable returns the command of a command line, and fails when it is none that this program takes.
func usable(t *testing.T, words []string) *cobra.Command {
	t.Helper()
	cmd, rest, err := newRoot(streams{}).Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || !cmd.HasParent() {
		t.Errorf("%q: %v", words, err)
	}
	return cmd
}

// TestDeployedCommands wants every command line in the files for CI systems and clusters to be one that this program takes.
func TestDeployedCommands(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`(?m)\bcrdconform ([a-z]+ .*?)(?: >>| \|\||;|$)`)
	arguments := strings.NewReplacer("args: [", "crdconform ", ", --", " --", "]\n", "\n")
	for name, want := range map[string]int{"github-workflow.yaml": 4, "gitlab-ci.yaml": 4, "cronjob.yaml": 1} {
		n := 0
		for _, found := range line.FindAllStringSubmatch(arguments.Replace(string(read(t, "../../deploy/"+name))), -1) {
			if words := strings.Fields(found[1]); known(words[0]) {
				n++
				usable(t, words)
			}
		}
		if n != want {
			t.Errorf("%s has %d command lines, want %d", name, n, want)
		}
	}
}

func known(command string) bool {
	cmd, _, err := newRoot(streams{}).Find([]string{command})
	return err == nil && cmd.HasParent()
}

// notRun are the beginnings of those examples that TestExamplesWork does not run, with the reason.
func notRun() map[string]string {
	return map[string]string{
		"git clone":                            "needs the internet",
		"go get":                               "needs the internet",
		"cosign":                               "needs the internet",
		"go build -o bin/widgets":              "builds a program, and finds its bug",
		"crdconform check --watch":             "goes on until Ctrl-C, see TestWatch",
		"make build":                           "TestRehearse holds its output",
		"kubectl":                              "needs a cluster",
		"crdconform doctor":                    "needs a cluster",
		"crdconform storage migrate":           "needs a cluster",
		"crdconform cleanup":                   "needs a cluster",
		"crdconform run --api-server existing": "needs a cluster",
		"crdconform run --api-server envtest":  "needs setup-envtest",
		"crdconform run --api-server kind":     "needs Docker",
		"crdconform check --crd config/crd/bases --api-server kind": "needs Docker",
		"crdconform matrix --assets":                                "takes minutes",
		"crdconform matrix minors build":                            "takes minutes",
		"crdconform matrix --embedded":                              "takes minutes",
		"crdconform disrupt --crd":                                  "takes minutes",
		"crdconform disrupt --judge":                                "needs the histories of a disruption",
		"crdconform load https":                                     "takes a minute",
		"crdconform load --repeat":                                  "takes minutes",
	}
}

// TestExamplesWork runs the blocks of the documents that are for a console, apart from those that say why not, each in a copy of the same
// project: definitions in a repository of git, a program that converts their objects, and reports.
func TestExamplesWork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: some thirty command lines, each a process")
	}
	program := executable.Self(t, "crdconform")
	url, ca := serve(t, webhook.Handler(), nil)
	project := exampleProject(t, ca)
	here := strings.NewReplacer(
		"https://localhost:9443/convert", url, "bin/crdconform", "crdconform", "/var/lib/node_exporter/", "",
		"./bin/manager --webhook-cert-path", "./bin/manager --webhook-port={port} --webhook-cert-path", // another test may be at 9443
	)
	unused, n := notRun(), 0
	for name, text := range documents(t) {
		for _, block := range fenced.FindAllStringSubmatch(text, -1) {
			if block[1] != "console" || excused(block[2], unused) {
				continue
			}
			n++
			dir := t.TempDir()
			check(t, os.CopyFS(dir, os.DirFS(project)))
			if out, err := shellIn(t, dir, filepath.Dir(program), here.Replace(block[2])); err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, block[2], out)
			}
		}
	}
	for beginning, why := range unused {
		if why != "" {
			t.Errorf("no example begins with %s, which %s", beginning, why)
		}
	}
	if n < 12 {
		t.Errorf("%d examples", n)
	}
}

// excused reports whether an example is one of those that are not run, and takes the reason for used.
func excused(example string, reasons map[string]string) bool {
	for beginning := range reasons {
		if strings.HasPrefix(example, beginning) {
			reasons[beginning] = ""
			return true
		}
	}
	return false
}

// exampleProject makes the project that the examples are about.
func exampleProject(t *testing.T, ca string) string {
	t.Helper()
	dir := folder(t, map[string]string{
		// Nothing but the webhook is judged, as an API server takes seconds to start.
		"crdconform.yaml": configHead + "apiServer: none\nfilter: [webhook.response]\ngenerate: {objects: 2}\n",
		"ca.crt":          string(read(t, ca)),
	})
	self, err := os.Executable()
	check(t, err)
	for name, text := range map[string]string{
		"crontab.yaml":              "apiVersion: example.com/v1beta1\nkind: CronTab\nmetadata: {name: local}\nhostPort: localhost:1234\n",
		"config/crd/bases/crd.yaml": string(read(t, "testdata/gadgets.yaml")), "config/samples/gadgets.yaml": string(read(t, "testdata/gadget-samples.yaml")),
		"bin/manager": "#!/bin/sh\nexec " + shell.Quote(self) + ` webhook serve "${1#--webhook-port=}" "${2#--webhook-cert-path=}"` + "\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		executable.Write(t, path, []byte(text))
	}
	store(t, filepath.Join(dir, "tonight"), string(read(t, "testdata/repeats.yaml")), "results:", `started: "2026-01-02T00:00:00Z"`+"\nresults:")
	store(t, filepath.Join(dir, "last-night"), string(read(t, "testdata/repeats.yaml")), "results:", `started: "2026-01-01T00:00:00Z"`+"\nresults:")
	for _, name := range []string{"crdconform-report", "job-1", "job-2", "job-3", "v1.35", "v1.36", "v1.37"} {
		store(t, filepath.Join(dir, name), string(read(t, "testdata/report.yaml")))
	}
	if out, err := shellIn(t, dir, "", "git init -q -b main\ngit add .\ngit -c user.name=me -c user.email=me@example.com commit -qm first\ngit tag v1.4.0\n"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// shellIn runs a script in a folder, with the programs of another.
func shellIn(t *testing.T, dir, programs, script string) ([]byte, error) {
	t.Helper()
	sh := exec.CommandContext(t.Context(), "sh", "-c", "set -e\n"+script)
	sh.Dir = dir
	sh.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, asProgram + "=yes"} //nolint:forbidigo // for git
	return sh.CombinedOutput()
}
