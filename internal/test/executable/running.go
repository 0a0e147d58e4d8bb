package executable

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/test/figures"
)

// Self is the path of this test executable under another name, in a folder of its own.
func Self(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	self, err := os.Executable()
	check(t, errors.Join(err, os.Symlink(self, path)))
	return path
}

// Running is a program while it runs.
type Running struct {
	Dir       string // in which it runs
	Temporary string // where its temporary files are
	Cmd       *exec.Cmd
	Lines     *bufio.Reader   // of what it has yet to say
	Out       strings.Builder // what it has said
	End       func() Result   // waits for its end

	errs bytes.Buffer
}

// Result is what came of a process.
type Result struct {
	Dir      string
	Code     int
	Out, Err string
}

// Begin starts a process that was prepared.
func (p *Running) Begin(t *testing.T) {
	t.Helper()
	pipe, err := p.Cmd.StdoutPipe()
	check(t, err)
	p.Lines = bufio.NewReader(pipe)
	check(t, p.Cmd.Start())
}

// Prepare prepares a process of this test executable by another name, for others to start. When the test is over, the process has to be, and
// its temporary files gone.
func Prepare(t *testing.T, name, dir string, args ...string) *Running {
	t.Helper()
	temporary := emptied(t)
	// What hangs is to fail its test, not all of them. Some serve until the last of many tests is over, which a busy machine takes long
	// for. Processes outlive the context of the test, so that it can end them in the way that users do.
	limit := time.Hour
	if deadline, ok := t.Deadline(); ok {
		limit = time.Until(deadline)
		limit -= min(time.Minute, limit/10)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	p := &Running{Dir: dir, Temporary: temporary, Cmd: exec.CommandContext(ctx, Self(t, name), args...)}
	p.Cmd.Dir, p.Cmd.Stderr = dir, &p.errs
	collects := func(variable string) bool { return strings.HasPrefix(variable, "GOGC=") } // which make test sets, and users do not
	p.Cmd.Env = append(slices.DeleteFunc(os.Environ(), collects), "TMPDIR="+temporary)
	p.End = sync.OnceValue(func() Result {
		if p.Cmd.Process == nil {
			return Result{} // the test is over before it could begin
		}
		if p.Lines != nil {
			if _, err := io.Copy(&p.Out, p.Lines); err != nil {
				t.Error(err)
			}
		}
		var exit *exec.ExitError
		if err := p.Cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
		return Result{dir, p.Cmd.ProcessState.ExitCode(), p.Out.String(), p.errs.String()}
	})
	t.Cleanup(func() {
		cancel()
		p.End()
	})
	return p
}

// emptied returns a directory that has to be empty when the test is over, unless the test has removed it.
func emptied(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c-") //nolint:usetesting // sockets have short names, so the directory of the test would not do
	check(t, err)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left in the directory for temporary files: %v, %v", left, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Await waits for a line with the text and returns it.
func (p *Running) Await(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := p.Lines.ReadString('\n')
		p.Out.WriteString(line)
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
		if err != nil {
			r := p.End()
			t.Fatalf("it ended with %d before it said %q:\n%s%s", r.Code, text, r.Out, r.Err)
		}
	}
}

// Signal sends a signal to the process.
func (p *Running) Signal(t *testing.T, s os.Signal) {
	t.Helper()
	check(t, p.Cmd.Process.Signal(s))
}

// Unread runs a process that was prepared to its end, with nobody to read what it says.
func (p *Running) Unread(t *testing.T) Result {
	t.Helper()
	reader, writer, err := os.Pipe()
	check(t, err)
	p.Cmd.Stdout = writer
	check(t, errors.Join(reader.Close(), p.Cmd.Start(), writer.Close()))
	return p.End()
}

// Exits fails the test unless the process ended with the code.
func (r Result) Exits(t *testing.T, code int) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit code %d, want %d:\n%s%s", r.Code, code, r.Out, r.Err)
	}
}

// Insist sends a signal to a process until it is over.
func (p *Running) Insist(signal os.Signal) {
	ended := make(chan Result)
	go func() { ended <- p.End() }()
	again := time.NewTicker(400 * time.Millisecond) // sooner, it would be the same signal, sent to the process and to its group
	defer again.Stop()
	for {
		_ = p.Cmd.Process.Signal(signal) // it may have ended
		select {
		case <-ended:
			return
		case <-again.C:
		}
	}
}

// Gone fails the test unless no process has the directory for temporary files in its environment any more.
func Gone(t *testing.T, temporary string) {
	t.Helper()
	for _, process := range OfTemporary(t, temporary) {
		t.Errorf("%s still runs", process)
	}
}

// OfTemporary returns the processes that have the directory for temporary files in their environment.
func OfTemporary(t *testing.T, temporary string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	check(t, err)
	var all []string
	for _, file := range files {
		// Processes end while they are looked at, and others cannot be looked at.
		if environment, err := os.ReadFile(file); err == nil && bytes.Contains(environment, []byte("TMPDIR="+temporary+"\x00")) {
			all = append(all, filepath.Dir(file))
		}
	}
	return all
}

// In returns the processes that run in a folder or below it.
func In(dir string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var all []string
	for _, link := range links {
		// Processes end while they are looked at.
		if at, err := os.Readlink(link); err == nil && (at+"/" == dir+"/" || strings.HasPrefix(at, dir+"/")) {
			all = append(all, filepath.Dir(link))
		}
	}
	return all
}

// Watched waits for the end of the process, and returns the most memory that it had.
func (p *Running) Watched() (Result, int64) {
	peak := figures.Peak(p.Cmd.Process.Pid)
	r := p.End()
	return r, peak()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
