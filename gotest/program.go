package gotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// command is the package of the program.
const command = "github.com/crdconform/crdconform/cmd/crdconform"

// stripped leaves out what only debuggers read, which halves the time that linking takes.
const stripped = "-ldflags=-s -w"

// find returns the path of the program. Without one it ends the test.
func find(ctx context.Context, t *testing.T, w Webhook) string {
	t.Helper()
	if w.Program != "" {
		return w.Program
	}
	if path, err := exec.LookPath("crdconform"); err == nil {
		return path
	}
	path, err := tool(ctx, t)
	if path == "" && w.Version != "" {
		path, err = install(ctx, t, w.Version)
	}
	if path == "" {
		err = errors.New("it is neither on the PATH nor a tool of this module, and no Version of it is given to install")
	}
	if err != nil {
		missing(t, err)
	}
	return path
}

// missing ends a test for want of the program.
func missing(t *testing.T, err error) {
	t.Helper()
	reason := fmt.Sprintf("no crdconform to check the webhook with: %v", err)
	if ci, err := strconv.ParseBool(os.Getenv("CI")); err == nil && ci { //nolint:forbidigo // it is for tests, and CI servers set it
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// tool returns the path of the program that the go command builds for the module of the test, or "" if that module has no such tool.
// Building it apart from running it leaves one process to interrupt.
func tool(ctx context.Context, t *testing.T) (string, error) {
	t.Helper()
	listed, err := exec.CommandContext(ctx, "go", "tool").Output()
	if err != nil || !strings.Contains(string(listed), command+"\n") {
		return "", nil //nolint:nilerr // without a go command there are no tools
	}
	path := filepath.Join(t.TempDir(), "crdconform"+suffix())
	return path, build(exec.CommandContext(ctx, "go", "build", stripped, "-o", path, command))
}

// install returns the path of the program of a version, which is built in no module.
func install(ctx context.Context, t *testing.T, version string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	install := exec.CommandContext(ctx, "go", "install", "-tags=kustomize_disable_go_plugin_support", stripped, command+"@"+version)
	install.Dir = dir
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off")
	return filepath.Join(dir, "crdconform"+suffix()), build(install)
}

// build runs the go command.
func build(c *exec.Cmd) error {
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}

func suffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

// The exit codes of crdconform that need a word.
const (
	broken = 1 // the webhook does not conform
	usage  = 2 // nothing was checked
)

// outcome is what came of a program.
type outcome struct {
	code int // -1 if it was killed
	text string
}

// String describes the outcome, with the end of what the program wrote.
func (o outcome) String() string {
	const most = 4096
	text := o.text
	if len(text) > most {
		text = "..." + text[len(text)-most:]
	}
	return fmt.Sprintf("exit code %d\n%s", o.code, text)
}

// partial is how long crdconform may take for a partial report when it is interrupted.
const partial = 30 * time.Second

// limited returns a context that ends before the test's deadline does, while there is time to report what it came to.
func limited(t *testing.T) context.Context {
	t.Helper()
	deadline, ok := t.Deadline()
	if !ok {
		return context.Background()
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline.Add(-min(2*partial, time.Until(deadline)/5)))
	t.Cleanup(cancel)
	return ctx
}

// run runs the program, and interrupts it when the context ends.
func run(ctx context.Context, t *testing.T, program string, args []string) outcome {
	t.Helper()
	var out bytes.Buffer
	c := exec.CommandContext(ctx, program, args...)
	c.Stdout, c.Stderr = &out, &out
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = partial
	err := c.Run()
	if c.ProcessState == nil {
		t.Fatalf("crdconform: %v", err)
	}
	return outcome{code: c.ProcessState.ExitCode(), text: out.String()}
}
