package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
)

// refuses runs a command line that is mistaken: refuses 'MESSAGE' ARGUMENT... It must say so on one line that begins with the message,
// lead to the help of its command, print nothing else, and end before it leaves a file.
func refuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: refuses 'MESSAGE' ARGUMENT...")
	}
	before, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	ends(ts, exitUsage, args[1:])
	message, help, _ := strings.Cut(fmt.Sprint(ts.Stderr()), "\n")
	if at := like("crdconform: " + args[0]).FindStringIndex(message); at == nil || at[0] > 0 {
		ts.Fatalf("it does not say %q", args[0])
	}
	root := newRoot(streams{})
	root.InitDefaultHelpCmd()
	named, _, _ := root.Find(args[1:])
	if want := fmt.Sprintf("crdconform: see \"%s --help\"\n", named.CommandPath()); help != want || fmt.Sprint(ts.Stdout()) != "" {
		ts.Fatalf("after that it does not say only %q", want)
	}
	if after, err := os.ReadDir(ts.MkAbs(".")); err != nil || len(after) != len(before) {
		ts.Fatalf("it began: %v, %v", after, err)
	}
}

// shows runs a command line that says something: shows [CODE] 'TEXT' ARGUMENT... The text may begin on the standard output, and must go on
// or begin on the standard error if anything is there.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: shows [CODE] 'TEXT' ARGUMENT...")
	}
	code, err := strconv.Atoi(args[0])
	if err == nil {
		args = args[1:]
	}
	ends(ts, code, args[1:])
	out, errs := fmt.Sprint(ts.Stdout()), fmt.Sprint(ts.Stderr())
	if text := like(args[0]); !text.MatchString(out+errs) || errs != "" && (code == exitConforms || text.MatchString(out)) {
		ts.Fatalf("it does not say only %q", args[0])
	}
}

// like matches what has a text, in which … stands for anything and \n for the end of a line.
func like(text string) *regexp.Regexp {
	return regexp.MustCompile("(?s)" + strings.NewReplacer("…", ".*", `\\n`, `\n`).Replace(regexp.QuoteMeta(text)))
}

// replaced replaces the first of each old text by a new one.
func replaced(t failer, text string, pairs []string) string {
	for ; len(pairs) > 1; pairs = pairs[2:] {
		if !strings.Contains(text, pairs[0]) {
			t.Fatalf("there is no %q to replace", pairs[0])
		}
		text = strings.Replace(text, pairs[0], pairs[1], 1)
	}
	return text
}

// stores writes a report as a run does, after texts in it are replaced: stores FROM.yaml FOLDER [OLD NEW]...
func stores(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args)%2 != 0 {
		ts.Fatalf("usage: stores FROM.yaml FOLDER [OLD NEW]...")
	}
	store(ts, ts.MkAbs(args[1]), ts.ReadFile(args[0]), args[2:]...)
}

// store writes a report in YAML to a folder as a run does, after texts in it are replaced.
func store(t failer, dir, text string, pairs ...string) {
	var report reports.Report
	check(t, yaml.UnmarshalStrict([]byte(replaced(t, text, pairs)), &report))
	reporter.Conclude(&report)
	folder, err := reporter.Open(dir)
	check(t, err)
	check(t, folder.Write(&report))
}

// testOf is the test that runs the script.
func testOf(ts *testscript.TestScript) *testing.T { return ts.Value("t").(scripted).T } //nolint:forcetypeassert // see runScripts

// interrupts interrupts a command line once its output matches: interrupts PATTERN ARGUMENT...
func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupts PATTERN ARGUMENT...")
	}
	pattern, err := regexp.Compile("(?s)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var said strings.Builder
	out := watching{io.MultiWriter(&said, ts.Stdout()), func() {
		if pattern.MatchString(said.String()) {
			cancel()
		}
	}}
	if code := commandLine(ctx, ts, out, ts.Stderr(), args[1:]); code != exitInterrupted {
		ts.Fatalf("exit code %d, want %d", code, exitInterrupted)
	}
}

// watching calls a function after whatever is written.
type watching struct {
	io.Writer
	then func()
}

func (w watching) Write(text []byte) (int, error) {
	defer w.then()
	return w.Writer.Write(text)
}

// assets makes folders of programs that end at once, of which no API server comes up, or what runColumn takes their names for:
// assets NAME...
func assets(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		ts.Check(makeAssets(ts.MkAbs(name)))
	}
}

// allForms fails unless all forms of the report in a folder agree: forms FOLDER.
func allForms(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: forms FOLDER")
	}
	reportIn(ts, ts.MkAbs(args[0]))
}

// onPath puts this program on the PATH as crdconform.
func onPath(ts *testscript.TestScript, _ bool, _ []string) {
	self, err := os.Executable()
	ts.Check(errors.Join(err, os.MkdirAll(ts.MkAbs("bin"), 0o755)))
	ts.Check(os.Symlink(self, ts.MkAbs("bin/crdconform")))
	ts.Setenv("PATH", ts.MkAbs("bin")+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	ts.Setenv(asProgram, "yes")
}

// upgrade builds a program and writes old.yaml and new.yaml to the folder of the script, as subjects.BuildReleases does. The variable
// PROGRAM is the path of the program.
func upgrade(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PROGRAM", subjects.BuildReleases(testOf(ts), ts.MkAbs(".")).Serve()[0])
}
