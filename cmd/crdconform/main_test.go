package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"html"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
)

// asProgram is the variable of the environment by which this executable is crdconform, rather than its tests. Processes that crdconform
// starts of itself inherit it.
const asProgram = "CRDCONFORM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	switch {
	case isWebhook(os.Args):
		runWebhook(os.Args[2], os.Args[3], os.Args[4])
	case isColumn(os.Args):
		runColumn()
	case os.Getenv(asProgram) != "": //nolint:forbidigo // it is for processes of the tests alone
		main()
	default:
		if err := os.Setenv(asProgram, "yes"); err != nil {
			panic(err)
		}
		if signal.Ignored(syscall.SIGHUP) { // which processes would inherit where nohup runs the tests
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		}
		// Parallel tests mostly wait for what they start, so more run at once than there are cores.
		if err := flag.Lookup("test.parallel").Value.Set("4"); err != nil {
			panic(err)
		}
		m.Run()
	}
}

// program returns the path of crdconform, in a folder of its own.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crdconform")
	self, err := os.Executable()
	check(t, errors.Join(err, os.Symlink(self, path)))
	return path
}

// running is crdconform while it runs.
type running struct {
	dir       string // in which it runs
	temporary string // where its temporary files are
	cmd       *exec.Cmd
	lines     *bufio.Reader // of what it has yet to say
	out       strings.Builder
	err       bytes.Buffer
	end       func() result // waits for its end
}

// result is what came of a process.
type result struct {
	dir      string
	code     int
	out, err string
}

// start starts crdconform in a new directory. When the test is over, the process has to be, and its temporary files gone.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	return startIn(t, t.TempDir(), args...)
}

func startIn(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	p := prepare(t, dir, args...)
	p.begin(t)
	return p
}

// begin starts a process that was prepared.
func (p *running) begin(t *testing.T) {
	t.Helper()
	pipe, err := p.cmd.StdoutPipe()
	check(t, err)
	p.lines = bufio.NewReader(pipe)
	check(t, p.cmd.Start())
}

// prepare prepares a process, for others to start.
func prepare(t *testing.T, dir string, args ...string) *running {
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
	p := &running{dir: dir, temporary: temporary, cmd: exec.CommandContext(ctx, program(t), args...)}
	p.cmd.Dir, p.cmd.Stderr = dir, &p.err
	collects := func(variable string) bool { return strings.HasPrefix(variable, "GOGC=") } // which make test sets, and users do not
	p.cmd.Env = append(slices.DeleteFunc(os.Environ(), collects), "TMPDIR="+temporary)
	p.end = sync.OnceValue(func() result {
		if p.cmd.Process == nil {
			return result{} // the test is over before it could begin
		}
		if p.lines != nil {
			if _, err := io.Copy(&p.out, p.lines); err != nil {
				t.Error(err)
			}
		}
		var exit *exec.ExitError
		if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
		return result{dir, p.cmd.ProcessState.ExitCode(), p.out.String(), p.err.String()}
	})
	t.Cleanup(func() {
		cancel()
		p.end()
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

// await waits for a line with the text and returns it.
func (p *running) await(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := p.lines.ReadString('\n')
		p.out.WriteString(line)
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
		if err != nil {
			r := p.end()
			t.Fatalf("it ended with %d before it said %q:\n%s%s", r.code, text, r.out, r.err)
		}
	}
}

func (p *running) signal(t *testing.T, s os.Signal) {
	t.Helper()
	check(t, p.cmd.Process.Signal(s))
}

// invoke runs a command line to its end.
func invoke(t *testing.T, args ...string) result {
	t.Helper()
	return start(t, args...).end()
}

// unread runs a command line with nobody to read what it says.
func unread(t *testing.T, args ...string) result {
	t.Helper()
	p := prepare(t, t.TempDir(), args...)
	reader, writer, err := os.Pipe()
	check(t, err)
	p.cmd.Stdout = writer
	check(t, errors.Join(reader.Close(), p.cmd.Start(), writer.Close()))
	return p.end()
}

// exits fails the test unless the process ended with the code.
func (r result) exits(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d:\n%s%s", r.code, code, r.out, r.err)
	}
}

// report reads the report in the default folder.
func (r result) report(t *testing.T) *reports.Report {
	t.Helper()
	return reportIn(t, filepath.Join(r.dir, "crdconform-report"))
}

// failer is a test or a script.
type failer interface {
	Fatalf(format string, args ...any)
}

// check fails the test or the script on an error.
func check(t failer, err error) {
	if test, is := t.(testing.TB); is {
		test.Helper()
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// reportIn reads the report in a folder, and looks whether the other forms are there and agree with it.
func reportIn(t failer, dir string) *reports.Report {
	form := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		return data
	}
	var report reports.Report
	decoder := json.NewDecoder(bytes.NewReader(form("report.json")))
	decoder.DisallowUnknownFields()
	check(t, decoder.Decode(&report))
	var junit struct {
		Cases []struct {
			Name string `xml:"name,attr"`
		} `xml:"testsuite>testcase"`
	}
	check(t, xml.Unmarshal(form("junit.xml"), &junit))
	for i, result := range report.Results {
		if i >= len(junit.Cases) || junit.Cases[i].Name != string(result.ID) {
			t.Fatalf("junit.xml: %v, want %s as number %d", junit.Cases, result.ID, i)
		}
	}
	headline := reporter.Headline(&report)
	if page := string(form("report.html")); !strings.Contains(page, html.EscapeString(headline)) || !strings.Contains(page, "</html>") {
		t.Fatalf("report.html does not say %q, or has no end", headline)
	}
	if summary := string(form("summary.md")); !strings.HasPrefix(summary, "# crdconform: ") {
		t.Fatalf("summary.md begins with %.50q", summary)
	}
	return &report
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	return data
}

// file puts a file into a directory of the test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// serve serves a handler in this process, until the channel is closed or the test over. It returns the URL and a file with
// the certificate of the authority.
func serve(t *testing.T, handler http.Handler, until <-chan struct{}) (url, ca string) {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	check(t, err)
	closed := make(chan error)
	go func() {
		select {
		case <-until:
		case <-t.Context().Done():
		}
		closed <- server.Close()
	}()
	t.Cleanup(func() {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
	return server.URL, file(t, "ca.crt", string(server.CA))
}

// serving runs crdconform serve with faults. It returns the URL and a file with the certificate of the authority.
func serving(t *testing.T, faults ...string) (url, ca string) {
	t.Helper()
	args := []string{"serve", "--address", "localhost:0", "--ca-out", "ca.crt"}
	for _, fault := range faults {
		args = append(args, "--fault", fault)
	}
	p := start(t, args...)
	url = strings.TrimPrefix(p.await(t, "Serving "), "Serving ")
	t.Cleanup(func() {
		p.signal(t, os.Interrupt)
		if r := p.end(); r.code != exitConforms || r.err != "" {
			t.Errorf("serve ended with %d: %s", r.code, r.err)
		}
	})
	return url, filepath.Join(p.dir, "ca.crt")
}
