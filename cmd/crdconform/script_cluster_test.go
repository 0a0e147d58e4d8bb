package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/crdconform/crdconform/internal/test/lab"
	"github.com/crdconform/crdconform/internal/test/subjects"
)

// clusterCommands are the commands of scripts that need an API server, or start several, or are about flags of them.
func clusterCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"assets":     assets,
		"cluster":    lab.Script,
		"forms":      allForms,
		"interrupts": interrupts,
		"onpath":     onPath,
		"upgrade":    upgrade,
	}
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
