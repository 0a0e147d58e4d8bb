package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/internal/test/lab"
)

var update = flag.Bool("update", false, "write what the tests get over what they compare it with in testdata")

// TestScripts runs testdata/script.
func TestScripts(t *testing.T) { runScripts(scripted{t, false}, "testdata/script") }

// TestServerScripts runs testdata/script/server, whose scripts wait for API servers and programs more than they compute.
func TestServerScripts(t *testing.T) {
	t.Parallel()
	runScripts(scripted{t, true}, "testdata/script/server")
}

// runScripts runs the scripts of a folder: each file has command lines, what they print, and the files that they read. The commands of this
// package are below; those of testscript itself are at https://pkg.go.dev/github.com/rogpeppe/go-internal/testscript.
func runScripts(t scripted, dir string) {
	t.Helper()
	testscript.RunT(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			temporary, err := os.MkdirTemp("", "c-") // sockets have short names
			if err != nil {
				return err
			}
			e.Defer(func() {
				left, err := os.ReadDir(temporary)
				if err = errors.Join(err, os.RemoveAll(temporary)); err != nil || len(left) > 0 {
					e.T().Fatal("left among temporary files: ", left, err)
				}
				if left := executable.In(e.WorkDir); len(left) > 0 {
					e.T().Fatal("left running: ", left)
				}
			})
			e.Values["t"] = e.T()
			e.Setenv("TMPDIR", temporary)
			home := filepath.Join(e.WorkDir, ".home") // controller-runtime puts a folder into it whenever a program begins
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			e.Setenv("HOME", home)
			module, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			e.Setenv("MODULE", module)
			return scriptVariables(e, module)
		},
		Condition: func(condition string) (bool, error) { return condition == "short" && testing.Short(), nil },
		Cmds:      scriptCommands(),
	})
}

// scriptCommands are the commands of scripts beside those of testscript itself.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"crdconform": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("exits names the exit code of a command that fails")
			}
			ends(ts, exitConforms, args)
		},
		// golden stdout|stderr NAME: what was printed is what a file of testdata/golden has.
		"golden": func(ts *testscript.TestScript, _ bool, args []string) { golden(ts, args[1], ts.ReadFile(args[0])) },
		"gone":   func(ts *testscript.TestScript, _ bool, _ []string) { executable.Gone(testOf(ts), ts.Getenv("TMPDIR")) },
		"load": func(ts *testscript.TestScript, neg bool, args []string) {
			attempt(ts, neg, slices.Insert(slices.Clone(args), 1, "load"))
		},
		"again": again, "assets": assets, "attempt": attempt, "behaving": behaving, "caller": caller, "cluster": lab.Script, "exits": exits, "forms": allForms,
		"interrupt": interruptRecord, "interrupts": interrupts, "onpath": onPath, "record": beginRecord, "refuses": refuses, "report": wantReport,
		"send": send, "shows": shows, "stores": stores, "touched": touched, "unreached": unreached, "upgrade": upgrade, "verdicts": wantVerdicts, "webhook": reference,
	}
	maps.Copy(commands, lab.Files())
	return commands
}

// golden compares a text with a file of testdata/golden, or writes it there if -update is given.
func golden(t failer, name, got string) {
	path := filepath.Join("testdata", "golden", name)
	if *update {
		check(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if got != string(want) {
		t.Fatalf("%s has\n%s\nand not\n%s", name, want, got)
	}
}

// scripted is a script, or all of a folder. By default its command lines run in this process, which takes the least time; they share its
// working directory and its environment, so that no script runs beside another. Otherwise each command line is a process, and scripts are
// parallel.
type scripted struct {
	*testing.T

	processes bool
}

func (t scripted) Parallel() {
	if t.processes {
		t.T.Parallel()
	}
}

func (t scripted) Run(name string, script func(testscript.T)) {
	t.T.Run(name, func(sub *testing.T) { script(scripted{sub, t.processes}) })
}

func (t scripted) Verbose() bool { return testing.Verbose() }

// exits runs a command line that must end with an exit code: exits CODE crdconform [<FILE] ARGUMENT...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "crdconform" {
		ts.Fatalf("usage: exits CODE crdconform [<FILE] ARGUMENT...")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	ends(ts, code, args[2:])
}

// ends runs a command line that ends with an exit code.
func ends(ts *testscript.TestScript, want int, args []string) {
	if code := commandLine(context.Background(), ts, ts.Stdout(), ts.Stderr(), args); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// commandLine runs a command line, in the folder and with the environment of the script, and returns its exit code: [<FILE] ARGUMENT... In
// this process, a script that sets COLOR gets colours as on a terminal, and one that sets PLUGIN runs the program as kubectl does.
func commandLine(ctx context.Context, ts *testscript.TestScript, out, errs io.Writer, args []string) int {
	if ts.Value("t").(scripted).processes { //nolint:forcetypeassert // see runScripts
		return processed(ctx, ts, out, errs, args)
	}
	here, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(here)) }()
	for _, name := range []string{"TMPDIR", "HOME", "KUBECONFIG", "PATH"} {
		before, set := os.LookupEnv(name) //nolint:forbidigo // put back below
		ts.Check(os.Setenv(name, ts.Getenv(name)))
		defer func() {
			if err := os.Setenv(name, before); err != nil || !set {
				ts.Check(os.Unsetenv(name))
			}
		}()
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		input, err := os.Open(args[0][1:])
		ts.Check(err)
		defer input.Close()
		terminal := os.Stdin
		os.Stdin = input
		defer func() { os.Stdin = terminal }()
		args = args[1:]
	}
	variable := func(name string) (string, bool) { value := ts.Getenv(name); return value, value != "" }
	return execute(ctx, args, streams{
		out: out, err: errs, variable: variable, color: ts.Getenv("COLOR") != "", plugin: ts.Getenv("PLUGIN") != "",
	})
}

// processed runs a command line as a process, which is interrupted when the context ends.
func processed(ctx context.Context, ts *testscript.TestScript, out, errs io.Writer, args []string) int {
	cmd := exec.CommandContext(ctx, ts.Getenv("WEBHOOK"), args...)
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		input, err := os.Open(ts.MkAbs(args[0][1:]))
		ts.Check(err)
		defer input.Close()
		cmd.Stdin, cmd.Args = input, slices.Delete(cmd.Args, 1, 2)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = ts.MkAbs("."), out, errs, os.Environ()
	for _, name := range []string{
		"TMPDIR", "HOME", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "PATH", kinds.MinorsVariable,
	} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		ts.Check(err)
	}
	return cmd.ProcessState.ExitCode()
}

// reference serves the reference webhook until the script ends, as behaving does: webhook [FAULT...].
func reference(ts *testscript.TestScript, neg bool, names []string) {
	faults := slices.DeleteFunc(webhook.Faults(), func(f webhook.Fault) bool { return !slices.Contains(names, f.Name) })
	if neg || len(faults) != len(names) {
		ts.Fatalf("usage: webhook [FAULT...]; unknown faults among %q", names)
	}
	serveTo(ts, webhook.Handler(faults...), nil)
}
