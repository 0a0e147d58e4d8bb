package main

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/internal/test/hostile"
	"github.com/crdconform/crdconform/reports"
)

// asProgram is the variable of the environment by which this executable is crdconform, rather than its tests. Processes that crdconform
// starts of itself inherit it.
const asProgram = "CRDCONFORM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 5 && os.Args[1] == "webhook":
		hostile.Program(os.Args[2], os.Args[3], os.Args[4])
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

// result is what came of a process, or of a command line in this one.
type result = executable.Result

// start starts crdconform in a new directory.
func start(t *testing.T, args ...string) *executable.Running {
	t.Helper()
	return startIn(t, t.TempDir(), args...)
}

func startIn(t *testing.T, dir string, args ...string) *executable.Running {
	t.Helper()
	p := executable.Prepare(t, "crdconform", dir, args...)
	p.Begin(t)
	return p
}

// reportOf reads the report in the default folder.
func reportOf(t *testing.T, r result) *reports.Report {
	t.Helper()
	return reportIn(t, filepath.Join(r.Dir, "crdconform-report"))
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

// reportIn reads the report in a folder, and wants each form there to be what becomes of the report.
func reportIn(t failer, dir string) *reports.Report {
	report, err := reports.ReadFile(dir)
	check(t, err)
	for _, form := range reporter.Filed(reporter.Formats(nil)) {
		written, err := os.ReadFile(filepath.Join(dir, form.File))
		check(t, err)
		var again bytes.Buffer
		check(t, form.Write(report, &again))
		if !bytes.Equal(written, again.Bytes()) {
			t.Fatalf("%s is not what becomes of the report", form.File)
		}
	}
	return report
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
	t.Cleanup(func() { check(t, <-closed) })
	return server.URL, file(t, "ca.crt", string(server.CA))
}

// definitionFile is the definition of what the reference webhook converts.
const definitionFile = "../../fixtures/definitions/reference.yaml"

// few objects show what tests that are not about generated ones look for.
const few = "4"

// there returns the whole name of a file, for processes that run elsewhere.
func there(t *testing.T, name string) string {
	t.Helper()
	whole, err := filepath.Abs(name)
	check(t, err)
	return whole
}

// folder returns a directory with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

// ran runs a command line in this process, which writes its report to a folder of its own.
func ran(t *testing.T, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	if command := args[0]; command == "check" || command == "load" {
		args = slices.Insert(slices.Clone(args), 1, "--report-dir", filepath.Join(dir, "crdconform-report"))
	}
	var out, errs strings.Builder
	code := execute(t.Context(), args, streams{out: &out, err: &errs})
	return result{Dir: dir, Code: code, Out: out.String(), Err: errs.String()}
}

// webhookProgram returns the arguments that have check start this executable as hostile.Program in a mode.
func webhookProgram(t *testing.T, mode string) []string {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	return []string{"--", self, "webhook", mode, "{port}", "{certs}"}
}

// eventually waits until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.After(5 * time.Minute); !so(); {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal("it did not come about")
		}
	}
}
